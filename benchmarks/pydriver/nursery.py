"""The process that imports pytest once and forks a child for each order."""

import json
import os
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
