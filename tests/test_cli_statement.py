"""The text of a statement, and functions read from a file's text."""

from __future__ import annotations

import ast
import textwrap
from types import SimpleNamespace

import pytest
from kvproof.cli.signature import functions
from kvproof.cli.statement import statement_at

SOURCE = textwrap.dedent(
    """\
    def kernel(cache):
        if cache:
            store(
                cache,  # where
                [1, 2],
            )
        return 1
    """
)


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Return a job whose module lies in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "engine" / "ops"
    folder.mkdir(parents=True)
    (folder / "k.py").write_text(SOURCE)
    source = SimpleNamespace(root=str(tmp_path / "engine"), path=folder / "k.py")
    return SimpleNamespace(source=source)


@pytest.mark.parametrize(
    ("line", "text"),
    (
        (2, "if cache:"),
        (3, "store(cache, [1, 2])"),
        (4, "store(cache, [1, 2])"),
        (7, "return 1"),
        (8, ""),
        (0, ""),
    ),
)
def test_the_innermost_statement_is_told_on_one_line(job, line, text):
    assert statement_at(job, f"ops/k.py:{line}") == text


@pytest.mark.parametrize("place", ("k.py:7", "engine/ops/k.py:7"))
def test_the_file_is_found_beside_the_module_and_below_the_working_folder(job, place):
    assert statement_at(job, place) == "return 1"


@pytest.mark.parametrize("place", ("gone.py:7", "k.py", "k.py:?", ""))
def test_what_cannot_be_read_is_empty(job, place):
    assert statement_at(job, place) == ""


def test_parameters_are_read_with_their_defaults():
    found = functions(ast.parse("def f(a, /, b, c=1, *d, e, g=2, **h): ..."))["f"]
    assert (found.positional, found.keywords) == (("a",), ("b", "c", "e", "g"))
    assert (found.required, found.takes_any) == (("b", "e"), True)
    plain = functions(ast.parse("def f(a=1): ..."))["f"]
    assert (plain.positional, plain.required, plain.takes_any) == ((), (), False)


@pytest.mark.parametrize(
    ("mark", "kernel"),
    (
        ("@triton.jit", True),
        ("@triton.jit(do_not_specialize=['n'])", True),
        ("@triton.autotune(configs=[], key=[])", True),
        ("@jit", True),
        ("@functools.cache", False),
        ("", False),
    ),
)
def test_a_kernel_is_told_from_a_host_function(mark, kernel):
    assert functions(ast.parse(f"{mark}\ndef f(a): ..."))["f"].kernel is kernel


def test_functions_under_conditions_and_in_classes_are_found():
    text = (
        "try:\n    def a(): ...\nexcept E:\n    def b(): ...\n"
        "if x:\n    def c(): ...\nclass D:\n    def e(self): ...\n    def f(): ...\n"
    )
    assert list(functions(ast.parse(text))) == ["a", "b", "c", "D.e", "D.f"]
