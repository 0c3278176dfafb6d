from collections import Counter
from collections.abc import Callable
from typing import Any

from rig.records import lines
from words.count import Count
from words.double import Double, LastDouble
from words.random_text import Anchor, Identity, RandomText, strings
from words.split import WORD, Split


def test_split_emits_words_in_lower_case(bench: Callable[..., Any]) -> None:
    split = bench(Split)
    assert split.give("The Whale’s “spout”--a jet!") == [
        ["the"],
        ["whale’s"],
        ["spout"],
        ["a"],
        ["jet"],
    ]
    assert split.give("42 --") == []


def test_count_counts(bench: Callable[..., Any]) -> None:
    count = bench(Count)
    for word in ("a", "b", "a"):
        count.give(word)
    assert count.component.answer() == {"a": 2, "b": 1}


def test_the_book_is_whole() -> None:
    book = lines("text/moby-dick.txt.gz")
    words = Counter(word for line in book for word in WORD.findall(line.lower()))
    assert (len(book), words.total(), len(words), words["the"]) == (21_628, 215_998, 17_356, 14_431)


def test_texts_double(bench: Callable[..., Any]) -> None:
    assert bench(Double).give("ab") == [["ab ab"]]
    last = bench(LastDouble)
    assert last.give("ab") == []
    assert last.component.answer() == 5


def test_random_strings_have_every_letter_equally_often() -> None:
    texts = strings(10_000)
    assert texts[7] == strings(10_000)[7] != texts[8]
    counts = Counter("".join(texts[:50]))
    assert len(counts) == 52
    assert all(abs(count * 52 / counts.total() - 1) < 0.1 for count in counts.values())


def test_strings_pass_and_are_counted(bench: Callable[..., Any]) -> None:
    spout = bench(RandomText, text_bytes=10, replays=1)
    text, sent_ms = spout.next()[0]
    assert bench(Identity).give(text, sent_ms) == [[text, sent_ms]]
    anchor = bench(Anchor)
    anchor.give(text, sent_ms)
    assert anchor.component.answer() == [1, 10]
