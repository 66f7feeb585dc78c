"""Comparisons that objects of the code under test cannot decide by claiming to
equal, to be less than, or to contain, everything."""

import operator
import random
import unittest.mock

import _pytest.python_api as python_api
# Kept here, since those among the builtins could be replaced.
from builtins import (
    any, bool, dict, Exception, float, format, getattr, int, isinstance, list, set, str, tuple, type,
    vars,
)

mock_any = type(unittest.mock.ANY)

OPERATORS = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "In": lambda a, b: a in b, "NotIn": lambda a, b: a not in b,
}
# An honest object does not stand in both of these relations to another.
OPPOSITE = {"Lt": operator.ge, "LtE": operator.gt, "Gt": operator.le, "GtE": operator.lt}
MIRROR = {"Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE"}
# Types of what C code defines.
SLOTS = ("wrapper_descriptor", "method_descriptor", "builtin_function_or_method")
DEPTH = 4
MOST = 500


class Equality:
    """Knows which objects to doubt: those whose class says in source of the
    repository, outside of its tests, how they compare. A class that the trusted tree
    has, and mock.ANY, may equal everything where the test names it."""

    def __init__(self, origin):
        self.origin = origin
        self.random = random.Random()

    def compare(self, name, left, right, words=()):
        """left <op> right, or False when an operand would say so to anything."""
        __tracebackhide__ = True
        result = OPERATORS[name](left, right)
        if self.origin.changed and truth(result) and self.lying(name, left, right, words):
            return False
        return result

    def lying(self, name, left, right, words=()):
        if name in OPPOSITE:
            return self.torn(name, left, right, words)
        if name == "NotEq":
            return any(self.never(x) for x in (left, right) if self.doubted(x, words, "__eq__", "__ne__"))
        for x, other in ((left, right), (right, left)):
            for part in parts(x, DEPTH):
                if self.doubted(part, words, "__eq__", "__ne__") and self.always(part, other):
                    return True
        if name == "In":
            return self.doubted(right, words, "__contains__", "__iter__", "__getitem__") and self.holds(right)
        return False

    def torn(self, name, left, right, words):
        methods = ("__lt__", "__le__", "__gt__", "__ge__")
        if not (self.doubted(left, words, *methods) or self.doubted(right, words, *methods)):
            return False
        return attempt(OPPOSITE[name], left, right)

    def doubted(self, x, words, *methods):
        """Whether the class of x has a say in how it compares, and may not be believed."""
        cls = type(x)
        if cls.__module__ == "builtins":
            return False
        if cls is mock_any:
            return "ANY" not in words
        for method in methods:
            found = lookup(cls, method)
            if found is None or type(found).__name__ in SLOTS:
                continue
            code = getattr(found, "__code__", None)
            name = code.co_filename if code else ""
            if self.origin.ordinary_file(name) and not (cls.__name__ in words and self.origin.unchanged_file(name)):
                return True
        return False

    def always(self, x, other):
        """Whether x equals what nothing equals."""
        return any(attempt(operator.eq, x, s) or attempt(operator.eq, s, x) for s in self.strangers(other))

    def never(self, x):
        return attempt(operator.ne, x, x)

    def holds(self, x):
        return any(attempt(OPERATORS["In"], s, x) for s in self.strangers(None))

    def strangers(self, other):
        """Values that an honest object is not equal to, with some like other."""
        n = self.random.getrandbits(60) + 10**9
        word = format(n, "x")
        yield from (object(), n, word, [n], n + 0.5)
        yield from variants(other, n, word)


def variants(other, n, word):
    kind = type(other)
    if kind in (int, float):
        yield other + n
        yield -other - n
    elif kind is str:
        yield other + word
        yield word + other
    elif kind is bytes:
        yield other + word.encode()
    elif kind is list:
        yield other + [n]
    elif kind is tuple:
        yield other + (n,)
    elif kind is dict:
        yield {**other, word: n}
    elif kind in (set, frozenset):
        yield other | {word}


def parts(x, depth):
    """An object and what it holds, when it is a container of Python's own."""
    queue, seen = [(x, depth)], 0
    while queue and seen < MOST:
        x, depth = queue.pop()
        seen += 1
        yield x
        if depth == 0:
            continue
        if isinstance(x, python_api.ApproxBase):
            queue.append((x.expected, depth - 1))
        elif type(x) in (list, tuple, set, frozenset) or isinstance(x, tuple):
            queue += [(y, depth - 1) for y in list(tuple.__iter__(x) if isinstance(x, tuple) else x)[:MOST]]
        elif type(x) is dict:
            queue += [(y, depth - 1) for pair in list(x.items())[:MOST] for y in pair]


def lookup(cls, name):
    for c in cls.__mro__:
        if name in vars(c):
            return vars(c)[name]
    return None


def attempt(compare, a, b):
    try:
        return truth(compare(a, b))
    except Exception:
        return False


def truth(result):
    try:
        return bool(result)
    except Exception:
        return False
