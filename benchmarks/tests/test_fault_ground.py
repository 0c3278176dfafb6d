"""The ground of injected faults: no two of its controllers get the same port."""

from benchmarks.cluster.fault_ground import free_port


def test_no_port_is_given_twice():
    # Of a thousand that the kernel picks, some are the same in all likelihood.
    ports = [free_port("127.0.0.1") for _ in range(1000)]
    assert len(set(ports)) == len(ports)
