"""Runs many short Python programs, each in a process forked from one that has
imported what they share: pytest, the standard library and compiled source.

Requests come over standard input, each a 4-byte length and JSON; replies go
to standard output, each the token of the first request, three lengths (JSON, and the
standard output and error of the program) and these bytes. Nothing of the code
under test is ever imported here, only compiled.
"""

import base64
import gc
import json
import os
import resource
import select
import shutil
import signal
import stat
import struct
import sys
import sysconfig
import threading
import time
import traceback
import types
from pathlib import Path

# What a program left unread in its pipes is waited for no longer than this.
DRAIN = 1.0
# A program whose processes multiply faster than they can be killed ends the server.
KILL_LIMIT = 5.0
SIDE_LIMIT = 1 << 20
MAX_SOURCES = 5000
MAX_LOST = 100
OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
# Modules that do something when they are imported.
NOISY = {"this", "antigravity", "idlelib", "tkinter", "turtle", "turtledemo", "__main__"}


# Streams.

def read_exactly(n):
    parts = []
    while n > 0:
        b = os.read(0, min(n, 1 << 20))
        if not b:
            os._exit(0)  # the host is gone or done
        parts.append(b)
        n -= len(b)
    return b"".join(parts)


def receive():
    (n,) = struct.unpack(">I", read_exactly(4))
    return json.loads(read_exactly(n))


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


class Replies:
    def __init__(self, token):
        self.token = token.encode()

    def send(self, message, stdout=b"", stderr=b""):
        head = json.dumps(message).encode()
        sizes = struct.pack(">III", len(head), len(stdout), len(stderr))
        write_all(1, b"".join((self.token, sizes, head, stdout, stderr)))


# Processes.

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


# The work area.

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
            lost = self.heal({*request["delete"], *(f["path"] for f in request["files"])})
            if lost:
                return lost
        for path in request["delete"]:
            self.known.pop(path, None)
            if os.path.lexists(path):
                os.unlink(path)
        for f in request["files"]:
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


# Compiled source.

class Compiled:
    """Code objects by the exact source they come from, so that a program does
    not compile again what an earlier one has compiled."""

    def __init__(self, root):
        self.root = root + os.sep
        self.modules = {}  # path to (source, code)
        self.tests = {}  # likewise, with pytest's assertions
        self.missed = ([], [])  # in a forked process: what it compiled itself
        self.hook_modules()
        self.hook_tests()

    def hook_modules(self):
        from importlib.machinery import SourceFileLoader

        original = SourceFileLoader.get_code

        def get_code(loader, name):
            try:
                path = loader.get_filename(name)
                if not path.startswith(self.root):
                    return original(loader, name)
                known = self.modules.get(path)
                if known and known[0] == loader.get_data(path):
                    return known[1]
            except OSError:
                return original(loader, name)
            self.missed[0].append(path)
            return original(loader, name)

        SourceFileLoader.get_code = get_code

    def hook_tests(self):
        try:
            from _pytest.assertion import rewrite
            self.rewrite = rewrite._rewrite_test
        except (ImportError, AttributeError):  # another version of pytest: slower, not wrong
            self.rewrite = None
            return

        def _rewrite_test(fn, config):
            path = str(fn)
            known = self.tests.get(path)
            try:
                if known and not config.getini("enable_assertion_pass_hook") and known[0] == read(path):
                    return os.stat(path), known[1]
            except (OSError, ValueError):
                pass
            self.missed[1].append(path)
            return self.rewrite(fn, config)

        rewrite._rewrite_test = _rewrite_test

    def learn(self, missed, edited):
        """Compiles what a program had to compile itself, but for edited files."""
        for path in missed.get("modules", []):
            if self.wants(path, self.modules, edited):
                self.keep(self.modules, path, lambda: compile(read(path), path, "exec", dont_inherit=True))
        for path in missed.get("tests", []):
            if self.rewrite and self.wants(path, self.tests, edited):
                self.keep(self.tests, path, lambda: self.rewrite(Path(path), PlainConfig)[1])

    def wants(self, path, table, edited):
        return (isinstance(path, str) and path.startswith(self.root) and path not in edited
                and path not in table and len(table) < MAX_SOURCES)

    @staticmethod
    def keep(table, path, build):
        try:
            source = read(path)
            code = build()
            if source == read(path):
                table[path] = (source, code)
        except Exception:  # it is compiled again each time, with its error
            pass


class PlainConfig:
    """As much of pytest's configuration as the rewriting of assertions reads."""

    @staticmethod
    def getini(name):
        return False


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Library:
    """Imports the modules of the standard library that programs use, but for
    those whose name the tree could take."""

    def __init__(self, root):
        self.names = getattr(sys, "stdlib_module_names", frozenset()) - NOISY - self.taken(root)
        self.folder = sysconfig.get_path("stdlib") + os.sep

    @staticmethod
    def taken(root):
        names = set()
        for _, folders, files in os.walk(root):
            names.update(folders)
            names.update(f.partition(".")[0] for f in files)
        return names

    def loaded(self):
        """In a program: names of modules that it has imported."""
        return [n for n, m in list(sys.modules.items())
                if n.partition(".")[0] in self.names and (getattr(m, "__file__", None) or "").startswith(self.folder)]

    def learn(self, names):
        for name in names:
            if isinstance(name, str) and name not in sys.modules and name.partition(".")[0] in self.names:
                try:
                    __import__(name)
                except Exception:
                    self.names -= {name.partition(".")[0]}


# Programs.

class Server:
    def __init__(self, first):
        self.replies = Replies(first["token"])
        self.program = first["program"]
        self.code = compile(read(self.program), self.program, "exec", dont_inherit=True)
        self.preload(first.get("preload", []))
        self.compiled = Compiled(first["source"])
        self.library = Library(first["source"])
        self.area = WorkArea(first["roots"])
        self.wake, wake = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.replies.send({"pid": os.getpid()})

    @staticmethod
    def preload(names):
        for name in names:
            try:
                __import__(name)
            except ImportError:
                pass
        config = sys.modules.get("_pytest.config")
        for plugin in getattr(config, "default_plugins", ()):
            __import__("_pytest." + plugin)

    def serve(self):
        handlers = {"lay": self.lay, "run": self.run}
        gc.collect()
        gc.freeze()
        while True:
            request = receive()
            handlers[request["op"]](request)

    def lay(self, request):
        try:
            self.replies.send({"spoiled": self.area.lay(request)})
        except (OSError, RecursionError) as e:
            self.replies.send({"error": str(e) or repr(e)})

    def run(self, request):
        pipes = [os.pipe() for _ in range(3)]
        before, began = oom_kills(), time.monotonic()
        try:
            pid = os.fork()
        except OSError as e:
            self.replies.send({"code": 126}, b"", ("cannot fork: %s\n" % e).encode())
            return
        if pid == 0:
            Program(self, request, pipes).start()
        for _, w in pipes:
            os.close(w)
        watch = Watch(pid, self.wake, [r for r, _ in pipes], (request["max"], request["max"], SIDE_LIMIT))
        expired = not watch.wait(began + request["limit"])
        if expired:
            kill_quietly(pid)
        status = watch.status()
        wall = time.monotonic() - began
        kill_others()
        watch.drain()
        self.reply(status, expired, oom_kills() > before, wall, watch)
        self.learn(watch.data[2])

    def reply(self, status, expired, oom, wall, watch):
        answer = {"code": -1, "signal": 0, "oom": oom, "wall": wall, "truncated": watch.cut,
                  "timed_out": expired and not oom and os.WIFSIGNALED(status)}
        if os.WIFSIGNALED(status):
            answer["signal"] = os.WTERMSIG(status)
        else:
            answer["code"] = os.WEXITSTATUS(status)
        self.replies.send(answer, bytes(watch.data[0]), bytes(watch.data[1]))

    def learn(self, side):
        """Takes in what a program noted, while the host looks at its results."""
        try:
            noted = json.loads(bytes(side))
            self.library.learn(noted.get("library", []))
            self.compiled.learn(noted, self.area.edited)
        except (ValueError, AttributeError, TypeError):
            return  # it did not come to its end
        gc.freeze()


def kill_quietly(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Watch:
    """Reads what a process prints until it ends."""

    def __init__(self, pid, wake, pipes, limits):
        self.pid, self.wake, self.limits = pid, wake, limits
        self.open = {r: i for i, r in enumerate(pipes)}
        self.data = [bytearray() for _ in pipes]
        self.cut = False
        self.ended = None
        self.poll = select.poll()
        for fd in [wake, *pipes]:
            self.poll.register(fd, select.POLLIN)

    def wait(self, deadline):
        """Says whether the process ended in time."""
        while not self.has_ended():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.step(left)
        return True

    def has_ended(self):
        if self.ended is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.ended = status
        return self.ended is not None

    def status(self):
        if self.ended is None:
            self.ended = os.waitpid(self.pid, 0)[1]
        return self.ended

    def step(self, seconds):
        for fd, _ in self.poll.poll(max(1, seconds * 1000)):
            if fd == self.wake:
                os.read(fd, 4096)
            else:
                self.read(fd)

    def read(self, fd):
        chunk = os.read(fd, 1 << 16)
        if not chunk:
            self.poll.unregister(fd)
            os.close(fd)
            del self.open[fd]
            return
        data, limit = self.data[self.open[fd]], self.limits[self.open[fd]]
        if len(data) + len(chunk) > limit:
            chunk, self.cut = chunk[:limit - len(data)], True
        data += chunk

    def drain(self):
        end = time.monotonic() + DRAIN
        while self.open and time.monotonic() < end:
            self.step(end - time.monotonic())
        for fd in list(self.open):
            os.close(fd)


class Program:
    """The forked process: as if Python had just been started with a program."""

    def __init__(self, server, request, pipes):
        self.server, self.request, self.pipes = server, request, pipes

    def start(self):
        code = 1
        try:
            self.detach()
            code = self.main()
            self.finish()
        except BaseException:  # nothing may return into the server
            traceback.print_exc()
        finally:
            os._exit(code)

    def detach(self):
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        (_, out), (_, err), (_, self.side) = self.pipes
        keep = os.dup(self.side)
        for fd, to in ((null, 0), (out, 1), (err, 2)):
            os.dup2(fd, to)
        self.side = os.dup2(keep, self.high(), inheritable=False)
        os.closerange(3, self.side)
        with open("/proc/self/oom_score_adj", "w") as f:
            f.write("1000")
        os.environ.update(self.request["env"])
        os.chdir(self.request["dir"])

    @staticmethod
    def high():
        """A descriptor above those that a program is likely to count or close."""
        return min(1000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 1)

    def main(self):
        module = types.ModuleType("__main__")
        module.__file__ = self.server.program
        module.__builtins__ = __builtins__
        sys.modules["__main__"] = module
        sys.argv = [self.server.program, *self.request["args"]]
        try:
            exec(self.server.code, module.__dict__)
            return 0
        except SystemExit as e:
            return exit_code(e.code)
        except BaseException:
            traceback.print_exc()
            return 1

    def finish(self):
        """What the interpreter does at its end, but for taking itself apart."""
        compiled = self.server.compiled
        noted = {"modules": compiled.missed[0], "tests": compiled.missed[1], "library": self.server.library.loaded()}
        threading._shutdown()
        import atexit
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, ValueError, OSError):
                pass
        write_all(self.side, json.dumps(noted).encode())


def exit_code(value):
    if value is None:
        return 0
    if isinstance(value, int):
        return value & 0xFF
    print(value, file=sys.stderr)
    return 1


if __name__ == "__main__":
    if os.getuid() == 0:
        sys.exit("not as root: this kills every process that it can")
    Server(receive()).serve()
