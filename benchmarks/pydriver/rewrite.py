"""Has trusted tests compare and assert with the driver's help.

Test modules are compiled by pytest, which rewrites their assert statements. In
what it has made, comparisons become calls of "@compare" and methods named assert…
are looked up by "@method"; "@check" runs before and after each assert statement, so
that nothing can be changed just while it is evaluated. The three are names among
the builtins that no source can spell.
"""

import ast
import builtins
import functools
import re
import sys
import types
import unittest

import _pytest.assertion.rewrite as assertion


COMPARING = (
    "assertEqual", "assertNotEqual", "assertIn", "assertNotIn", "assertListEqual", "assertTupleEqual", "assertDictEqual",
    "assertSetEqual", "assertSequenceEqual", "assertCountEqual", "assertAlmostEqual", "assertNotAlmostEqual",
    "assertMultiLineEqual", "assertGreater", "assertGreaterEqual", "assertLess", "assertLessEqual",
)
RELATION = {
    "assertNotEqual": "NotEq", "assertNotAlmostEqual": "NotEq", "assertIn": "In", "assertNotIn": "NotIn",
    "assertGreater": "Gt", "assertGreaterEqual": "GtE", "assertLess": "Lt", "assertLessEqual": "LtE",
}


class Help:
    """What the rewritten tests of a process call; set by its child."""

    equality = None
    check = staticmethod(lambda: None)
    method = staticmethod(getattr)
    harness = frozenset()
    words = {}  # names in the source of each test module, by path


def install():
    """Make pytest and unittest ask for help. Done once, before children are forked."""
    original = assertion.rewrite_asserts

    @functools.wraps(original)
    def rewrite_asserts(mod, source, module_path=None, config=None):
        path = str(module_path)
        Help.words[path] = frozenset(re.findall(r"\w+", source.decode("utf-8", "replace")))
        Around().visit(mod)
        original(mod, source, module_path, config)
        Ask(path).visit(mod)

    assertion.rewrite_asserts = rewrite_asserts
    hook = assertion.AssertionRewritingHook
    rewritten, skipped = hook._should_rewrite, hook._early_rewrite_bailout
    hook._should_rewrite = lambda self, name, fn, state: str(fn) in Help.harness or rewritten(self, name, fn, state)
    hook._early_rewrite_bailout = lambda self, name, state: False if Help.harness else skipped(self, name, state)
    hook._warn_already_imported = lambda self, name: None  # of plugins; settings may make it an error
    for name in COMPARING:
        setattr(unittest.TestCase, name, doubting(getattr(unittest.TestCase, name), RELATION.get(name, "Eq")))
    unittest.TestCase.assertTrue = disbelieving(unittest.TestCase.assertTrue)
    space = vars(builtins)
    space["@compare"] = lambda op, left, right, path: Help.equality.compare(op, left, right, Help.words.get(path, ()))
    space["@believe"] = lambda x: Help.equality.believe(x)
    space["@check"] = lambda: Help.check()
    space["@method"] = lambda owner, name: Help.method(owner, name)


def doubting(original, relation):
    """A comparing method of TestCase that fails where an operand would agree to anything."""
    @functools.wraps(original)
    def wrapper(self, first, second, *args, **more):
        __tracebackhide__ = True
        module = sys.modules.get(type(self).__module__)
        words = Help.words.get(getattr(module, "__file__", None), ())
        asked = Help.equality and Help.equality.origin.changed
        early = asked and relation == "Eq" and Help.equality.minding(first, second) and Help.equality.lying(relation, first, second, words)
        result = original(self, first, second, *args, **more)
        if early or asked and Help.equality.lying(relation, first, second, words):
            raise self.failureException(f"{first!r} or {second!r} compares so with anything")
        return result

    return wrapper


def disbelieving(original):
    """assertTrue, for which a comparison with what would agree to anything is false."""
    @functools.wraps(original)
    def assertTrue(self, expr, msg=None):
        __tracebackhide__ = True
        return original(self, Help.equality.believe(expr) if Help.equality else expr, msg)

    return assertTrue


def call(node, name, *args):
    """A call in the place of a node. Constants among args are strings."""
    args = [placed(ast.Constant(a), node) if isinstance(a, str) else a for a in args]
    return placed(ast.Call(func=placed(ast.Name(id=name, ctx=ast.Load()), node), args=args, keywords=[]), node)


def placed(new, node):
    """A new node with the place of another, of which pytest may not have told the end."""
    new.lineno, new.col_offset = node.lineno, node.col_offset
    end = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
    new.end_lineno, new.end_col_offset = (node.lineno, node.col_offset) if None in end else end
    return new


def check(node):
    return placed(ast.Expr(value=call(node, "@check")), node)


class Around(ast.NodeTransformer):
    """Puts a check before and after each assert statement, and after each with statement."""

    def visit_Assert(self, node):
        return [check(node), node, check(node)]

    def visit_With(self, node):
        self.generic_visit(node)
        return [node, check(node)]


class Ask(ast.NodeTransformer):
    """Replaces comparisons and the look-up of assert methods."""

    def __init__(self, path):
        self.path = path

    def visit_Compare(self, node):
        self.generic_visit(node)
        op = type(node.ops[0]).__name__
        if len(node.ops) != 1 or op not in KNOWN:
            return node
        return call(node, "@compare", op, node.left, node.comparators[0], self.path)

    def visit_If(self, node):
        self.generic_visit(node)
        node.test = asked(node.test)
        return node

    visit_While = visit_IfExp = visit_Assert = visit_If

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = asked(node.operand)
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        node.values = [asked(v) for v in node.values]
        return node

    def visit_comprehension(self, node):
        self.generic_visit(node)
        node.ifs = [asked(v) for v in node.ifs]
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("all", "any", "bool") and len(node.args) == 1:
            if hasattr(node.args[0], "elt"):
                node.args[0].elt = asked(node.args[0].elt)
            else:
                node.args[0] = asked(node.args[0])
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and node.attr.startswith("assert") and not mangled(node):
            return call(node, "@method", node.value, node.attr)
        return node


def asked(node):
    """A node where it matters whether it is true."""
    if isinstance(node, ast.Name) or isinstance(node, ast.Call) and getattr(node.func, "id", "") == "@compare":
        return call(node, "@believe", node)
    return node


def mangled(node):
    """Whether pytest's own code in the module looks this up."""
    return isinstance(node.value, ast.Name) and node.value.id.startswith("@")


KNOWN = {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "In", "NotIn"}


def trusted_method(origin, note):
    """A getattr that notices functions which the change has put in."""
    def method(owner, name):
        found = getattr(owner, name)
        if origin.suspect(found) and not isinstance(owner, types.ModuleType):
            note(f"the method {name} of {type(owner).__name__} was replaced")
        return found

    return method


