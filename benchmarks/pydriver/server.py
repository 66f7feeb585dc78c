"""Runs many short Python programs, each in a process forked from one that has
imported what they share: pytest, the standard library and compiled source.

Requests come over standard input, each a 4-byte length and JSON; replies go
to standard output, each the token of the first request, three lengths (JSON, and the
standard output and error of the program) and these bytes. Nothing of the code
under test is ever imported here, only compiled.
"""

import gc
import inspect
import json
import os
import resource
import select
import signal
import struct
import sys
import threading
import time
import traceback
import types

HERE = os.path.dirname(os.path.abspath(__file__))
# What a program left unread in its pipes is waited for no longer than this.
DRAIN = 1.0
# What main.py loads.
PARTS = ("channel", "nursery")
# How much a program may tell of its imports, in bytes.
MAX_NOTES = 1 << 20


def load(*names):
    """Import files of the driver under names that nobody else can import."""
    sys.path.insert(0, HERE)
    try:
        return [__import__(name) for name in names]
    finally:
        sys.path.pop(0)
        for name in names:
            sys.modules.pop(name, None)


reaper, warm, workarea = load("reaper", "warm", "workarea")


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


class Replies:
    def __init__(self, token):
        self.token = token.encode()

    def send(self, message, stdout=b"", stderr=b""):
        head = json.dumps(message).encode()
        sizes = struct.pack(">III", len(head), len(stdout), len(stderr))
        workarea.write_all(1, b"".join((self.token, sizes, head, stdout, stderr)))


# Programs.

class Server:
    def __init__(self, first):
        self.replies = Replies(first["token"])
        self.program = first["program"]
        self.code = compile(warm.read(self.program), self.program, "exec", dont_inherit=True)
        self.notes = warm.Notes()
        self.compiled = warm.Compiled(first["folder"], self.notes)
        self.parts = self.prepare()
        self.rewritten = warm.Rewritten(first["folder"], self.notes)
        self.configured = warm.Configured()
        self.library = warm.Library(first["source"])
        self.area = workarea.WorkArea(first["roots"])
        self.wake, wake = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.replies.send({"pid": os.getpid()})

    @staticmethod
    def prepare():
        """Have the driver import what forking a child needs, and keep that."""
        load("paths")[0].complete()
        parts = dict(zip(PARTS, load(*PARTS)))
        child = sys.modules["child"]
        child.prepare()
        child.prepare = lambda: None
        import ctypes  # by which processes are adopted
        for plugin in sys.modules["_pytest.config"].default_plugins:
            __import__("_pytest." + plugin)
        inspect.getmodule(Server.run.__code__)  # which notes the file of each module there is
        return parts

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
        before, began = reaper.oom_kills(), time.monotonic()
        try:
            pid = os.fork()
        except OSError as e:
            self.replies.send({"code": 126}, b"", ("cannot fork: %s\n" % e).encode())
            return
        if pid == 0:
            Program(self, request, pipes).start()
        for _, w in pipes:
            os.close(w)
        watch = Watch(pid, self.wake, [r for r, _ in pipes], (request["max"], request["max"], MAX_NOTES))
        expired = not watch.wait(began + request["limit"])
        if expired:
            kill_quietly(pid)
        status = watch.status()
        wall = time.monotonic() - began
        reaper.kill_others()
        watch.drain()
        self.reply(status, expired, reaper.oom_kills() > before, wall, watch)
        self.learn(watch.data[2])

    def reply(self, status, expired, oom, wall, watch):
        answer = {"code": -1, "signal": 0, "oom": oom, "wall": wall, "truncated": watch.cut,
                  "timed_out": expired and not oom and os.WIFSIGNALED(status)}
        if os.WIFSIGNALED(status):
            answer["signal"] = os.WTERMSIG(status)
        else:
            answer["code"] = os.WEXITSTATUS(status)
        self.replies.send(answer, bytes(watch.data[0]), bytes(watch.data[1]))

    def learn(self, told):
        """Take in what a program noted, while the host looks at its results."""
        for kind, text in warm.Notes.read(told):
            if kind == "library":
                self.library.learn(text)
            elif kind == "test":
                self.rewritten.learn(text, self.area.edited)
            else:
                self.compiled.learn(text, self.area.edited)
        if told:
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
        (_, out), (_, err), (_, notes) = self.pipes
        keep = os.dup(notes)
        for fd, to in ((null, 0), (out, 1), (err, 2)):
            os.dup2(fd, to)
        high = self.high()
        self.server.notes.fd = os.dup2(keep, high, inheritable=False)
        os.closerange(3, high)
        with open("/proc/self/oom_score_adj", "w") as f:
            f.write("1000")
        os.environ.update(self.request["env"] or {})
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
        sys.modules.update(self.server.parts)
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
        threading._shutdown()
        import atexit
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, ValueError, OSError):
                pass


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
