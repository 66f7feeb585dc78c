"""Ends the processes that a program left behind, and knows why one was killed."""

import os
import signal
import time

# Processes that multiply faster than they can be killed end the server.
KILL_LIMIT = 5.0
OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def others():
    """The living processes of anybody but this one, its parent and the first."""
    mine = {1, os.getpid(), os.getppid()}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in mine:
            continue
        try:
            with open("/proc/%s/stat" % name, "rb") as f:
                state = f.read().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if state not in (b"Z", b"X"):
            yield int(name)


def signal_others(number):
    hit = 0
    for pid in others():
        try:
            os.kill(pid, number)
            hit += 1
        except OSError:
            pass  # of another user, or gone
    return hit


def kill_others():
    """Kills all that a program left behind. They are stopped first: stopped
    processes fill the box's table, so that others cannot multiply."""
    end = time.monotonic() + KILL_LIMIT
    first = True
    while True:
        if not first:
            signal_others(signal.SIGSTOP)
        first = False
        hit = signal_others(signal.SIGKILL)
        reap()
        if not hit:
            return
        if time.monotonic() > end:
            os._exit(3)
        time.sleep(0.0002)


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def oom_kills():
    for name in OOM_COUNTERS:
        try:
            with open(name) as f:
                for line in f:
                    key, _, value = line.partition(" ")
                    if key == "oom_kill":
                        return int(value)
        except (OSError, ValueError):
            continue
    return 0
