"""Tests what code may change, as reading it tells."""
import ast
import runpy

import pytest
from runner_client import RUNNERS

CODE = runpy.run_path(str(RUNNERS / "python/code_changes.py"))


@pytest.mark.parametrize("code, stored, changed, mutated", [
    ("a = b = c", "ab", "", ""), ("import a.x, y as b", "ab", "", ""), ("del a", "a", "", ""), ("for a in b: c = 1", "ac", "", ""),
    ("a.x[0] = b", "", "a", ""), ("a[0] += 1; ", "", "a", ""), ("a.x.pop()", "", "", "a"), ("def a(): b = 1; c.x = 1", "a", "", ""),
    ("[a for a in b]", "", "", ""), ("a: int", "", "", ""), ("match b:\n case {**a}: pass", "a", "", "")])
def test_what_a_statement_touches(code, stored, changed, mutated):
    assert CODE["touched_by"](ast.parse(code).body[0]) == (set(stored), set(changed), set(mutated))


@pytest.mark.parametrize("code, rebound, changed", [
    ("def f():\n global a\n a = 1", "a", ""), ("def f(): a[0] = 1", "", "a"), ("def f(): a.append(1)", "", "a"), ("def f(): a.strip()", "", ""),
    ("def f(a): a.append(1)", "", ""), ("def f():\n a = []\n def g(): a.append(1)", "", ""), ("g(lambda: a.pop())", "", "a"),
    ("class C:\n a = []\n def f(self): a.append(1)", "", "a"), ("a.append(1)", "", "")])
def test_what_functions_may_do(code, rebound, changed):
    changes = CODE["CodeChanges"]()
    changes.take(ast.parse(code).body[0])
    assert (changes.rebound, changes.changed) == (set(rebound), set(changed))
    assert changes.by_functions("a") == bool(rebound or changed)


ROWS = [[1], [2]]


@pytest.mark.parametrize("code, value, may", [
    ("f(a)", ROWS, True), ("f(a)", (1, 2), False), ("f(a)", ([1],), True), ("len(a)", ROWS, False), ("print(a[0])", ROWS, False), ("b = a", ROWS, True),
    ("for b in a: pass", ROWS, True), ("for b in a: pass", [1, 2], False), ("f(a[0])", ROWS, True), ("f(a[0])", ["x"], False), ("f(a[:1])", ["x"], False),
    ("f(a[:1])", ROWS, True), ("a.x", ROWS, False), ("f(a)", [object()], True), ("f(b)", ROWS, False)])
def test_whose_parts_somebody_gets(code, value, may):
    changes = CODE["CodeChanges"]()
    changes.take(ast.parse(code).body[0])
    assert changes.anywhere("a", value) == may
