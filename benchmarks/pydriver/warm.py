"""What programs need not do again: compiling source that has not changed, and
importing the standard library. Nothing of the code under test is imported."""

import os
import sys
import sysconfig
from importlib.machinery import SourceFileLoader
from pathlib import Path

MAX_SOURCES = 5000
# Modules that do something when they are imported.
NOISY = {"this", "antigravity", "idlelib", "tkinter", "turtle", "turtledemo", "__main__"}


class Notes:
    """What programs tell the server about their imports while they run, one line
    each, so that one that is killed has told too."""

    def __init__(self):
        self.fd = -1  # in the server itself

    def add(self, kind, text):
        line = ("%s %s\n" % (kind, text)).encode("utf-8", "surrogateescape")
        if self.fd >= 0 and len(line) < 512:  # shorter than what a pipe takes at once
            try:
                os.write(self.fd, line)
            except OSError:
                self.fd = -1

    @staticmethod
    def read(data):
        for line in bytes(data).split(b"\n")[:-1]:
            kind, _, text = line.decode("utf-8", "surrogateescape").partition(" ")
            yield kind, text


class Compiled:
    """Code objects by the exact source that they come from."""

    def __init__(self, folder, notes):
        self.folder, self.notes = folder + os.sep, notes
        self.stdlib = sysconfig.get_path("stdlib") + os.sep
        self.modules = {}  # path to (source, code)
        self.hook()

    def hook(self):
        original = SourceFileLoader.get_code

        def get_code(loader, name):
            path = loader.path
            if path.startswith(self.folder):
                known = self.modules.get(path)
                if known and known[0] == loader.get_data(path):
                    return known[1]
                self.notes.add("module", path)
            elif path.startswith(self.stdlib):
                self.notes.add("library", name)
            return original(loader, name)

        SourceFileLoader.get_code = get_code

    def learn(self, path, edited):
        """Compile what a program had to compile itself, unless it was edited."""
        known = path in self.modules or len(self.modules) >= MAX_SOURCES
        if known or not path.startswith(self.folder) or path in edited:
            return
        try:
            source = read(path)
            self.modules[path] = (source, compile(source, path, "exec", dont_inherit=True))
        except Exception:  # each program meets the error itself
            pass


class Rewritten:
    """Code objects that pytest has made of test modules, by their exact source."""

    def __init__(self, folder, notes):
        from _pytest.assertion import rewrite
        self.folder, self.notes = folder + os.sep, notes
        self.original = rewrite._rewrite_test
        self.modules = {}  # path to (source, code)
        rewrite._rewrite_test = self.rewrite

    def rewrite(self, path, config):
        """In place of pytest's own: what is known, or what that makes."""
        if config.getini("enable_assertion_pass_hook"):
            return self.original(path, config)
        known = self.modules.get(str(path))
        if known and known[0] == path.read_bytes():
            return os.stat(path), known[1]
        self.notes.add("test", str(path))
        return self.original(path, config)

    def learn(self, path, edited):
        """Rewrite what a program had to rewrite itself, unless it was edited."""
        known = path in self.modules or len(self.modules) >= MAX_SOURCES
        if known or not path.startswith(self.folder) or path in edited:
            return
        try:
            source = read(path)
            code = self.original(Path(path), None)[1]
            if read(path) == source:
                self.modules[path] = (source, code)
        except Exception:  # each program meets the error itself
            pass


class Configured:
    """A configuration of pytest with its own plugins, for the first one that a
    program asks for: they are registered once for all programs."""

    def __init__(self):
        from _pytest import config
        self.config, self.original = config, config.get_config
        self.begun = self.original()
        config.get_config = self.get

    def get(self, args=None, plugins=None):
        """In place of pytest's own: the same, with what the program adds."""
        begun, self.begun = self.begun, None
        if begun is None:
            return self.original(args, plugins)
        begun.invocation_params = self.config.Config.InvocationParams(args=args or (), plugins=plugins, dir=Path.cwd())
        if args is not None:
            begun.pluginmanager.consider_preparse(args, exclude_only=True)
        return begun


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Library:
    """The modules of the standard library, but for those whose name something in
    the tree has."""

    def __init__(self, source):
        self.names = set(getattr(sys, "stdlib_module_names", ())) - NOISY - self.taken(source)

    @staticmethod
    def taken(source):
        names = set()
        for _, folders, files in os.walk(source):
            names.update(folders)
            names.update(f.partition(".")[0] for f in files)
        return names

    def learn(self, name):
        top = name.partition(".")[0]
        if top not in self.names or name in sys.modules:
            return
        try:
            __import__(name)
        except Exception:
            self.names.discard(top)
