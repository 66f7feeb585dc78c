from textkit.table import render, widths


def test_widths():
    assert widths([["a", "bbb"], ["cc", "d", "e"]]) == [2, 3, 1]


def test_render():
    assert render([["a", "bbb"], ["cc", "d"]]) == "a   bbb\ncc  d"


def test_render_strips_cells():
    assert render([[" a ", "b"], ["ccc", "d"]]) == "a    b\nccc  d"


def test_render_nothing():
    assert render([]) == ""
