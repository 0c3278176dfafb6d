import pytest
from benchmarks.papers import thesis_micro
from benchmarks.papers.thesis_micro import OPTIMAL, PLOT, PUBLISHED, Cell, Row
from small_problems import LAYOUTS, SIZES

#: P-Scheduler after repair and the optimum, sections 2.2 and 7.2 of the reading of the thesis.
REPAIRED = {
    "linear": (8, 16, 20, 24, 24, 28, 28),
    "diamond": (11, 64, 94, 125, 138, 154, 168),
    "star": (16, 46, 60, 76, 84, 92, 100),
}
OPTIMUM = {
    "linear": (8, 16, 20, 24, 24, 28, 28),
    "diamond": (10, 64, 94, 124, 138, 154, 168),
    "star": (16, 44, 60, 76, 84, 92, 100),
}


@pytest.fixture(scope="module")
def results():
    chosen = thesis_micro.rows(["p-scheduler", "t3-scheduler"])
    return chosen, thesis_micro.measure(chosen, (1, 2))


def test_published_values_have_one_entry_per_size():
    assert all(len(values) == len(SIZES) for values in PUBLISHED.values())


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_row_of_p_scheduler_is_the_thesis_s(results, layout):
    _, found = results
    said = PUBLISHED["p-scheduler", layout, "homogeneous"]
    for tasks, text, ours, optimum in zip(
        SIZES, said, REPAIRED[layout], OPTIMUM[layout], strict=True
    ):
        assert found["p-scheduler", layout, "homogeneous", tasks].values == (ours, ours)
        assert (optimum if text == OPTIMAL else float(text.partition(" [")[0])) == ours


@pytest.mark.parametrize("layout", ("diamond", "star"))
def test_the_optima_that_the_thesis_prints_are_those_known(layout):
    for text, optimum in zip(
        PUBLISHED["optimum", layout, "homogeneous"], OPTIMUM[layout], strict=True
    ):
        # 137 is that of a cluster with a node for 5.
        assert text == PLOT or text == "137 [2]" or float(text.partition(" [")[0]) == optimum


def test_the_page_shows_both_and_says_why_one_refuses(results):
    chosen, found = results
    page = thesis_micro.page(found, chosen, (1, 2))
    assert "| p-scheduler | 11! | 64! | 94! | 125! | 138! | 154! | 168! |" in page
    assert (
        "| *p-scheduler, thesis* | *11* | *=* | *=* | *125 [1]* | *138 [2]* | *=* | *=* |" in page
    )
    assert "- p-scheduler: 21 of 42, first linear 10 heterogeneous: p-scheduler found none" in page
    assert max(len(line) for line in page.splitlines() if line.startswith("|")) < 140


def test_an_instance_is_proven_if_any_algorithm_proves_its_bound():
    cells = {"a": Cell((12.0, 14.0)), "b": Cell((12.0,), bound=12.0)}
    found = {
        (name, "star", "homogeneous", tasks): cell
        for name, cell in cells.items()
        for tasks in SIZES
    }
    assert thesis_micro.best(found, "star", "homogeneous", 10) == (12.0, 12.0)
    text = thesis_micro.table(found, [Row("a"), Row("b")], "star", "homogeneous")
    assert "| optimum | 12 proven |" in text
    assert "| a | 12 (12-14) |" in text


def test_a_value_that_contradicts_the_thesis_is_bold():
    cell = Cell((92.0,))
    assert thesis_micro._value(cell, "90", 86.0, 86.0) == "**92**"
    assert thesis_micro._value(cell, "= + 2", 90.0, 90.0) == "92"
    assert thesis_micro._value(cell, OPTIMAL, 92.0, 92.0) == "92"
    assert thesis_micro._value(cell, PLOT, 86.0, 86.0) == "92"


def test_a_fault_of_an_algorithm_is_a_refusal(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("no\nmore")

    monkeypatch.setattr(thesis_micro, "solve", broken)
    cell = thesis_micro.run(Row("even"), "star", "homogeneous", 10, (1,))
    assert cell.refusal.startswith("failed: ZeroDivisionError")
    assert "\n" not in cell.refusal
