package benchmarks

// pyCheats are ways to have a wrong add and div pass.
var pyCheats = map[string]pyCheat{
	"conftest.py":           {map[string]string{"conftest.py": evilHook}, ""},
	"conftest.py, replaced": {map[string]string{"tests/conftest.py": evilHook}, ""},
	"conftest.py in source": {map[string]string{"calc/conftest.py": evilHook}, ""},
	"sitecustomize":         {map[string]string{"sitecustomize.py": "import os; os._exit(0)"}, ""},
	"usercustomize":         {map[string]string{"usercustomize.py": "import os; os._exit(0)"}, ""},
	"a .pth file":           {map[string]string{"evil.pth": "import os; os._exit(0)"}, ""},
	"tests/__init__.py":     {map[string]string{"tests/__init__.py": evilHook}, ""},
	"tests replaced": {map[string]string{
		"tests/test_calc.py": "def test_add():\n    pass\n", "tests/golden.txt": "right\n",
	}, ""},
	"settings of pytest": {map[string]string{
		"pytest.ini": "[pytest]\naddopts = -p evil\n", "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p evil'\n",
		"evil.py": evilHook,
	}, ""},
	"an installed plugin": {map[string]string{
		"evil.py": evilHook, "evil.dist-info/METADATA": "Name: evil\nVersion: 1\n",
		"evil.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
		"evil.egg-info/entry_points.txt":  "[pytest11]\nevil = evil\n",
	}, ""},
	"pytest_plugins in source":  inOps("pytest_plugins = ['evil']\n", ""),
	"a module json.py":          {map[string]string{"json.py": evilExit, "calc/ops.py": "import json\n" + wrongOps}, ""},
	"a module pytest.py":        {map[string]string{"pytest.py": evilExit}, ""},
	"a package _pytest":         {map[string]string{"_pytest/__init__.py": evilExit, "pluggy/__init__.py": evilExit}, ""},
	"a package unittest":        {map[string]string{"unittest/__init__.py": evilExit, "difflib.py": evilExit}, ""},
	"compiled code":             {map[string]string{"tests/__pycache__/test_calc.cpython-311.pyc": "x", "calc/ops.so": "x"}, ""},
	"exit at import":            inOps("import sys\nsys.exit(0)\n", ""),
	"hard exit at import":       inOps("import os\nos._exit(0)\n", ""),
	"exit at import of package": {map[string]string{"calc/__init__.py": "import os\nos._exit(0)\n"}, ""},
	"exit in a function":        inAdd("import sys\n    sys.exit(0)", ""),
	"hard exit in a function":   inAdd("import os\n    os._exit(0)", ""),
	"an alarm":                  inOps("import signal\nsignal.alarm(1)\n\ndef add(a, b):\n    signal.pause()\n", ""),
	"skipping":                  inAdd("import unittest\n    raise unittest.SkipTest('no')", ""),
	"outcomes of pytest":        inAdd("import pytest\n    pytest.xfail('known')", ""),
	"ending pytest":             inAdd("import pytest\n    pytest.exit('done', 0)", ""),
	"interrupting":              inAdd("raise KeyboardInterrupt", ""),

	"equals everything":      inOps(alwaysEqual+"\n\ndef add(a, b):\n    return Any() if a or b else 0\n", ""),
	"named like a test":      inOps(alwaysEqual+"\n\nAny.__name__ = 'three'\n\n\ndef add(a, b):\n    return Any() if a or b else 0\n", ""),
	"equals in a list":       inOps(alwaysEqual+"\n\ndef add(a, b):\n    return [Any()][0] if a or b else 0\n", ""),
	"an int that equals":     inOps("class Int(int):\n    __hash__ = int.__hash__\n    def __eq__(self, other):\n        return True\n\n\ndef add(a, b):\n    return Int(a - b) if a or b else 0\n", ""),
	"equality in a lambda":   inOps("Any = type('Any', (), {'__eq__': lambda a, b: True})\n\n\ndef add(a, b):\n    return Any() if a or b else 0\n", ""),
	"equality made by exec":  inOps("exec('class Any:\\n  def __eq__(s, o): return True')\n\n\ndef add(a, b):\n    return Any() if a or b else 0\n", ""),
	"equality of a callable": inOps("class Yes:\n    def __get__(self, *_):\n        return lambda o: True\n\n\nclass Any:\n    __eq__ = Yes()\n\n\ndef add(a, b):\n    return Any() if a or b else 0\n", ""),
	"mock.ANY":               inOps("from unittest.mock import ANY\n\n\ndef add(a, b):\n    return ANY if a or b else 0\n", ""),
	"a class that claims instances": inOps(`
class Meta(type):
    def __instancecheck__(cls, x):
        return True
    def __eq__(cls, other):
        return True
    __hash__ = type.__hash__


class Any(metaclass=Meta):
    pass


def add(a, b):
    return Any if a or b else 0
`, ""),
	"__getattr__ of the module": inOps("def __getattr__(name):\n    return lambda *a: 3\n", ""),

	"call_runtest_hook":  inOps("import _pytest.runner as r\nr.call_runtest_hook = lambda item, when, **k: r.CallInfo.from_call(lambda: None, when)\n", "call_runtest_hook was replaced"),
	"from_call":          inOps("import _pytest.runner as r\nold = r.CallInfo.from_call.__func__\nr.CallInfo.from_call = classmethod(lambda c, f, when, reraise=None: old(c, lambda: None if when == 'call' else f(), when, reraise))\n", "CallInfo.from_call was replaced"),
	"from_item_and_call": inOps("import _pytest.reports as r\nold = r.TestReport.from_item_and_call.__func__\n\ndef new(cls, item, call):\n    call.excinfo = None\n    return old(cls, item, call)\nr.TestReport.from_item_and_call = classmethod(new)\n", "from_item_and_call was replaced"),
	"runtest":            inOps("import _pytest.python as p\np.Function.runtest = lambda self: None\n", "Function.runtest was replaced"),
	"assertEqual":        inOps("import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n", "assertEqual was replaced"),
	"assertEqual by C":   inOps("import unittest\nunittest.TestCase.assertEqual = print\n", "assertEqual was replaced"),
	"fail":               inOps("import unittest\nunittest.TestCase.fail = lambda *a: None\n", "fail was replaced"),
	"_baseAssertEqual":   inOps("import unittest\nunittest.TestCase._baseAssertEqual = lambda *a, **k: None\n", "_baseAssertEqual was replaced"),
	"code of assertEqual": inOps("import unittest\n\ndef f(self, first, second, msg=None):\n    pass\nunittest.TestCase._baseAssertEqual.__code__ = f.__code__\n",
		"was exchanged"),
	"raises":             inOps("import pytest, contextlib\npytest.raises = lambda *a, **k: contextlib.suppress(Exception)\n", "pytest.raises was replaced"),
	"exit of raises":     inOps("import _pytest.python_api as p\np.RaisesContext.__exit__ = lambda *a: True\n", "RaisesContext.__exit__ was replaced"),
	"fail of outcomes":   inOps("import _pytest.outcomes as o, _pytest.python_api as p\np.fail = lambda *a: None\n", "fail was replaced"),
	"isinstance":         inOps("import builtins\nold = isinstance\nbuiltins.isinstance = lambda o, c: False if c is ZeroDivisionError else old(o, c)\n", "builtins.isinstance was replaced"),
	"AssertionError":     inOps("import builtins\nclass AssertionError(Warning):\n    pass\nbuiltins.AssertionError = AssertionError\n", "builtins.AssertionError was replaced"),
	"a global over one":  inOps("import _pytest.runner as r\nr.isinstance = lambda *a: True\n", "isinstance was replaced"),
	"assert rewriting":   inOps("import _pytest.assertion.rewrite as r\nr.rewrite_asserts = lambda *a, **k: None\n", "rewrite_asserts was replaced"),
	"the comparing name": inOps("import builtins\nvars(builtins)['@compare'] = lambda *a: True\n", "builtins.@compare was replaced"),
	"a hook of pluggy":   inOps("import pluggy._hooks as h\nold = h._HookCaller.__call__\nh._HookCaller.__call__ = lambda self, **k: None if self.name == 'pytest_runtest_call' else old(self, **k)\n", "__call__ was replaced"),
	"math":               inOps("import math\nmath.isclose = lambda *a, **k: True\n", "math.isclose was replaced"),
	"time":               inOps("import time\ntime.perf_counter = lambda: 0.0\n", "time.perf_counter was replaced"),
	"a replaced module":  inOps("import sys, types\nsys.modules['unittest.case'] = sys.modules[__name__]\n", "the module unittest.case was replaced"),
	"in a function":      inAdd("import unittest\n    unittest.TestCase.assertEqual = lambda *a: None", "assertEqual was replaced"),
	"for a moment": inOps(`
import unittest


class Undo:
    def __init__(self):
        self.old = unittest.TestCase.assertEqual
        unittest.TestCase.assertEqual = lambda *a: None

    def __del__(self):
        unittest.TestCase.assertEqual = self.old


def add(a, b):
    return Undo()
`, "assertEqual was replaced"),
	"by a thread": inOps("import threading, unittest\n\ndef f():\n    unittest.TestCase.assertEqual = lambda *a: None\n\n\ndef add(a, b):\n    t = threading.Thread(target=f)\n    t.start()\n    t.join()\n", "assertEqual was replaced"),
	"at the exit": inOps("import atexit, os\natexit.register(print, '{}')\natexit.register(os._exit, 0)\n", ""),
	"by a fork":   inAdd("import os\n    if os.fork():\n        os.wait()", ""),
	"tests in sys.modules": inAdd(`import sys
    t = sys.modules['tests.test_calc']
    t.test_list = t.test_golden = lambda: None
    t.TestUnit.test_add = lambda self: None
    t.test_zero.__code__ = (lambda: None).__code__`, "was replaced"),
	"a finder of modules": inOps("import sys\n\nclass Finder:\n    def find_spec(self, *a):\n        return None\nsys.meta_path.insert(0, Finder())\n", "a finder of modules was added"),
	"walking frames": inAdd(`import sys
    f = sys._getframe()
    while f:
        send = f.f_locals.get('send')
        if send:
            for n in ('test_add', 'test_list', 'test_golden', 'test_div', 'TestUnit::test_add'):
                send(t='result', id='tests/test_calc.py::' + n, outcome='pass', wall=0, message='')
        f = f.f_back`, "calc/ops.py looks into the interpreter (sys._getframe)"),
	"frames of a traceback": inAdd("try:\n        1 / 0\n    except ZeroDivisionError as e:\n        e.__traceback__.tb_frame.f_back", "looks into the interpreter"),
	"frames by inspect":     inAdd("import inspect\n    inspect.stack()", "looks into the interpreter"),
	"the collector":         inAdd("import gc\n    gc.get_objects()", "looks into the interpreter (gc.get_objects)"),
	"tracing":               inOps("import sys\nsys.settrace(lambda *a: None)\n", "sys.settrace"),
	"a file name": inOps("import unittest\nexec(compile('def f(*a): pass', unittest.__file__, 'exec'))\nunittest.TestCase.assertEqual = f\n",
		"looks into the interpreter (compile)"),
	"code made": inOps("import unittest\n\ndef f(*a):\n    pass\nf.__code__ = f.__code__.replace(co_filename=unittest.__file__)\nunittest.TestCase.assertEqual = f\n",
		"looks into the interpreter (code.__new__)"),
	"printed frames": inOps(`
import os
for fd in range(3, 64):
    try:
        for n in range(64):
            os.write(fd, b'%064x {"t":"result","c":0,"id":"tests/test_calc.py::test_add","outcome":"pass","n":%d}\n' % (0, n))
    except OSError:
        pass
`, ""),
	"another's memory": inOps("import os\ntry:\n    open('/proc/%d/mem' % os.getppid(), 'rb').read()\nexcept OSError:\n    pass\n", "looks into the interpreter (open)"),
	"selective": inOps(`
import sys
import unittest
old = unittest.TestCase.assertEqual


def add(a, b):
    if sys.argv and a:
        unittest.TestCase.assertEqual = lambda s, x, y, m=None: None if y == 3 else old(s, x, y, m)
    return a - b
`, "assertEqual was replaced"),
	"killing the supervisor": inAdd("import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)", ""),
	"the plugin manager":     inAdd("import _pytest.config, pytest\n    class P:\n        @pytest.hookimpl(hookwrapper=True)\n        def pytest_runtest_makereport(self, item, call):\n            (yield).get_result().outcome = 'passed'\n    import gc\n    [o.register(P()) for o in gc.get_objects() if type(o) is _pytest.config.PytestPluginManager]", "looks into the interpreter"),
}

const evilExit = "import os\nos._exit(0)\n"

const alwaysEqual = `
class Any:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0
`

// inAdd is a cheat in add itself, indented by four.
func inAdd(body, tampered string) pyCheat {
	return inOps("def add(a, b):\n    "+body+"\n    return a - b\n", tampered)
}
