"""Notices, through Python's audit events, source of the measured change that
looks for the driver in the interpreter."""

import os
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
# Modules that open files on behalf of their caller.
READERS = ("linecache.py", "tokenize.py", "pathlib.py", "/pathlib/_local.py", "/pathlib/__init__.py", "codecs.py", "shutil.py", "fileinput.py")
# Events of what is done to files, with the places of their names among the arguments.
FILES = {"open": (0,), "os.remove": (0,), "os.rename": (0, 1), "os.truncate": (0,), "os.link": (1,), "os.symlink": (1,)}


def install(origin, note, modules):
    """Call note with words when the change's source looks around, or at the source
    of one of the modules of tests. It cannot be undone."""
    busy = False
    frame_of = sys._getframe

    def hook(event, args):
        nonlocal busy
        if busy or event not in LOOKING and event not in OTHERS and event not in FILES:
            return
        busy = True
        try:
            if event in FILES:
                why = misused(origin, event, args, modules)
                name = why and caller(frame_of(1), origin, READERS)
                if name:
                    note(f"{name[len(origin.source):]} {why}")
                return
            if event in OTHERS and not OTHERS[event](origin, args):
                return
            name = caller(frame_of(1), origin)
            if name:
                note(f"{name[len(origin.source):]} looks into the interpreter ({event})")
        finally:
            busy = False

    sys.addaudithook(hook)


def caller(frame, origin, between=BETWEEN):
    """The file of the change that raised the event, itself or through some modules, or None."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name in origin.changed:
            return None if name in origin.frank else name
        if not name.endswith(between):
            return None
        frame = frame.f_back
    return None


def misused(origin, event, args, modules):
    """What is wrong with something done to a file: a change of one that tests are
    made of, or a look at the source of a test."""
    for at in FILES[event]:
        name = args[at]
        if isinstance(name, bytes):
            name = os.fsdecode(name)
        if not isinstance(name, (str, os.PathLike)):
            continue
        path = os.path.abspath(name)
        if event == "open" and not writing(args):
            if path in modules:
                return "reads the source of a test"
            if private(origin, (path,)):
                return "looks into the interpreter (open)"
        elif path in origin.tests:
            return "changes a file of the tests"
    return ""


def writing(args):
    return isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_TRUNC) != 0


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


OTHERS = {"object.__getattr__": member, "compile": disguised}
