import pytest

from textkit import words


@pytest.mark.parametrize(
    "text, want",
    [
        ("", []),
        ("One, two; THREE!", ["one", "two", "three"]),
        ("(it's) - fine", ["it's", "-", "fine"]),
    ],
)
def test_split(text, want):
    assert words.split(text) == want


def test_count():
    assert words.count("a b A.") == {"a": 2, "b": 1}


def test_top_is_most_frequent_first():
    assert words.top("b a b c b c", 2) == [("b", 3), ("c", 2)]


def test_top_orders_equal_words():
    assert words.top("z y x", 3) == [("x", 1), ("y", 1), ("z", 1)]


def test_top_of_nothing():
    assert words.top("", 5) == []
