"""The process that imports pytest once and forks a child for each order."""

import json
import os
import select
import signal
import sys
import time

import channel
import child

# How much of what a child wrote to standard error is passed on, in bytes.
TAIL = 4096
# How long processes that a child has left are killed, in seconds.
CLEARING = 5.0


def serve(orders, results, exits):
    """Read orders, one JSON object a line, until there are no more. For each, one
    child; its process id and then its end are written to exits, one line each."""
    child.prepare()
    adopting()
    tell = sys.exit if exits < 0 else (lambda **x: os.write(exits, json.dumps(x).encode("ascii") + b"\n"))
    with os.fdopen(orders, "rb", closefd=False) as f:
        for line in f:
            errors = os.memfd_create("errors")
            pid = os.fork()
            if pid == 0:
                os.close(orders)
                os.close(exits)
                start(json.loads(line), results, errors)
            tell(pid=pid)
            status = ended(pid)
            clear()
            tell(status=os.waitstatus_to_exitcode(status), message=tail(errors))
            os.close(errors)


class Direct:
    """Forks the children of a supervisor in its own process, which therefore has
    imported pytest. The key of the report is in the memory of each child: this is
    for runs that are no evidence."""

    def __init__(self):
        child.prepare()
        adopting()
        self.results, self.told = os.pipe()
        self.wake, wake = os.pipe()
        for fd in (self.results, self.wake, wake):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.poll = select.poll()
        for fd in (self.results, self.wake):
            self.poll.register(fd, select.POLLIN)
        self.buffer, self.pid, self.errors, self.news = bytearray(), 0, -1, []

    def order(self, order):
        self.errors = os.memfd_create("errors")
        self.pid = os.fork()
        if self.pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for fd in (self.results, self.wake):
                os.close(fd)
            start(order, self.told, self.errors)
        self.news = [{"pid": self.pid}]

    def read(self, seconds):
        """Lines that came in within some time, and what became of the child: its
        process id once, and at last how it ended."""
        if self.news:
            news, self.news = self.news, []
            return [], news
        self.poll.poll(max(0, int(seconds * 1000) + 1))
        drained(self.wake)
        ended = self.reaped()
        if ended:
            clear()
        self.buffer += drained(self.results)
        *whole, rest = bytes(self.buffer).split(b"\n")
        self.buffer[:] = rest if len(rest) < 1 << 24 and not ended else b""
        return whole, ended

    def reaped(self):
        """How the child ended, if it has; what was adopted meanwhile is reaped."""
        while True:
            try:
                found, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return []
            if not found:
                return []
            if found == self.pid:
                message = tail(self.errors)
                os.close(self.errors)
                return [{"status": os.waitstatus_to_exitcode(status), "message": message}]


def drained(fd):
    """What can be read at once."""
    data = b""
    try:
        while part := os.read(fd, 1 << 16):
            data += part
    except BlockingIOError:
        pass
    return data


def adopting():
    """Become the parent of processes whose own parent has ended, so that none is lost."""
    try:
        import ctypes
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    except (ImportError, OSError, AttributeError):
        pass


def ended(pid):
    """Wait for a child; what was adopted meanwhile is reaped."""
    while True:
        found, status = os.wait()
        if found == pid:
            return status


def clear():
    """Kill what a child has left behind, and what that leaves."""
    until = time.monotonic() + CLEARING
    while time.monotonic() < until:
        left = offspring()
        if not left:
            return
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        for _ in left:
            os.wait()


def offspring():
    me, found = os.getpid(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as f:
                parent = f.read().rpartition(b")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == me:
            found.append(int(name))
    return found


def start(order, results, errors):
    """Become the child that an order describes."""
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd, to in ((null, 0), (null, 1), (errors, 2)):
            os.dup2(fd, to)
        os.close(null)
        os.close(errors)
        child.run(order, channel.sender(bytes.fromhex(order.pop("key")), results))
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(70)


def tail(fd):
    size = os.fstat(fd).st_size
    return os.pread(fd, TAIL, max(0, size - TAIL)).decode("utf-8", "replace")
