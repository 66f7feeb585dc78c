"""Runs tests of one tree on behalf of ratchet, which laid this file into a box.

    python3 -I -B main.py REQUEST [plain]

REQUEST is a file with a JSON object; it is removed as soon as it was read. Its keys:

    key       hex; signs what is reported
    mode      "run" or "collect"
    root      absolute path of the folder to run in
    source    absolute path of the tree
    options   of pytest, without any that select tests
    select    mode collect: what to collect, and options that select
    problems  mode run: [node id relative to root, ...]
    canaries  mode run: {folder: [[files that go before], [files that go after], [node ids]]}
    isolate   mode run: each problem in a process of its own
    limit     seconds that one problem may take
    start     seconds that collecting may take
    harness   Python files of the tree, from source, that are trusted
    data      other files of the tree that tests are made of
    own       names of the outermost modules and packages in the trusted tree
    changed   files of the tree that differ from the trusted tree
    frank     those of them whose trusted version looks into the interpreter
    plain     whether "plain" was given, too

Three processes share the work, so that no secret is in the memory of the one
that runs the code under test:

    supervisor  this one: reads the request, has the key, writes the report to
                standard output, keeps the time, and runs nothing of the tree
    nursery     forked before the key is read; has pytest and its plugins imported,
                and forks a child for each order
    child       collects and runs tests (child.py) and tells the supervisor

With "plain" the supervisor forks the children itself, there are no canaries, and
nobody looks for tampering: for runs that are no evidence.

The report is made of signed frames (channel.py). Frames have "t":

    child    c, ids: child number c is about to run these problems
    begin    c, id: a test or canary starts
    result   c, id, outcome, wall, message: it ended; outcome is pass, fail, skip
    item     c, id, group: mode collect: one test, group is its id without parameters
    broken   c, file, message: a file could not be collected
    tampered c, why: what runs or judges tests was changed
    exit     c, done, status, running, why, message: the child ended; done says
             that it got to its end, running what it was at (a node id, or a file
             that was being collected, or nothing), why is "" or "timeout"
    end      all was done
"""

import json
import os
import select
import signal
import sys
import time

# How often the problems that are left after one ended its child are run together.
ROUNDS = 6

HERE = os.path.dirname(os.path.abspath(__file__))


def load(*names):
    """Import files of the driver, such that nobody else can import them by name.
    A server that forks this program has put some there already."""
    sys.path.insert(0, HERE)
    try:
        return [__import__(name) for name in names]
    finally:
        sys.path.pop(0)
        for name in names:
            del sys.modules[name]


def forget():
    """Take what the driver's files have imported of each other from where modules are found."""
    for name, module in list(sys.modules.items()):
        if name != "__main__" and os.path.dirname(getattr(module, "__file__", None) or "") == HERE:
            del sys.modules[name]


def lines(buffer, data):
    """Split what was read into whole lines; the rest stays in buffer."""
    buffer += data
    *whole, rest = bytes(buffer).split(b"\n")
    buffer[:] = rest if len(rest) < 1 << 24 else b""
    return whole


class Nursery:
    """The supervisor's side of the process that forks children."""

    def __init__(self, serve):
        self.results, results = os.pipe()
        self.exits, exits = os.pipe()
        orders, self.orders = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for fd in (self.results, self.exits, self.orders):
                os.close(fd)
            try:
                serve(orders, results, exits)
            finally:
                os._exit(0)
        for fd in (results, exits, orders):
            os.close(fd)
        os.set_blocking(self.results, False)
        self.buffers = {self.results: bytearray(), self.exits: bytearray()}
        self.poll = select.poll()
        for fd in self.buffers:
            self.poll.register(fd, select.POLLIN)

    def order(self, order):
        data = json.dumps(order).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self.orders, data):]

    def read(self, seconds):
        """Lines that came in within some time: results before exits."""
        got = {fd: [] for fd in self.buffers}
        for fd, _ in self.poll.poll(max(0, int(seconds * 1000) + 1)):
            data = os.read(fd, 1 << 16)
            if not data:
                raise SystemExit("the process that forks children has ended")
            got[fd] = lines(self.buffers[fd], data)
        if got[self.exits]:
            got[self.results] += self.drain()
        return got[self.results], [json.loads(x) for x in got[self.exits]]

    def drain(self):
        out = []
        while True:
            try:
                data = os.read(self.results, 1 << 16)
            except BlockingIOError:
                return out
            if not data:
                return out
            out += lines(self.buffers[self.results], data)


class Supervisor:
    def __init__(self, channel, nursery, request):
        self.channel, self.nursery, self.request = channel, nursery, request
        self.report = channel.sender(bytes.fromhex(request["key"]), os.dup(1))
        self.children = 0

    def run(self):
        if self.request["mode"] == "collect":
            self.child({"select": self.request["select"], "ids": []})
        else:
            self.all(self.request["problems"])
        self.report(t="end")

    def all(self, ids):
        """Run all, or each alone, and again what a child left that ended early."""
        if self.request["isolate"]:
            return self.each(ids)
        for _ in range(ROUNDS):
            if not ids:
                return
            done, running, begun = self.child(self.with_canaries(ids))
            if done or not begun and len(set(map(file_of, ids))) == 1:
                return
            suspects = [i for i in ids if running in (i, file_of(i))]
            if not suspects or len(suspects) == len(ids):
                break
            ids = [i for i in ids if i not in suspects]
            self.by_file(suspects)
        self.by_file(ids)

    def by_file(self, ids):
        """Run the problems of each file in a child, and each alone where that is
        no use. A file that ends its child before any test does it to all its problems."""
        for file in dict.fromkeys(map(file_of, ids)):
            here = [i for i in ids if file_of(i) == file]
            if len(here) > 1:
                done, _, begun = self.child(self.with_canaries(here))
                if done or not begun:
                    continue
            self.each(here)

    def each(self, ids):
        for i in ids:
            self.child(self.with_canaries([i]))

    def with_canaries(self, ids):
        """What a child is told, files in the order in which they are collected."""
        before, after, extra, files = [], [], [], []
        folders = []
        for i in ids:
            if file_of(i) not in files:
                files.append(file_of(i))
        for f in files:
            folder = os.path.dirname(f)
            if folder not in folders and folder in self.request["canaries"]:
                folders.append(folder)
                first, last, nodes = self.request["canaries"][folder]
                before, after, extra = before + first, last + after, extra + nodes
        return {"files": before + files + after, "ids": ids, "canaries": extra}

    def child(self, order):
        """Run one child to its end. Returns whether it was done, else what it was at,
        and whether it had begun with tests."""
        c = self.children
        self.children += 1
        key = os.urandom(32)
        common = ("mode", "root", "source", "options", "harness", "data", "own", "changed", "frank", "plain")
        self.report(t="child", c=c, ids=order["ids"])
        self.nursery.order({**{k: self.request[k] for k in common}, **order, "key": key.hex()})
        watch = Watch(self.channel.Receiver(key), self.request["limit"], self.request["start"])
        why = ""
        pid = None
        while True:
            results, exits = self.nursery.read(watch.left())
            for line in results:
                frame = watch.take(line)
                if frame:
                    del frame["n"]
                    self.report(c=c, **frame)
            for x in exits:
                if "pid" in x:
                    pid = x["pid"]
                    continue
                self.report(t="exit", c=c, done=watch.done, status=x["status"], running=watch.running,
                            why=why, message=x["message"])
                return watch.done, watch.running, watch.begun
            if watch.left() <= 0 and pid and not why:
                why = "" if watch.done else "timeout"
                end(pid)


def end(pid):
    """Kill a child with its group."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def file_of(node):
    return node.partition("::")[0]


class Watch:
    """What a child has said, and how long it may still be silent."""

    def __init__(self, receiver, limit, start):
        self.receiver, self.limit = receiver, limit
        self.running, self.done, self.begun = "", False, False
        self.until = time.monotonic() + start
        self.start = start

    def left(self):
        return self.until - time.monotonic()

    def take(self, line):
        """Take in a line; the frame to report, or None."""
        frame = self.receiver.frame(line)
        if not frame:
            return None
        now = time.monotonic()
        kind = frame["t"]
        if kind == "done":
            self.done, self.running, self.until = True, "", now + 5
            return None
        if kind == "collecting":
            self.running, self.until = frame["file"], now + self.start
            return None
        if kind == "collected":
            self.running = ""
            return None
        if kind == "begin":
            self.running, self.until, self.begun = frame["id"], now + self.limit, True
        if kind == "result":
            self.running, self.until = "", now + self.start
        return frame


def hidden_from_others():
    """Keep other processes of this user from reading this one's memory."""
    try:
        import ctypes
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    except (ImportError, OSError, AttributeError):
        pass


def main():
    (paths,) = load("paths")
    paths.complete()
    channel, nursery = load("channel", "nursery")
    forget()
    plain = sys.argv[2:] == ["plain"]
    n = nursery.Direct() if plain else Nursery(nursery.serve)
    if not plain:
        hidden_from_others()
    with open(sys.argv[1], encoding="utf-8") as f:
        request = json.load(f)
    os.unlink(sys.argv[1])
    Supervisor(channel, n, request).run()


if __name__ == "__main__":
    main()
