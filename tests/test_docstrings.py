"""Every public name has a docstring; those that users call say shapes, units, errors and source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import docstrings
from tests.docstrings import Named, errors_of, public
from tests.test_house import FOLDERS, PROJECT, ROOT

FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
ERRORS = errors_of(FILES)
#: Everything in `spec`, and what a user's own code imports from elsewhere.
CALLED = [
    *sorted((ROOT / "spec").glob("*.py")),
    ROOT / "checkers" / "check.py",
    ROOT / "cli" / "contracttest.py",
    ROOT / "diff" / "api.py",
    *(path for path in FILES if path.is_relative_to(ROOT / "examples")),
]
#: Docstrings of what restates something from elsewhere: a format, a format's casts, engines.
SOURCED = {
    "spec/builtin.py": {"builtin"},
    "spec/builtin_pages.py": {"builtin_pages"},
    "spec/builtin_rows.py": {"builtin_rows"},
    "spec/case.py": {"fingerprint"},
    "spec/dtypes.py": {"cast_bits"},
    "spec/invariants.py": {"invariants"},
    "checkers/interpreting.py": {"refusal"},
}


def exempt() -> set[Path]:
    """Return the files whose methods one table describes: ruff's own row for D102."""
    rows = PROJECT["tool"]["ruff"]["lint"]["per-file-ignores"]
    (row,) = [pattern for pattern, rules in rows.items() if "D102" in rules]
    folder, _, names = row.partition("/")
    return {
        path
        for name in names.strip("{}").removesuffix("}.py").split(",")
        for path in (ROOT / folder).glob(f"{name.removesuffix('}.py')}.py")
    }


def of(paths: list[Path]) -> Iterator[tuple[Named, dict[str, str]]]:
    """Yield every public name with the docstrings of its module."""
    for path in paths:
        names = list(public(path, ROOT))
        beside = {one.name: one.text for one in names}
        for one in names:
            yield one, beside


def test_every_public_name_has_a_docstring():
    tabled = exempt()
    assert len(tabled) > 8
    found = [
        fault
        for one, _ in of(FILES)
        for fault in docstrings.missing(one)
        if not (ROOT / one.file in tabled and one.owner is not None)
    ]
    assert found == []


def test_every_error_that_a_body_raises_is_named():
    assert {"KvproofError", "ContractError", "ChildEnded"} <= ERRORS
    assert [f for one, _ in of(FILES) for f in docstrings.unsaid_errors(one, ERRORS)] == []


def test_what_users_call_tells_shapes_dtypes_and_units():
    assert [f for one, beside in of(CALLED) for f in docstrings.unsaid_arguments(one, beside)] == []


def test_nothing_under_args_is_stale():
    assert [f for one, _ in of(FILES) for f in docstrings.stale_arguments(one)] == []


def test_what_is_taken_from_elsewhere_states_its_source():
    spec = [path for path in CALLED if path.parent.name == "spec"]
    assert [f for one, _ in of(spec) for f in docstrings.unsaid_sources(one)] == []
    for file, names in SOURCED.items():
        stated = {one.name for one in public(ROOT / file, ROOT) if "Source:" in one.text}
        assert names <= stated, file


SAMPLE = '''
"""A module."""


class Broken(KvproofError):
    """A fault."""


class Deeper(Broken):
    """A fault of it."""


@dataclass
class Shape:
    """A row.

    Args:
        width: elements of a row.
        gap: elements between {gap}.
    """

    width: int
    gap: int
    {field}


def write(cache: torch.Tensor, rows: int, limit: int):
    """Store rows.

    Args:
        cache: the cache{cache}.
        limit: {limit}.

    {raises}
    """
    def inner():
        raise NotImplementedError(1)
    if rows:
        raise Deeper("no")


def write_again(cache: torch.Tensor):
    """Store them again. {again}"""


{extra}
'''
PLAIN = {
    "gap": "rows",
    "field": "",
    "cache": ", [places, width], bf16",
    "limit": "seconds that it may take",
    "raises": "Raises:\n        Deeper: there are rows.",
    "again": "Arguments as for `write`.",
    "extra": "",
}


def faults(tmp_path: Path, **changed: str) -> list[str]:
    """Return the faults of the sample with some of its texts changed."""
    path = tmp_path / "sample.py"
    path.write_text(SAMPLE.format(**{**PLAIN, **changed}))
    errors = errors_of([path])
    names = list(public(path, tmp_path))
    beside = {one.name: one.text for one in names}
    found: list[str] = []
    for one in names:
        checks: tuple[Callable[[], Iterator[str]], ...] = (
            lambda one=one: docstrings.missing(one),
            lambda one=one: docstrings.unsaid_errors(one, errors),
            lambda one=one: docstrings.unsaid_arguments(one, beside),
            lambda one=one: docstrings.stale_arguments(one),
            lambda one=one: docstrings.unsaid_sources(one),
        )
        found += [fault.partition(" ")[2] for check in checks for fault in check()]
    return found


def test_a_whole_docstring_has_no_fault(tmp_path):
    assert faults(tmp_path) == []
    assert faults(tmp_path, raises="Raises KvproofError: there are rows.") == []
    assert faults(tmp_path, extra="def _private(): ...") == []


@pytest.mark.parametrize(
    ("changed", "said"),
    (
        ({"extra": "def bare(): ..."}, "bare: no docstring"),
        ({"extra": "class Bare: ..."}, "Bare: no docstring"),
        ({"extra": 'class Two:\n    """It."""\n    def go(self): ...'}, "Two.go: no docstring"),
        ({"extra": "if True:\n    def under(): ..."}, "under: no docstring"),
        ({"raises": ""}, "write: raises Deeper, and no Raises names it"),
        ({"raises": "Raises:\n        Broken: no."}, "write: raises Deeper, and no Raises"),
        (
            {"extra": 'class Made:\n    """A."""\n    def __init__(self):\n        raise Broken()'},
            "Made: raises Broken, and no Raises names it",
        ),
        ({"cache": ""}, "write: cache is a tensor: say its shape and dtype under Args"),
        ({"cache": ", [places, width]"}, "write: cache is a tensor: say its shape and dtype"),
        ({"cache": ", bf16"}, "write: cache is a tensor: say its shape and dtype under Args"),
        ({"again": "Quickly."}, "write_again: cache is a tensor: say its shape and dtype"),
        ({"again": "Arguments as for `gone`."}, "write_again: cache is a tensor"),
        ({"limit": "how long"}, "write: limit is a number: say under Args what it counts, or its"),
        ({"field": "more: str"}, "Shape: field more is not under Args"),
        ({"limit": "seconds\n        old: gone"}, "write: old is under Args, and there is no such"),
        (
            {"again": "As vLLM does; arguments as `write`."},
            "write_again: names vLLM without a Sour",
        ),
    ),
)
def test_each_gap_is_told(tmp_path, changed, said):
    assert [fault[: len(said)] for fault in faults(tmp_path, **changed)][:1] == [said]


def test_a_field_that_says_no_unit_is_told(tmp_path):
    path = tmp_path / "one.py"
    path.write_text(
        '@dataclass\nclass One:\n    """It.\n\n    Args:\n        n: how.\n    """\n    n: int'
    )
    found = [f for one in public(path, tmp_path) for f in docstrings.unsaid_arguments(one, {})]
    assert found == ["one.py:2 One: n is a number: say under Args what it counts, or its unit"]
