"""Notices when what runs or judges tests is changed by the code under test.

Before any of that code is imported, what the modules of the library, of pytest
and of its plugins define is written down, with the code of each function. Later
it is compared with what is there. A change is tampering when what was put in may
come from the change that is measured (origin.py), or when code or defaults of a
function of the judges were exchanged. What trusted tests replace, as monkeypatch
does, is not.
"""

import builtins
import sys
import types
from operator import attrgetter
# Kept here, since those among the builtins could be replaced.
from builtins import (
    callable, dict, getattr, hasattr, id, isinstance, list, map, next, set, tuple, type, vars,
)

JUDGES = ("pytest", "_pytest", "pluggy", "unittest", "builtins", "doctest")

code_of = attrgetter("__code__")
defaults_of = attrgetter("__defaults__")
PATCHABLE = {"open", "print", "input", "breakpoint", "exit", "quit", "help", "__import__", "_"}


class Space:
    """The names of a module or class, as they were."""

    def __init__(self, owner, name):
        self.owner, self.name = owner, name
        self.now = vars(owner)
        self.was = dict(self.now)
        self.ids = self.sign()

    def sign(self, new=tuple, each=map, ident=id):
        return new(each(ident, self.now.values()))

    def changes(self):
        """Names with other values than they had, and new ones."""
        if self.sign() == self.ids:
            return
        for key, value in list(self.now.items()):
            if key not in self.was or self.was[key] is not value:
                yield key, value
        for key in self.was.keys() - self.now.keys():
            yield key, None


class Guard:
    """All that is watched; made before the code under test is imported."""

    def __init__(self, names):
        self.modules = {n: sys.modules[n] for n in names}
        self.spaces, self.judges, self.functions = [], [], []
        seen = set()
        for name, module in self.modules.items():
            judge = name.partition(".")[0] in JUDGES
            self.add(module, name, judge, seen)
        self.codes = self.sign(code_of)
        self.defaults = self.sign(defaults_of)
        self.core = [s for s in self.judges if s.name in CORE]
        self.path = [s for s in self.judges if s.name.startswith(PATH)]

    def add(self, owner, name, judge, seen):
        if id(owner) in seen or not hasattr(owner, "__dict__"):
            return
        seen.add(id(owner))
        space = Space(owner, name)
        (self.judges if judge else self.spaces).append(space)
        for value in space.was.values():
            value = getattr(value, "__func__", value)
            if type(value) is types.FunctionType and judge:
                self.functions.append(value)
            elif isinstance(value, type) and value.__module__ == getattr(owner, "__name__", None):
                self.add(value, f"{name}.{value.__name__}", judge, seen)

    def sign(self, part):
        return tuple(map(id, map(part, self.functions)))

    def quick(self, origin):
        """What was done to the names that tests themselves use, if anything."""
        for space in self.core:
            for why in judged(space, origin, True):
                return why
        return ""

    def step(self, origin):
        """Yield what was done to what every test runs through."""
        for space in self.path:
            yield from judged(space, origin, True)

    def check(self, origin, everything):
        """Yield what was done to the judges, and to everything else."""
        for space in self.judges:
            yield from judged(space, origin, True)
        if self.sign(code_of) != self.codes or self.sign(defaults_of) != self.defaults:
            yield "the code of a function that judges tests was exchanged"
        if everything:
            for space in self.spaces:
                yield from judged(space, origin, False)
        for name, module in self.modules.items():
            if sys.modules.get(name) is not module and origin.suspect(sys.modules.get(name)):
                yield f"the module {name} was replaced"


CORE = {"builtins", "pytest", "unittest.case.TestCase", "_pytest.python_api.RaisesContext", "_pytest.python_api.ApproxBase"}

PATH = ("builtins", "pytest", "unittest.case", "unittest", "_pytest.runner", "_pytest.python", "_pytest.unittest", "_pytest.skipping",
        "_pytest.reports", "_pytest.outcomes", "_pytest.fixtures", "_pytest.assertion", "pluggy")


def judged(space, origin, judge):
    for key, value in space.changes():
        was = space.was.get(key)
        if origin.suspect(value) or judge and suspicious(space, key, was, value):
            yield f"{space.name}.{key} was replaced"


def suspicious(space, key, was, value):
    """Whether a name of the judges was given a value that nothing honest gives it."""
    if isinstance(value, types.ModuleType):
        return False
    if key not in space.was:
        return hasattr(builtins, key) and space.owner is not builtins and type(value) is types.BuiltinFunctionType
    if space.owner is builtins and key in PATCHABLE:
        return False
    if type(was) is types.FunctionType or isinstance(was, type):
        return value is None or type(value) in (types.BuiltinFunctionType, type) and value is not was
    return False


def retold(space, origin):
    """What was done to a module or class of tests. Tests keep objects of the code
    under test in them, as setUpClass does; only what they call is not replaced."""
    for key, value in space.changes():
        was = space.was.get(key)
        if was is None and isinstance(space.owner, type):
            was = next((vars(c)[key] for c in space.owner.__mro__[1:] if key in vars(c)), None)
        if was is None:
            was = getattr(builtins, key, None)
        if (callable(was) or hasattr(was, "__func__") or key.startswith("test")) and origin.suspect(value):
            yield f"{space.name}.{key} was replaced"
