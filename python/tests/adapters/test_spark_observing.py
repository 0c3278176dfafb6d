"""When Spark is started again."""

from stormcut.adapters.spark.observing import FIRST_PAUSE_S, MOST_PAUSE_S, pause_after


def test_spark_is_tried_again_soon_after_it_has_run_long():
    pauses = [0.0]
    for _ in range(8):
        pauses.append(pause_after(1.0, pauses[-1]))
    assert pauses[1:4] == [5.0, 10.0, 20.0]
    assert pauses[-1] == MOST_PAUSE_S
    assert pause_after(3600.0, pauses[-1]) == FIRST_PAUSE_S
