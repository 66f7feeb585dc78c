"""The pytest plugin that runs the tests and says how they ended."""

import sys
from time import perf_counter as clock

import pytest
from _pytest.runner import CallInfo
# Kept here, since those among the builtins could be replaced.
from builtins import (
    any, BaseException, callable, getattr, hasattr, id, isinstance, list, map, set, str, tuple, type,
    vars, zip,
)

from guard import Space, retold

# How much of what is said about a test is passed on, in characters.
LONGEST = 4000
# How long tests run between two thorough looks at what judges them, in seconds.
EVERY = 0.1


def plugin(order, send, inspector):
    """The plugin, and what to call when pytest has ended."""
    wanted, canaries = set(order["ids"]), set(order.get("canaries", ()))
    collecting = order["mode"] == "collect"
    loud = set()  # node ids of which a report said that something in them failed

    class Judge:
        @pytest.hookimpl(trylast=True)
        def pytest_configure(self, config):
            """Have canaries collected whatever the settings say of names."""
            for option, part in (("python_functions", -1), ("python_classes", 1)):
                names = {c.split("::")[part] for c in canaries}
                config._inicache[option] = list(config.getini(option)) + sorted(names)

        @pytest.hookimpl(tryfirst=True)
        def pytest_collectstart(self, collector):
            if isinstance(collector, pytest.File):
                send(t="collecting", file=collector.nodeid)

        @pytest.hookimpl(tryfirst=True)
        def pytest_collectreport(self, report):
            if report.outcome != "passed":
                send(t="broken", file=report.nodeid.partition("::")[0], skipped=report.outcome == "skipped",
                     message=clip(words(report.longrepr)))

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_collection_modifyitems(self, items):
            yield
            send(t="collected")
            if collecting:
                for item in items:
                    send(t="item", id=item.nodeid, group=function_of(item), home=home_of(item))
                return
            items[:] = [i for i in items if i.nodeid in wanted or i.nodeid in canaries or function_of(i) in wanted]
            for file in {i.nodeid.partition("::")[0] for i in items} & wanted:
                send(t="begin", id=file)
                send(t="result", id=file, outcome="pass", wall=0, message="")

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session):
            if collecting:
                return True
            inspector.collected(session)
            items = list(session.items)
            for item, following in zip(items, items[1:] + [None]):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            return True

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(self, item, nextitem):
            send(t="begin", id=item.nodeid)
            inspector.before(item)
            start = clock()
            outcome, message = run(item, nextitem, loud)
            wall = clock() - start
            inspector.after(item)
            send(t="result", id=item.nodeid, outcome=outcome, wall=wall, message=clip(message))
            return True

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logreport(self, report):
            if report.outcome == "failed":  # of a part of a test, which plugins report
                loud.add(report.nodeid)

    def finish():
        inspector.finished()
        send(t="done")

    return Judge(), finish


class Inspector:
    """Looks, between tests, at what runs and judges them, and tells what was
    tampered with, once each."""

    def __init__(self, watch, origin, send):
        self.watch, self.origin, self.send = watch, origin, send
        self.told, self.session, self.tests, self.hooks = set(), None, [], ()
        self.looked = clock()

    def note(self, why):
        if why not in self.told:
            self.told.add(why)
            self.send(t="tampered", why=why)

    def quick(self):
        why = self.watch.quick(self.origin)
        if why:
            self.note(why)

    def look(self, everything):
        if not self.origin.changed:
            return
        for why in self.watch.check(self.origin, everything):
            self.note(why)
        for space in self.tests:
            for why in retold(space, self.origin):
                self.note(why)
        self.look_at_pytest()
        for what, now in (("trace", sys.gettrace()), ("profile", sys.getprofile())):
            if now is not None and self.origin.suspect(now):
                self.note(f"a {what} function was set")
        for finder in sys.meta_path + sys.path_hooks:
            if self.origin.suspect(finder):
                self.note("a finder of modules was added")

    def look_at_pytest(self):
        """Plugins, and attributes of pytest's objects."""
        manager = self.session.config.pluginmanager
        hooks = [i for h in list(vars(manager.hook).values()) for i in getattr(h, "get_hookimpls", list)()]
        ids = tuple(map(id, hooks))
        if ids != self.hooks:
            self.hooks = ids
            for i in hooks:
                if self.origin.suspect(i.function):
                    self.note(f"the hook {i.function.__name__} of pytest comes from the change")
        for thing in (manager, self.session, self.session.config):
            for key, value in list(vars(thing).items()):
                if callable(value) and self.origin.suspect(value):
                    self.note(f"{type(thing).__name__}.{key} of pytest was replaced")

    def collected(self, session):
        """What there is when tests are about to run."""
        self.session = session
        if not self.origin.changed:
            return
        for name, module in list(sys.modules.items()):
            if getattr(module, "__file__", None) in self.origin.harness:
                self.tests.append(Space(module, name))
                self.tests += [Space(v, f"{name}.{k}") for k, v in list(vars(module).items())
                               if isinstance(v, type) and v.__module__ == name]
        self.look(True)

    def before(self, item):
        if not self.origin.changed:
            return
        function = getattr(item, "obj", None)
        if self.origin.suspect(function):
            self.note(f"the test {item.name} was replaced")
        if any(callable(v) and k != "obj" and self.origin.suspect(v) for k, v in list(vars(item).items())):
            self.note(f"the test {item.name} was changed")

    def after(self, item):
        """Looks at what is near after each test, and at all when some time has gone by."""
        if not self.origin.changed:
            return
        if clock() - self.looked > EVERY:
            self.look(False)
            self.looked = clock()
            return
        for why in self.watch.step(self.origin):
            self.note(why)
        self.look_at_pytest()

    def finished(self):
        self.look(True)


class Unworried:
    """Takes the place of an Inspector where nothing that is run is evidence."""

    def ignore(self, *_):
        pass

    note = quick = collected = before = after = finished = ignore


def function_of(item):
    """The node id without the parameters."""
    name = getattr(item, "originalname", None) or item.name
    parent = item.nodeid[:-len(item.name)] if item.nodeid.endswith(item.name) else ""
    return parent + name


def home_of(item):
    """Where the source of a test stands, written like a node id: for a test that
    a class inherits, with the class that defines it."""
    function = getattr(item, "function", None)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code, name = getattr(function, "__code__", None), getattr(function, "__qualname__", "")
    if code is None or not name or "<" in name:
        return function_of(item)
    top = str(item.config.rootpath).rstrip("/") + "/"
    if not code.co_filename.startswith(top):
        return function_of(item)
    return code.co_filename[len(top):] + "::" + name.replace(".", "::")


def run(item, following, loud):
    """Run a test with its fixtures. Its outcome is pass, fail or skip, and what there is to say."""
    if hasattr(item, "_request") and not item._request:
        item._initrequest()
    phases = [phase(item, "setup")]
    if phases[0].passed:
        phases.append(phase(item, "call"))
    phases.append(phase(item, "teardown", nextitem=following))
    if hasattr(item, "_request"):
        item._request = False
        item.funcargs = None
    return verdict(item, phases, loud)


class Phase:
    """How pytest reports a part of a test, and what was raised in it."""

    def __init__(self, report, raised):
        self.report, self.raised = report, raised
        self.passed = report.outcome == "passed"

    def lying(self):
        return self.passed and self.raised is not None


def phase(item, when, **more):
    raised = None
    hook = getattr(item.ihook, "pytest_runtest_" + when)

    def call():
        nonlocal raised
        try:
            hook(item=item, **more)
        except BaseException as e:
            raised = e
            raise

    info = CallInfo.from_call(call, when=when)
    swallowed = getattr(item, "_excinfo", None)  # by unittest's runner
    if swallowed:
        raised = swallowed[0].value
    return Phase(item.ihook.pytest_runtest_makereport(item=item, call=info), raised)


def verdict(item, phases, loud):
    text = "\n".join(said(p.report) for p in phases)
    for p in phases:
        if p.lying():
            return "fail", f"{text}\nreported as passed, although it raised {type(p.raised).__name__}"
    outcomes = [p.report.outcome for p in phases]
    if "failed" in outcomes or item.nodeid in loud:
        return "fail", text
    if outcomes.count("passed") == 3:
        return "pass", ""
    return "skip", text


def said(report):
    """What a report has to show: captured output, then what was raised."""
    parts = [f"--- {title}\n{body.rstrip()}" for title, body in report.sections if report.when in title]
    if report.outcome != "passed":
        parts.append(words(report.longrepr))
    return "\n".join(parts)


def words(longrepr):
    """A representation as text; of a skip it is a tuple of file, line and reason."""
    if longrepr is None:
        return ""
    if isinstance(longrepr, tuple) and len(longrepr) == 3:
        return str(longrepr[2])
    return str(longrepr)


def clip(text):
    return text[-LONGEST:].encode("utf-8", "replace").decode("utf-8")
