"""One file is loaded; the engine around it never runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from kvproof.checkers.loading import ModuleSource, load_module
from kvproof.spec.errors import KvproofError

WRITERS = Path(__file__).parent / "fixtures" / "writers"
ENGINE = ModuleSource(file="toyengine/ops/writer.py", root=str(WRITERS / "engine"))


def test_an_engine_file_loads_without_its_engine():
    loaded = load_module(ENGINE)
    assert loaded.module.__name__ == "toyengine.ops.writer"
    assert str(loaded.module.KIND) == "torch.float32"
    assert loaded.module.registered() == "itself"
    assert not loaded.module.absent_vendor_library
    assert loaded.module.absent_optional_library is None
    assert not loaded.module.LANES
    assert not [name for name in sys.modules if name.startswith(("toyengine", "absent_"))]


def test_the_engine_would_not_load_by_itself(monkeypatch):
    monkeypatch.syspath_prepend(str(WRITERS / "engine"))
    with pytest.raises(KvproofError, match=r"importing it fails"):
        load_module(ModuleSource(file=str(ENGINE.path)))


def test_a_real_module_is_loaded_and_no_other():
    real = ModuleSource(file=ENGINE.file, root=ENGINE.root, real=("toyengine.layout",))
    assert load_module(real).module.LANES == 32
    wrong = ModuleSource(file=ENGINE.file, root=ENGINE.root, real=("toyengine.lay",))
    with pytest.raises(KvproofError, match=r"no module toyengine\.lay"):
        load_module(wrong)


def test_switches_reach_module_level_values():
    loaded = load_module(ENGINE, {"toyengine.platform.is_fnuz": ("call", True)})
    assert str(loaded.module.KIND) == "torch.float64"


def test_a_users_file_loads_with_its_folder_and_no_stubs():
    loaded = load_module(ModuleSource(file=str(WRITERS / "rows.py")))
    assert loaded.module.next_lane(1) == 2
    assert str(WRITERS) not in sys.path
    assert "lanes" not in sys.modules
    assert loaded.shown(str(WRITERS / "rows.py")).endswith("rows.py")


def test_a_users_file_with_a_missing_import_is_refused_unless_stubbed(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("x = 1\nimport absent_library\ndef f(): return absent_library.yes\n")
    with pytest.raises(KvproofError, match=r"mine\.py:2: importing it fails: ModuleNotFoundError"):
        load_module(ModuleSource(file=str(file)))
    loaded = load_module(ModuleSource(file=str(file), stubs=("absent_library",)))
    assert not loaded.function("f")()


@pytest.mark.parametrize(
    ("text", "message"),
    (
        (None, r"cannot read the file \(No such file or directory\) - check the path"),
        ("x = 1\ndef broken(:\n", r"mine\.py:2: syntax error"),
        ("x = 1\0", r"null byte"),
        (
            "def f():\n  raise SystemExit(3)\n\nf()\n",
            r"mine\.py:2: importing it fails: SystemExit: 3",
        ),
    ),
)
def test_files_that_cannot_load(tmp_path, text, message):
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(KvproofError, match=message) as caught:
        load_module(ModuleSource(file=str(file)))
    assert "\n" not in str(caught.value)


def test_a_missing_function_is_told_with_its_neighbours():
    loaded = load_module(ModuleSource(file=str(WRITERS / "rows.py")))
    assert loaded.function("write_rows") is loaded.module.write_rows
    with pytest.raises(KvproofError, match=r"no function 'write_row' - nearest: write_rows"):
        loaded.function("write_row")
    with pytest.raises(KvproofError, match=r"nothing of a similar name"):
        loaded.function("qqq")


def test_what_is_no_function_is_refused():
    loaded = load_module(ENGINE)
    assert loaded.function("fill") is loaded.module.fill
    with pytest.raises(KvproofError, match=r"'supports_wait' is imported from a stubbed module"):
        loaded.function("supports_wait")
    with pytest.raises(KvproofError, match=r"'KIND' is not callable"):
        loaded.function("KIND")
