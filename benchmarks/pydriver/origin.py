"""Tells code that is trusted from code that the measured change brought."""

import functools
import os
import sys
import types
# Kept here, since those among the builtins could be replaced.
from builtins import (
    any, frozenset, getattr, isinstance, tuple, type, vars,
)

HERE = os.path.dirname(os.path.abspath(__file__))


class Origin:
    """Knows which files are trusted. Files of the tree are, unless they differ
    from those in the trusted tree; with no such file nothing is suspect."""

    def __init__(self, order, installed):
        source = order["source"]
        self.source = source + "/"
        self.changed = frozenset(os.path.join(source, p) for p in order["changed"])
        self.frank = frozenset(os.path.join(source, p) for p in order["frank"])
        self.harness = frozenset(os.path.join(source, p) for p in order["harness"])
        self.tests = self.harness | frozenset(os.path.join(source, p) for p in order["data"])
        self.installed = tuple(p.rstrip("/") + "/" for p in installed) + (HERE + "/", "<frozen ")

    def suspect_file(self, name):
        """Whether code with this file name may be the change's."""
        if not self.changed:
            return False
        if name in self.changed:
            return True
        return not name.startswith(self.source) and not name.startswith(self.installed)

    def ordinary_file(self, name):
        """Whether code with this file name is the repository's, and no test."""
        return name not in self.harness and not name.startswith(self.installed)

    def unchanged_file(self, name):
        return name.startswith(self.source) and name not in self.changed

    def suspect(self, value, depth=4):
        """Whether a function, class, module or what wraps one may be the change's."""
        if not self.changed or depth == 0:
            return False
        kind = type(value)
        if kind is types.FunctionType:
            return self.suspect_file(value.__code__.co_filename) or self.suspect(value.__dict__.get("__wrapped__"), depth - 1)
        if kind in (types.MethodType, classmethod, staticmethod):
            return self.suspect(value.__func__, depth - 1)
        if kind is property:
            return any(self.suspect(f, depth - 1) for f in (value.fget, value.fset, value.fdel))
        if kind is functools.partial:
            return self.suspect(value.func, depth - 1)
        if isinstance(value, types.ModuleType):
            return self.suspect_file(getattr(value, "__file__", None) or "<frozen built-in>")
        if isinstance(value, type):
            return self.suspect_class(value)
        if kind.__module__ in ("builtins", "unittest.mock"):
            return False
        return self.suspect_class(kind)

    def suspect_class(self, cls):
        if any(type(v) is types.FunctionType and self.suspect_file(v.__code__.co_filename) for v in vars(cls).values()):
            return True
        module = sys.modules.get(cls.__module__)
        return module is not None and (getattr(module, "__file__", None) or "") in self.changed
