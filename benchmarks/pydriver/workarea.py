"""Keeps the work area of a box as it was laid in."""

import base64
import os
import shutil
import stat

# How many lost files are named.
MAX_LOST = 100


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def listing(roots):
    """All entries below roots, with what changes whenever one of them does."""
    found = {}
    pending = list(roots)
    while pending:
        try:
            entries = os.scandir(pending.pop())
        except OSError:
            continue
        with entries:
            for e in entries:
                s = e.stat(follow_symlinks=False)
                if stat.S_ISDIR(s.st_mode):
                    found[e.path] = (s.st_mode, s.st_ino)
                    pending.append(e.path)
                else:
                    found[e.path] = mark(s)
    return found


def mark(s):
    return (s.st_mode, s.st_ino, s.st_size, s.st_ctime_ns, s.st_nlink)


class WorkArea:
    """Keeps what is below some folders as it was."""

    def __init__(self, roots):
        self.roots = [r for r in roots if os.path.isdir(r)]
        self.known = listing(self.roots)
        self.edited = set()

    def lay(self, request):
        """Undoes what programs did, then takes files away and lays others in.
        Returns what else is not as it was; then nothing was laid in."""
        if request["heal"]:
            lost = self.heal({*(request["delete"] or ()), *(f["path"] for f in request["files"] or ())})
            if lost:
                return lost
        for path in request["delete"] or ():
            self.known.pop(path, None)
            if os.path.lexists(path):
                os.unlink(path)
        for f in request["files"] or ():
            self.put(f)
        return []

    def put(self, f):
        path, temporary = f["path"], f["path"] + ".ratchet-new"
        self.folders(os.path.dirname(path))
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, f["mode"])
        try:
            write_all(fd, base64.b64decode(f["data"]))
            os.fchmod(fd, f["mode"])
        finally:
            os.close(fd)
        os.rename(temporary, path)
        self.known[path] = mark(os.lstat(path))
        self.edited.add(path)

    def folders(self, path):
        if path in self.known or path in self.roots:
            return
        self.folders(os.path.dirname(path))
        os.mkdir(path)
        s = os.lstat(path)
        self.known[path] = (s.st_mode, s.st_ino)

    def heal(self, but):
        """Removes what is new and returns what was changed or lost, if anything."""
        now = listing(self.roots)
        for path in sorted(now.keys() - self.known.keys()):
            self.remove(path, now[path])
        lost = [path for path, was in self.known.items() if now.get(path) != was and path not in but]
        return lost[:MAX_LOST]

    def remove(self, path, was):
        try:
            if stat.S_ISDIR(was[0]):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        except FileNotFoundError:
            pass  # its folder was new, too
