"""The house rules that a tool can hold: layout, packages, arrows between them, clean files."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("checkers", "cli", "diff", "engines", "examples", "spec")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINE_LIMIT = 300


def long_files(folder: Path) -> list[str]:
    return [
        path.name
        for path in folder.rglob("*.py")
        if len(path.read_text().splitlines()) > LINE_LIMIT
    ]


def packages_in(root: Path, folders: tuple[str, ...]) -> set[str]:
    return {
        ".".join(("kvproof", *path.parent.relative_to(root).parts))
        for folder in folders
        for path in (root / folder).rglob("*.py")
    }


def machine_words(text: str) -> list[str]:
    # Joined here, so that this file holds none of them itself. The package index is the user's
    # own setting, so no host of one is named either.
    folders = tuple(f"/{folder}/" for folder in ("work", "tmp/w", "root"))
    hosts = tuple(f"{name}.org" for name in ("pypi", "pythonhosted"))
    return [word for word in folders + hosts if word in text]


@cache
def distributions() -> Mapping[str, list[str]]:
    """Return which installed distributions own a module's name; asking takes a while."""
    return importlib.metadata.packages_distributions()


def undeclared(source: str, declared: set[str]) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    owners = distributions()
    return {
        name
        for name in names - sys.stdlib_module_names - {"kvproof"}
        if declared.isdisjoint(canonicalize_name(owner) for owner in owners.get(name, ()))
    }


def requirements() -> list[Requirement]:
    return [Requirement(text) for text in PROJECT["project"]["dependencies"]]


@pytest.mark.parametrize("folder", FOLDERS)
def test_code_files_are_short(folder):
    assert long_files(ROOT / folder) == []


def test_a_file_one_line_too_long_is_named(tmp_path):
    (tmp_path / "fits.py").write_text("x = 1\n" * LINE_LIMIT)
    (tmp_path / "long.py").write_text("x = 1\n" * (LINE_LIMIT + 1))
    assert long_files(tmp_path) == ["long.py"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_is_a_subpackage(folder):
    module = importlib.import_module(f"kvproof.{folder}")
    assert module.__file__ is not None
    assert Path(module.__file__).resolve() == ROOT / folder / "__init__.py"


def test_kvproof_itself_is_a_namespace():
    assert getattr(importlib.import_module("kvproof"), "__file__", None) is None
    assert importlib.util.find_spec("kvproof.tests") is None


def test_every_package_is_installed():
    assert packages_in(ROOT, FOLDERS) == set(PROJECT["tool"]["setuptools"]["packages"])


def test_a_new_subfolder_is_a_package(tmp_path):
    (tmp_path / "spec" / "deep").mkdir(parents=True)
    (tmp_path / "spec" / "deep" / "new.py").touch()
    assert packages_in(tmp_path, ("spec",)) == {"kvproof.spec.deep"}


def test_contracts_and_mapping_name_every_folder():
    top = {f"kvproof.{folder}" for folder in FOLDERS}
    mapping = {f"kvproof.{folder}": folder for folder in FOLDERS}
    linter = PROJECT["tool"]["importlinter"]
    arrows = next(contract for contract in linter["contracts"] if contract["id"] == "one-way")
    assert set(linter["root_packages"]) == top
    assert PROJECT["tool"]["setuptools"]["package-dir"] == mapping
    assert set(arrows["layers"]) == top - {"kvproof.engines", "kvproof.examples"}


ALLOWED = (
    ("cli", "from kvproof.diff import a"),
    ("cli", "from kvproof.engines import a"),
    ("diff", "from ..checkers import a"),
    ("checkers", "from ..spec import a"),
    ("engines", "from ..spec import a"),
    ("spec", "import numpy"),
    ("checkers", "import torch, triton, z3"),
    ("examples", "from ..cli import a"),
)
FORBIDDEN = (
    ("spec", "from ..checkers import a"),
    ("checkers", "from ..diff import a"),
    ("diff", "from kvproof.cli import a"),
    ("engines", "from ..checkers import a"),
    ("engines", "from ..diff import a"),
    ("checkers", "def f():\n    from ..engines import a"),
    ("diff", "from ..engines import a"),
    ("cli", "from ..examples import a"),
    ("spec", "import torch"),
)


def lint_imports(root: Path, writes: tuple[tuple[str, str], ...]) -> subprocess.CompletedProcess:
    for folder in FOLDERS:
        package = root / "kvproof" / folder
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "a.py").touch()
    for number, (folder, line) in enumerate(writes):
        (root / "kvproof" / folder / f"b{number}.py").write_text(line + "\n")
    linter = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [linter, "--no-logo", "--no-cache", ROOT / "pyproject.toml"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


def test_imports_along_the_arrows_are_kept(tmp_path):
    result = lint_imports(tmp_path, ALLOWED)
    assert result.returncode == 0, result.stdout + result.stderr
    # Two files a package, the extra ones, and the four packages of others that they import: the
    # linter read this tree, not the installed one.
    assert f"Analyzed {2 * len(FOLDERS) + len(ALLOWED) + 4} files" in result.stdout


@pytest.mark.parametrize(("folder", "line"), FORBIDDEN)
def test_an_import_against_an_arrow_is_caught(tmp_path, folder, line):
    result = lint_imports(tmp_path, ((folder, line),))
    assert result.returncode == 1
    assert re.search(rf"kvproof\.{folder}\.b0 -> \S+ \(l\.\d\)", result.stdout), result.stdout


def test_imports_are_declared():
    declared = {canonicalize_name(requirement.name) for requirement in requirements()}
    found = {
        str(path.relative_to(ROOT)): names
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if (names := undeclared(path.read_text(), declared))
    }
    assert found == {}


def test_an_undeclared_import_is_named():
    source = "import os\nimport z3\nfrom kvproof.spec import call\nfrom . import near\n"
    assert undeclared(source, {"z3-solver"}) == set()
    assert undeclared(source, {"torch"}) == {"z3"}


def test_dependencies_have_lower_bounds_only():
    operators = {
        requirement.name: {specifier.operator for specifier in requirement.specifier}
        for requirement in requirements()
    }
    assert operators == {name: {">="} for name in operators}


def test_constraints_pin_what_is_declared():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line]
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    versions = {
        canonicalize_name(pin.name): pin.specifier
        for pin in pins
        if pin.marker is None or pin.marker.evaluate()
    }
    for requirement in requirements():
        pinned = versions[canonicalize_name(requirement.name)]
        for pin in pinned:
            assert pin.operator in {"==", "<=", ">="}
            assert requirement.specifier.contains(pin.version), requirement.name


def test_tracked_files_name_no_machine():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: no list of tracked files")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    assert "pyproject.toml" in names
    found = {
        name: words
        for name in names
        if (words := machine_words((ROOT / name).read_text(errors="replace")))
    }
    assert found == {}


def test_a_machine_path_is_named():
    assert machine_words("framework/spec.py, /tmp/words/a") == []
    for folder in ("work", "tmp/w", "root"):
        assert machine_words(f"see /{folder}/spec.py") == [f"/{folder}/"]


@pytest.mark.parametrize(
    ("marked", "gpu", "skipped"), ((True, False, 1), (True, True, 0), (False, False, 0))
)
def test_gpu_tests_skip_without_a_gpu(monkeypatch, marked, gpu, skipped):
    spec = importlib.util.spec_from_file_location("house_conftest", ROOT / "tests/conftest.py")
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    cuda = SimpleNamespace(is_available=lambda: gpu)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, __version__="0"))
    added = []
    item = SimpleNamespace(get_closest_marker=lambda _: marked, add_marker=added.append)
    conftest.pytest_collection_modifyitems([item])
    assert len(added) == skipped
    assert all("no GPU" in mark.kwargs["reason"] for mark in added)
