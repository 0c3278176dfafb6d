"""What a log said last, for the error of whoever waited in vain."""

from pathlib import Path

from stormcut.lab.adapters.processes import last_words

NIMBUS = """\
2026-01-01 10:00:00.000 o.a.s.d.nimbus main [ERROR] an old error
2026-01-01 10:00:01.000 i.s.StormcutScheduler timer [WARN] stormcut: no brain leads
2026-01-01 10:00:02.000 i.s.s.z.ClientCnxn stormcut-brain-request [INFO] session established
2026-01-01 10:00:03.000 o.a.s.d.nimbus main [INFO] something else
"""


def test_nimbus_is_quoted_by_the_plugins_line_or_a_later_error(tmp_path: Path) -> None:
    log = tmp_path / "nimbus.log"
    assert last_words.of_nimbus(log) == "Nimbus said nothing of it"
    log.write_text(NIMBUS)
    assert last_words.of_nimbus(log).endswith("[WARN] stormcut: no brain leads")
    log.write_text(NIMBUS + "2026-01-01 10:00:04.000 o.a.s.d.nimbus main [ERROR] disk full\n")
    assert last_words.of_nimbus(log).endswith("[ERROR] disk full")


def test_workers_are_quoted_by_the_youngest_error_of_any_else_by_the_youngest_line(
    tmp_path: Path,
) -> None:
    def write(node: str, topology: str, *lines: str) -> None:
        log = tmp_path / node / topology / "6700" / "worker.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("\n".join(lines) + "\n")

    folders = [tmp_path / "a", tmp_path / "b"]

    def words() -> str:
        return last_words.of_workers(folders, "taxi-[0-9]*-[0-9]*")

    assert words() == "no worker has written a log"
    write("b", "other-1-17", "09 [ERROR] of another topology")
    assert words() == "no worker has written a log"
    write("a", "taxi-1-17", "03 [INFO] launching", "")
    write("b", "taxi-1-17", "02 [INFO] launching")
    assert words() == "a worker said last: 03 [INFO] launching"
    write("b", "taxi-1-17", "01 [ERROR] no module", "02 [INFO] halting")
    assert words() == "a worker said last: 01 [ERROR] no module"


def test_a_long_line_is_cut_and_only_the_end_of_a_long_log_is_read(tmp_path: Path) -> None:
    log = tmp_path / "brain.log"
    log.write_text("x" * last_words.TAIL_BYTES + "\n" + "y" * 1000 + "\n")
    words = last_words.of_process("the brain", log)
    assert words == f"the brain said last: {'y' * last_words.SHOWN}..."
