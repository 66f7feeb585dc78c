"""Comparisons that objects of the code under test cannot decide by claiming to
equal, to be less than, or to contain, everything."""

import collections
import dis
import functools
import itertools
import operator
import random
import unittest.mock

import _pytest.python_api as python_api
# Kept here, since those among the builtins could be replaced.
from builtins import (
    abs, all, any, bool, bytes, complex, dict, enumerate, Exception, float, format, frozenset, getattr, int, isinstance, len,
    list, map, max, range, set, str, tuple, type, vars,
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
# Types that compare as Python's own C code says: exact ones, no subclasses.
PLAIN = frozenset((int, str, float, bytes, bool, complex, type(None)))


class Equality:
    """Knows which objects to doubt: those whose class says in source of the
    repository, outside of its tests, how they compare. A class that the trusted tree
    has, and mock.ANY, may equal everything where the test names it."""

    def __init__(self, origin):
        self.origin = origin
        self.random = random.Random()
        self.dubious = collections.deque(maxlen=200)

    def compare(self, name, left, right, words=()):
        """left <op> right, or False when an operand would say so to anything. What is
        neither True nor False is judged where a test asks whether it is true."""
        __tracebackhide__ = True
        if not self.origin.changed or type(left) in PLAIN and type(right) in PLAIN:
            return OPERATORS[name](left, right)
        early = name in ("Eq", "In") and self.minding(left, right) and self.lying(name, left, right, words)
        result = OPERATORS[name](left, right)
        if type(result) is not bool:
            if any(self.doubted(x, words, "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__") for x in (left, right)):
                self.dubious.append((result, name, left, right, words))
        elif result and (early or self.lying(name, left, right, words)):
            return False
        return result

    def believe(self, x):
        """x, or False when x came of a comparison in which an operand would say so to anything."""
        if type(x) is not bool and self.dubious:
            for result, *how in list(self.dubious):
                if result is x and truth(x) and self.lying(*how):
                    return False
        return x

    def minding(self, *operands):
        """Whether an operand may answer otherwise the next time, so that it is
        asked in vain before it counts, too."""
        for x in operands:
            for part, _ in aligned(x, None, DEPTH):
                if type(part).__module__ == "builtins":
                    continue
                code = getattr(lookup(type(part), "__eq__"), "__code__", None)
                if code and self.origin.ordinary_file(code.co_filename) and deciding(code):
                    return True
        return False

    def lying(self, name, left, right, words=()):
        if name in OPPOSITE:
            return self.torn(name, left, right, words)
        if name == "NotEq":
            return any(self.never(x) for x in (left, right) if self.doubted(x, words, "__eq__", "__ne__"))
        for x, other in ((left, right), (right, left)):
            for part, facing in aligned(x, other, DEPTH):
                if self.doubted(part, words, "__eq__", "__ne__") and self.always(part, facing):
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
        """Whether x equals what nothing equals, or all of some values that are near other."""
        def equals(s):
            return attempt(operator.eq, x, s) or attempt(operator.eq, s, x)

        n = self.random.getrandbits(60) + 10**9
        for _ in range(self.random.randrange(4)):
            equals(object())  # so that who counts cannot tell what comes next
        return any(all(map(equals, kin)) for kin in strangers(n) + variants(other, n))

    def never(self, x):
        return attempt(operator.ne, x, x)

    def holds(self, x):
        n = self.random.getrandbits(60) + 10**9
        return any(all(attempt(OPERATORS["In"], s, x) for s in kin) for kin in strangers(n))


def strangers(n):
    """Groups of values that an honest object is not equal to, from a large random number."""
    return [[object()], [n, n + 1, n + 2], [format(n, "x")], [[n]], [n % 10**6 + 0.5, n % 10**6 + 1.75]]


def variants(other, n):
    """Groups of values like other. An honest object that equals other may equal
    some in a group, as numbers modulo another do, but not each of them."""
    kind, word = type(other), format(n, "x")
    if kind in (int, float):
        return numbers(other, n)
    if kind in (str, bytes):
        part = word if kind is str else word.encode()
        return [[other + part], [part + other]]
    if kind is list:
        return [[other + [n]]]
    if kind is tuple:
        return [[other + (n,)]]
    if kind is dict:
        return [[{**other, word: n}]]
    if kind in (set, frozenset):
        return [[other | {word}]]
    return []


def numbers(other, n):
    """Numbers far from other, and near it: a hundredth of it, at least 1, apart."""
    if other != other or other - other != 0:
        return [[n, n + 1]]  # not a number, or endless
    n = n % 10**9 + 10**6  # which a float holds with its last digit
    step = type(other)(max(1, abs(other) // 100))
    return [[other + n, other + n + 1], [-other - n, -other - n - 1],
            [other + step, other + 2 * step, other + 3 * step], [other - step, other - 2 * step, other - 3 * step]]


def aligned(x, other, depth):
    """An object and what it holds, when it is a container of Python's own, each
    with what stands at its place in other."""
    queue, seen = [(x, other, depth)], 0
    while queue and seen < MOST:
        x, other, depth = queue.pop()
        seen += 1
        yield x, other
        if depth == 0:
            continue
        if isinstance(x, python_api.ApproxBase):
            queue.append((x.expected, other, depth - 1))
        elif type(x) is list or isinstance(x, tuple):
            inside = items(x)
            if PLAIN.issuperset(map(type, inside)):
                continue  # most lists; looking at each of their items is slow
            facing = items(other) if type(other) is list or isinstance(other, tuple) else []
            queue += [(y, facing[i] if i < len(facing) else None, depth - 1) for i, y in enumerate(inside)]
        elif type(x) in (set, frozenset):
            if PLAIN.issuperset(map(type, x)):
                continue
            queue += [(y, None, depth - 1) for y in list(x)[:MOST]]
        elif type(x) is dict:
            if PLAIN.issuperset(map(type, x)) and PLAIN.issuperset(map(type, x.values())):
                continue
            facing = dict.values(other) if isinstance(other, dict) and len(other) == len(x) else ()
            queue += [(k, None, depth - 1) for k in list(x)[:MOST]]
            queue += [(v, f, depth - 1) for v, f in itertools.islice(itertools.zip_longest(x.values(), facing), MOST)]


def items(x):
    return list(tuple.__iter__(x) if isinstance(x, tuple) else x)[:MOST]


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


DECIDING = ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_SUBSCR", "COMPARE_OP", "CONTAINS_OP", "UNARY_NOT")


@functools.lru_cache(maxsize=None)
def deciding(code):
    """Whether code compares or stores. What builds an expression need not."""
    return any(dis.opname[op] in DECIDING for op in code.co_code[::2])
