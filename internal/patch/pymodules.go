package patch

import "strings"

// stdModules are the public modules of Python's standard library, 3.6 to 3.14
// (sys.stdlib_module_names).
var stdModules = wordSet(`
__main__ abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect
builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall compression concurrent
configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils
doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc
genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib
inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap
modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev
pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile
pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select selectors
shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat
statistics string stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios
textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing
unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile
zipimport zlib zoneinfo
`)

// graderModules are what runs and observes tests, or reaches into the interpreter
// below the language. No honest repair needs to begin to import one.
var graderModules = wordSet(`
pytest _pytest pluggy py iniconfig exceptiongroup pytest_timeout unittest nose nose2 doctest coverage xdist
ctypes _ctypes cffi gc atexit faulthandler site sitecustomize usercustomize conftest marshal runpy zipimport
code codeop bdb pdb trace imp _imp signal _signal pty posix nt _thread _posixsubprocess _testcapi _testinternalcapi
_sitebuiltins _xxsubinterpreters _interpreters inspect subprocess multiprocessing _frozen_importlib _frozen_importlib_external
importlib.machinery importlib.util importlib.abc importlib._bootstrap importlib._bootstrap_external
`)

// sensitiveModules must not be handed on as values, where no reading of the source follows them.
var sensitiveModules = wordSet("sys os builtins importlib threading signal gc ctypes inspect posix subprocess multiprocessing")

// exposed are what of other modules reaches out of the program, or into the
// interpreter; an exposed module exposes all in it.
var exposed = wordSet(`
sys._getframe sys._current_frames sys._current_exceptions sys.modules sys.settrace sys.setprofile sys.gettrace sys.getprofile
sys.monitoring sys.meta_path sys.path_hooks sys.path_importer_cache sys.addaudithook sys.audit sys.orig_argv sys.__stdout__
sys.__stderr__ sys.call_tracing sys.setswitchinterval sys._debugmallocstats sys._clear_type_cache
os._exit os.abort os.kill os.killpg os.fork os.forkpty os.posix_spawn os.posix_spawnp os.dup os.dup2 os.write os.writev os.pwrite os.closerange os.sendfile socket.fromfd os.getppid os.setsid
os.pidfd_open os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe os.spawnl os.spawnle os.spawnlp
os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe os.ptrace os.register_at_fork os.startfile
signal gc ctypes faulthandler atexit _thread posix marshal runpy
threading.settrace threading.setprofile threading.settrace_all_threads threading.setprofile_all_threads threading.excepthook
inspect.stack inspect.trace inspect.currentframe inspect.getouterframes inspect.getinnerframes
importlib.reload importlib.invalidate_caches importlib.machinery importlib.util importlib.abc importlib._bootstrap
types.CodeType weakref.finalize builtins.exec builtins.eval builtins.compile
builtins.__import__ builtins.exit builtins.quit pydoc.locate pkgutil.resolve_name linecache.cache time.clock_settime
`)

// outside are what of a program's surroundings a benchmark can be told by, and
// ways to end it. A file that has used one may use it again.
var outside = wordSet(`
sys.exit sys.argv sys.path os.environ os.environb os.getenv os.getenvb os.putenv os.unsetenv os.system os.popen subprocess
multiprocessing warnings.formatwarning warnings.showwarning logging.captureWarnings
`)

// fileCalls take the names of files.
var fileCalls = wordSet(`
~open io.open io.FileIO io.open_code os.open os.listdir os.scandir os.walk os.remove os.unlink os.rename os.replace os.rmdir os.removedirs
os.chmod os.chdir os.link os.symlink os.truncate os.stat os.path.exists os.path.isfile os.path.isdir os.path.join os.utime
pathlib.Path pathlib.PurePath pathlib.PosixPath shutil.copy shutil.copyfile shutil.copy2 shutil.copytree shutil.move shutil.rmtree
glob.glob glob.iglob codecs.open fileinput.input linecache.getline linecache.getlines numpy.load numpy.loadtxt json.load
`)

func wordSet(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// within says that a dotted name, or something that it is part of, is in a set.
func within(set map[string]bool, name string) bool { return entry(set, name) != "" }

// entry is what of a set a dotted name is, or is part of; "" for nothing.
func entry(set map[string]bool, name string) string {
	for {
		if set[name] {
			return name
		}
		at := strings.LastIndexByte(name, '.')
		if at < 0 {
			return ""
		}
		name = name[:at]
	}
}

func rootOf(module string) string {
	root, _, _ := strings.Cut(module, ".")
	return root
}
