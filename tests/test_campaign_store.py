"""The store: one owner, one target, one format, and what a full disk does."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest
from kvproof.diff.store import FILE, FORMAT, Store
from kvproof.spec.errors import KvproofError

TARGET = {"target": "sglang==0.5.23", "device": "cpu"}
OTHER = {"target": "sglang==0.5.19", "device": "cpu"}


def change(store, *statements):
    with store.transaction():
        for statement in statements:
            store.change(statement)


def test_what_is_committed_is_there_again(tmp_path):
    with Store(tmp_path, TARGET) as store:
        store.change("INSERT INTO jobs VALUES('w', 'l', 7, 1)")
    with Store(tmp_path, TARGET) as store:
        assert store.total() == 7


def test_half_a_transaction_is_not(tmp_path):
    with Store(tmp_path, TARGET) as store:
        with pytest.raises(KvproofError, match="cannot be used"):
            change(store, "INSERT INTO jobs VALUES('w', 'l', 7, 1)", "INSERT INTO nothing")
        assert store.total() == 0


def test_a_second_owner_is_refused(tmp_path):
    script = (
        "import sys; from pathlib import Path\n"
        "from kvproof.diff.store import Store\n"
        f"Store(Path(sys.argv[1]), {TARGET!r})\n"
    )
    with (
        Store(tmp_path, TARGET),
        pytest.raises(KvproofError, match="another campaign is running there"),
    ):
        Store(tmp_path, TARGET)
    with Store(tmp_path, TARGET):
        other = subprocess.run(
            [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False
        )
    assert "another campaign is running there" in other.stderr
    free = subprocess.run([sys.executable, "-c", script, tmp_path], check=False)
    assert free.returncode == 0


def test_another_target_is_refused(tmp_path):
    Store(tmp_path, TARGET).close()
    with pytest.raises(KvproofError, match=r"a campaign on sglang==0\.5\.23 - name another --dir"):
        Store(tmp_path, OTHER)
    with pytest.raises(KvproofError, match="with other options"):
        Store(tmp_path, {**TARGET, "device": "cuda"})
    Store(tmp_path, TARGET).close()


def test_a_newer_format_is_refused(tmp_path):
    Store(tmp_path, TARGET).close()
    base = sqlite3.connect(tmp_path / FILE)
    base.execute(f"PRAGMA user_version={FORMAT + 1}")
    base.close()
    with pytest.raises(KvproofError, match=r"newer kvproof .* update kvproof"):
        Store(tmp_path, TARGET)
    base = sqlite3.connect(tmp_path / FILE)
    base.execute(f"PRAGMA user_version={FORMAT}")
    base.close()
    Store(tmp_path, TARGET).close()


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / FILE).write_text("no database" * 1000)
    with pytest.raises(KvproofError, match="the campaign's file is damaged"):
        Store(tmp_path, TARGET)


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(KvproofError, match="cannot write it"):
        Store(tmp_path / "file", TARGET)


def test_a_full_disk_is_one_line_and_keeps_what_was_there(tmp_path):
    with Store(tmp_path, TARGET) as store:
        store.change("INSERT INTO jobs VALUES('w', 'l', 7, 1)")
        pages = store.rows("PRAGMA page_count")[0][0]
        store.rows(f"PRAGMA max_page_count={pages}")
        rows = (f"INSERT INTO jobs VALUES('{n}', '{'l' * 900}', 1, 1)" for n in range(1000))
        with pytest.raises(KvproofError, match="no space left on the disk"):
            change(store, *rows)
        assert store.total() == 7
    with Store(tmp_path, TARGET) as store:
        assert store.total() == 7


def test_a_stopped_run_of_the_same_budget_is_gone_on_with(tmp_path):
    with Store(tmp_path, TARGET) as store:
        run = store.begin_run("cases", 100)
        store.change("UPDATE runs SET cases=60 WHERE id=?", run.id)
    with Store(tmp_path, TARGET) as store:
        again = store.begin_run("cases", 100)
        assert (again.id, again.left) == (run.id, 40)
        other = store.begin_run("cases", 200)
        assert (other.id, other.left) == (run.id + 1, 200)
        store.change("UPDATE runs SET ended=1")
        assert store.begin_run("cases", 200).left == 200
