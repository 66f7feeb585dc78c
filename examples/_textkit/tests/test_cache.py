from textkit.cache import Cache


def test_makes_each_value_once():
    made = []
    cache = Cache(2)
    for key in "aabba":
        assert cache.get(key, lambda k: made.append(k) or k.upper()) == key.upper()
    assert made == ["a", "b"]


def test_holds_no_more_than_its_size():
    cache = Cache(3)
    for key in range(10):
        cache.get(key, str)
    assert len(cache.values) == 3
