from textkit.wrap import longest, wrap


def test_wrap_keeps_to_the_width():
    assert wrap("aaa bbb ccc", 6) == ["aaa", "bbb", "ccc"]


def test_wrap_fills_the_width():
    assert wrap("aaa bbb ccc", 7) == ["aaa bbb", "ccc"]


def test_wrap_joins_lines():
    assert wrap("a\nb\n\nc", 80) == ["a b c"]


def test_wrap_leaves_long_words():
    assert wrap("a incomprehensible b", 4) == ["a", "incomprehensible", "b"]


def test_wrap_nothing():
    assert wrap("  \n ", 10) == []


def test_wrapped_lines_are_short():
    text = "the quick brown fox jumps over the lazy dog " * 5
    for width in range(5, 40):
        assert longest(wrap(text, width)) <= width


def test_longest():
    assert longest(["ab", "", "abcd", "abc"]) == 4
    assert longest([]) == 0
