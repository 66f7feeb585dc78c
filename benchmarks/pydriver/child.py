"""What runs in the process that collects and runs tests."""

import importlib
import importlib.metadata
import inspect
import os
import sys
from pathlib import Path

import audit
import equality
import guard
import origin
import paths
import protocol
import rewrite

# Options that make pytest run everything here, in order, whatever the settings
# of the repository add. The last one of an option wins.
PLAIN = ("--continue-on-collection-errors", "--maxfail=0", "--tb=short", "--color=no", "--show-capture=no",
         "--assert=rewrite")

# The same for plugins that may be in the image.
TAMED = {"xdist": ["-n0"], "xdist.plugin": ["-n0"], "pytest_cov.plugin": ["--no-cov"], "pytest_cov": ["--no-cov"]}


class State:
    """What the nursery has prepared for its children."""

    plugins = []
    guard = None
    installed = ()


def prepare():
    """Import plugins of pytest in the image, and what tests often need."""
    importlib.import_module("_pytest.config")
    importlib.import_module("unittest.mock")
    for name in ("_pytest.assertion.rewrite", "_pytest.python", "_pytest.unittest", "_pytest.skipping",
                 "_pytest.runner", "difflib", "pprint", "doctest", "asyncio", "pdb"):
        importlib.import_module(name)
    State.plugins = site_plugins()
    State.installed = tuple(p for p in sys.path if p)
    for name in State.plugins:
        importlib.import_module(name.partition(":")[0])
    rewrite.install()
    State.guard = guard.Guard([n for n, m in sys.modules.items() if m is not None and n != "__main__"])


def site_plugins():
    """Modules of the pytest plugins that are installed in the image."""
    found = []
    for dist in importlib.metadata.distributions():
        for entry in dist.entry_points:
            if entry.group == "pytest11" and entry.value not in found:
                found.append(entry.value)
    return sorted(found)


def run(order, send, extra=()):
    """Collect and run as the order says, tell it to send, and end the process.

    extra are further plugin objects for pytest.
    """
    leave = os._exit
    os.chdir(order["root"])
    os.environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONDONTWRITEBYTECODE="1")
    os.environ.pop("PYTEST_ADDOPTS", None)
    import pytest
    told = origin.Origin(order, State.installed)
    inspector = protocol.Unworried() if order.get("plain") else protocol.Inspector(State.guard, told, send)
    helped(told, inspector, order.get("plain"))
    paths.arrange(order)
    judge, finish = protocol.plugin(order, alone(send), inspector)
    args = arguments(order)
    sys.argv = ["pytest"]
    status = pytest.main(args, plugins=[judge, *extra])
    if status in (0, 1, 5):
        finish()
    leave(int(status))


def helped(told, inspector, plain):
    """Have tests of this process compare with help, and nobody look around, unless
    the order is plain."""
    rewrite.Help.harness = told.harness
    rewrite.Help.equality = equality.Equality(told)
    if told.changed and not plain:
        rewrite.Help.check = inspector.quick
        rewrite.Help.method = rewrite.trusted_method(told, inspector.note)
        audit.install(told, inspector.note, rewrite.Help.words)
    sys.modules["__main__"] = type(sys)("__main__")


def alone(send):
    """send for this process, and for no copy of it that the code under test made."""
    process, mine, leave = os.getpid, os.getpid(), os._exit

    def careful(**frame):
        if process() != mine:
            leave(70)
        send(**frame)

    return careful


def arguments(order):
    root = order["root"]
    ini = settings(root)
    args = ["--rootdir=" + root, "-c", ini or os.devnull, "--confcutdir=" + (os.path.dirname(ini) if ini else root)]
    for name in State.plugins:
        args += ["-p", name]
    args += order["options"]
    args += PLAIN
    for name in State.plugins:
        args += TAMED.get(name, [])
    args += ["-o", "cache_dir=" + os.path.join("/tmp", ".pytest_cache")]
    if order["mode"] == "collect":
        return args + order["select"]
    return args + order["files"]


def settings(root):
    """The file that pytest takes its settings from when it is started in root."""
    from _pytest.config.findpaths import locate_config
    where = [Path(root)]
    if len(inspect.signature(locate_config).parameters) > 1:
        where = [Path(root), where]
    else:
        where = [where]
    found = locate_config(*where)[1]
    return str(found) if found else ""
