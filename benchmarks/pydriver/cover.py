"""Runs tests as main.py does and reports the lines that each of them ran.

    python3 -I -B cover.py REQUEST

For each problem there is one more frame, "cover", with its id; its message is
JSON: {"import": {path: lines}, "run": {path: lines}}, with paths from the tree's
root and lines as [first, last] pairs. "import" is what ran until the test began,
in a process that had imported nothing of the tree.

Lines are counted by coverage's tracer. Threads are measured, other processes are
not. A test that takes too long or calls os._exit is reported with what it had run
until then; one that ends its process otherwise leaves no report.
"""

import _thread
import json
import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# How much sooner than it would be killed a test is reported, in parts of its limit.
EARLY = 0.25
SIGNAL = signal.SIGUSR2


class Lines:
    """The lines that run, apart for each phase."""

    def __init__(self, source):
        import coverage
        self.source = source + os.sep
        self.measured = coverage.Coverage(data_file=None, config_file=False, include=[self.source + "*"], messages=False)
        self.measured.start()
        self.phase("import")

    def phase(self, name):
        self.measured.switch_context(name)

    def of(self, phase):
        data = self.measured.get_data()
        data.set_query_context(phase)
        files = {f[len(self.source):]: data.lines(f) for f in data.measured_files() if f.startswith(self.source)}
        return {f: ranges(lines) for f, lines in files.items() if lines}


def ranges(lines):
    out = []
    for line in sorted(lines):
        if out and line == out[-1][1] + 1:
            out[-1][1] = line
        else:
            out.append([line, line])
    return out


class Report:
    """Says once what a test has run, whatever becomes of it."""

    def __init__(self, lines, send, limit):
        self.lines, self.send, self.limit = lines, send, limit
        self.id = None
        self.leave = os._exit
        os._exit = self.exit

    def begin(self, id):
        self.id = id
        self.lines.phase("run")
        signal.signal(SIGNAL, lambda *_: self.end())
        _thread.start_new_thread(self.watch, (id, os.getpid()))

    def watch(self, id, pid):
        """Interrupt a test that is about to be killed: only the main thread can
        tell what it has run."""
        time.sleep(self.limit * (1 - EARLY))
        if self.id == id:
            os.kill(pid, SIGNAL)

    def end(self):
        id, self.id = self.id, None
        if id is None:
            return
        self.lines.phase("done")
        message = {phase: self.lines.of(phase) for phase in ("import", "run")}
        self.send(t="cover", id=id, message=json.dumps(message))

    def exit(self, status):
        try:
            self.end()
        finally:
            self.leave(status)


def plugin(order, send, limit):
    """A pytest plugin that reports the problems of an order; measures from now on."""
    import pytest
    report = Report(Lines(order["source"]), send, limit)
    wanted = set(order["ids"])

    class Cover:
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_protocol(self, item):
            id = problem(item, wanted)
            if id:
                report.begin(id)
            yield
            report.end()
            report.lines.phase("import")

    return Cover()


def problem(item, wanted):
    """The problem that an item is, or is a case of."""
    function = item.nodeid.partition("[")[0]
    for id in (item.nodeid, function, item.nodeid.partition("::")[0]):
        if id in wanted:
            return id
    return None


def limit_of(request):
    """The seconds that a test may take. Nothing else of the request is kept."""
    with open(request, encoding="utf-8") as f:
        return json.load(f)["limit"]


def measuring(load, limit):
    """load, with a nursery whose children measure."""
    def loaded(*names):
        parts = load(*names)
        if "nursery" not in names:
            return parts
        child = parts[names.index("nursery")].child
        prepare, run = child.prepare, child.run

        def prepared():
            import coverage  # noqa: F401
            prepare()

        child.prepare = prepared
        child.run = lambda order, send: run(order, send, (plugin(order, send, limit),))
        return parts

    return loaded


def main():
    sys.path.insert(0, HERE)
    import main as driver
    sys.path.pop(0)
    del sys.modules["main"]
    driver.load = measuring(driver.load, limit_of(sys.argv[1]))
    driver.main()


if __name__ == "__main__":
    main()
