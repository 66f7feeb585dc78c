"""The pytest plugin that runs the tests and says how they ended."""

from time import perf_counter as clock

import pytest
from _pytest.runner import CallInfo

# How much of what is said about a test is passed on, in characters.
LONGEST = 4000


def plugin(order, send):
    """The plugin, and what to call when pytest has ended."""
    wanted, canaries = set(order["ids"]), set(order.get("canaries", ()))
    collecting = order["mode"] == "collect"
    loud = set()  # node ids of which a report said that something in them failed

    class Judge:
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
                    send(t="item", id=item.nodeid, group=function_of(item))
                return
            items[:] = [i for i in items if i.nodeid in wanted or i.nodeid in canaries or function_of(i) in wanted]
            for file in {i.nodeid.partition("::")[0] for i in items} & wanted:
                send(t="begin", id=file)
                send(t="result", id=file, outcome="pass", wall=0, message="")

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session):
            if collecting:
                return True
            items = list(session.items)
            for item, following in zip(items, items[1:] + [None]):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            return True

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(self, item, nextitem):
            send(t="begin", id=item.nodeid)
            start = clock()
            outcome, message = run(item, nextitem, loud)
            send(t="result", id=item.nodeid, outcome=outcome, wall=clock() - start, message=clip(message))
            return True

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logreport(self, report):
            if report.outcome == "failed":  # of a part of a test, which plugins report
                loud.add(report.nodeid)

    return Judge(), lambda: send(t="done")


def function_of(item):
    """The node id without the parameters."""
    name = getattr(item, "originalname", None) or item.name
    parent = item.nodeid[:-len(item.name)] if item.nodeid.endswith(item.name) else ""
    return parent + name


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
