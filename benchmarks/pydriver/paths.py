"""Where modules are imported from."""

import importlib.machinery
import sys

# What judges tests, and what it is made of, besides the standard library.
GRADERS = {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "attr", "attrs", "exceptiongroup", "tomli",
           "py", "coverage", "pytest_timeout"}


class Keeper:
    """Finds modules of the standard library and of pytest where they are
    installed, before those of the same name in the tree."""

    def __init__(self, names, path, find):
        self.names, self.path, self.find = names, path, find

    def find_spec(self, name, path=None, target=None):
        if path is None and name in self.names:
            return self.find(name, self.path)
        return None


def arrange(order):
    """Import as `python3 -m pytest` in the order's root would, but for modules of
    the tree that would stand in the way of those that judge it. A module that the
    trusted tree has may do so, as the order's "own" tells."""
    installed = [p for p in sys.path if p]
    names = (set(sys.stdlib_module_names) | GRADERS) - set(order["own"])
    sys.meta_path.insert(0, Keeper(names, installed, importlib.machinery.PathFinder.find_spec))
    sys.path.insert(0, order["root"])
