"""Where modules are imported from."""

import importlib.machinery
import os
import site
import sys

# The work area of the box: nothing in it is trusted to come from set-up.
WORK = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/"

# What judges tests, and what it is made of, besides the standard library.
GRADERS = {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "attr", "attrs", "exceptiongroup", "tomli",
           "py", "coverage", "pytest_timeout"}


def complete():
    """Add what the image's settings add to the path and isolated mode leaves out:
    PYTHONPATH, and packages that set-up has installed into Python's user base."""
    added = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if outside(p)]
    base = os.environ.get("PYTHONUSERBASE", "")
    if outside(base):
        before = list(sys.path)
        site.addsitedir(os.path.join(base, "lib", "python%d.%d" % sys.version_info[:2], "site-packages"))
        added += [p for p in sys.path if p not in before]
    rest = [p for p in sys.path if p not in added]
    at = next((i for i, p in enumerate(rest) if p.endswith(("site-packages", "dist-packages"))), len(rest))
    sys.path[:] = rest[:at] + added + rest[at:]


def outside(path):
    return path.startswith("/") and not (path + "/").startswith(WORK)


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
