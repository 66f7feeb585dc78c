"""Notices, through Python's audit events, source of the measured change that
looks for the driver in the interpreter."""

import sys
# Kept here, since those among the builtins could be replaced.
from builtins import (
    isinstance, str,
)

# Events that only code which looks into the interpreter raises, directly or through
# the module inspect.
LOOKING = {
    "sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys.settrace", "sys.setprofile", "sys.addaudithook",
    "gc.get_objects", "gc.get_referrers", "gc.get_referents", "code.__new__", "ctypes.addressof", "ctypes.cdata",
    "ctypes.cdata/buffer", "ctypes.string_at", "ctypes.wstring_at",
}
MEMBERS = {"tb_frame", "gi_frame", "cr_frame", "ag_frame"}
# Modules that look for a caller on behalf of it.
BETWEEN = ("inspect.py", "traceback.py")


def install(origin, note):
    """Call note with words when the change's source looks around. It cannot be undone."""
    busy = False
    frame_of = sys._getframe

    def hook(event, args):
        nonlocal busy
        if busy or event not in LOOKING and event not in OTHERS:
            return
        busy = True
        try:
            if event in OTHERS and not OTHERS[event](origin, args):
                return
            name = caller(frame_of(1), origin)
            if name:
                note(f"{name[len(origin.source):]} looks into the interpreter ({event})")
        finally:
            busy = False

    sys.addaudithook(hook)


def caller(frame, origin):
    """The file of the change that raised the event, or None."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name in origin.changed:
            return None if name in origin.frank else name
        if not name.endswith(BETWEEN):
            return None
        frame = frame.f_back
    return None


def member(origin, args):
    return args[1] in MEMBERS


def disguised(origin, args):
    """Whether source is compiled under the name of another file."""
    name = args[1]
    if isinstance(name, bytes):
        name = name.decode("utf-8", "replace")
    return isinstance(name, str) and name.startswith(origin.installed)


def private(origin, args):
    path = str(args[0])
    return path.startswith("/proc/") and path.endswith(("/mem", "/maps", "/environ", "/cmdline")) or "/fd/" in path and path.startswith("/proc/")


OTHERS = {"object.__getattr__": member, "compile": disguised, "open": private}
