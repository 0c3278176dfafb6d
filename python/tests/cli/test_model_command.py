import json
from pathlib import Path

import pytest

AZURE = Path(__file__).parents[3] / "examples" / "capacity" / "azure.json"


@pytest.mark.slow
def test_models_are_shown_beside_others(stormcut, tmp_path):
    picture = tmp_path / "models.svg"
    code, out, err = stormcut("model", "show", AZURE, "--beside", AZURE, "--plot", picture)
    assert (code, err) == (0, "")
    assert "60,000" in out
    assert "blob, beside" in out
    assert max(map(len, out.splitlines())) <= 100
    drawn = picture.read_text()
    assert drawn.count("<!-- blob: at most 30 tuples/s -->") == 1
    code, out, _ = stormcut("model", "show", AZURE, "--json")
    assert json.loads(out)["pi"]["rate"] == [105.0, 110.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--threads", "2,4"), "--threads: must be whole numbers that ascend from 1"),
        (("--threads", "1,x"), "--threads: must be whole numbers"),
        (("--option", "xml.order=3"), "no such option"),
        (("--option", "pi.repeats=0"), "option pi.repeats"),
        (("--output", str(AZURE)), "has models of a slot of 1 cores and 3584 MB"),
    ],
)
def test_what_cannot_be_built_is_told_before_anything_starts(stormcut, arguments, words):
    code, out, err = stormcut("model", "build", "pi", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1
