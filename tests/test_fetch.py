"""Fetching from a package index made here: what is kept, what is refused, what a stop leaves."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import pytest
from kvproof.engines import cache, fetch, release
from kvproof.engines.cache import Entry
from kvproof.spec.errors import KvproofError
from rich.console import Console

from .fake_index import BODY, MEMBER, FakeIndex, sdist, wheel

WHEEL = "demo-1.0-cp39-cp39-win_arm64.whl"


@pytest.fixture
def index(monkeypatch, tmp_path):
    for name in tuple(os.environ):
        if name.startswith("PIP_") or name in {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("NETRC", os.devnull)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("KVPROOF_CACHE", str(tmp_path / "cache"))
    with FakeIndex() as server:
        monkeypatch.setenv("PIP_INDEX_URL", server.url)
        yield server


@pytest.fixture
def entry(tmp_path):
    return Entry(tmp_path / "cache" / "demo" / "1.0")


def get(version="1.0", files=(MEMBER,), engine="demo", console=None):
    return fetch.fetch(engine, version, files, console=console or Console(file=StringIO()))


def refused(**asked):
    with pytest.raises(KvproofError) as raised:
        get(**asked)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_keeps_only_the_named_file_of_a_wheel_for_another_platform(index, entry):
    content = wheel({MEMBER: BODY, "demo/other.py": b"other"})
    index.add("demo", WHEEL, content)
    got = get(engine="Demo")
    assert got.artifact == WHEEL
    assert got.sha256 == hashlib.sha256(content).hexdigest()
    assert got.files == (got.root / MEMBER,)
    assert got.files[0].read_bytes() == BODY
    stored = {path.name for path in entry.folder.rglob("*") if path.is_file()}
    assert stored == {"writer.py", "manifest.json"}


def test_a_cached_file_needs_no_index_and_an_uncached_one_does(index):
    index.add("demo", WHEEL, wheel({MEMBER: BODY, "demo/other.py": b"other"}))
    first = get()
    index.close()
    assert get() == first
    line = refused(files=("demo/other.py",))
    assert "cannot reach the package index" in line
    assert "KVPROOF_CACHE" in line


def test_a_glob_takes_its_folder_and_not_the_ones_below(index):
    names = ("demo/ops/a.py", "demo/ops/b.py", "demo/ops/deep/c.py", "demo/ops/a.txt")
    index.add("demo", WHEEL, wheel(dict.fromkeys(names, BODY)))
    got = get(files=("demo/ops/*.py",))
    assert [path.name for path in got.files] == ["a.py", "b.py"]
    assert "no file demo/none/*.py" in refused(files=("demo/none/*.py",))


def test_a_wheel_goes_before_an_sdist_which_serves_where_there_is_none(index):
    index.add("demo", "demo-1.0.tar.gz", sdist("demo-1.0", {MEMBER: b"sdist"}))
    index.add("demo", WHEEL, wheel({MEMBER: b"wheel"}))
    index.add("demo", "demo-1.1.tar.gz", sdist("demo-1.1", {MEMBER: b"sdist"}))
    assert get("1.0").files[0].read_bytes() == b"wheel"
    assert get("1.1").files[0].read_bytes() == b"sdist"


def test_runs_nothing_that_it_fetches(index, tmp_path):
    mark = tmp_path / "ran"
    code = f"open({str(mark)!r}, 'w').close()\n".encode()
    names = ("setup.py", "demo/__init__.py", MEMBER)
    index.add("demo", "demo-1.0.tar.gz", sdist("demo-1.0", dict.fromkeys(names, code)))
    got = get()
    assert not mark.exists()
    exec(compile(got.files[0].read_bytes(), "writer", "exec"))  # noqa: S102  # the mark can appear
    assert mark.exists()


@pytest.mark.parametrize(("digest", "fits"), ((None, True), ("", True), ("0" * 64, False)))
def test_compares_the_hash_that_the_index_promises(index, entry, digest, fits):
    """Take the right hash (None) and no hash (""), and refuse a wrong one."""
    index.add("demo", WHEEL, wheel({MEMBER: BODY}), digest=digest)
    if fits:
        assert get().files[0].read_bytes() == BODY
    else:
        assert f"promises hash {'0' * 64}" in refused()
        assert entry.load() == (None, "")


@pytest.mark.parametrize(("cut", "fits"), ((1, True), (release.TRIES, False)))
def test_begins_a_broken_download_again_but_not_for_ever(index, entry, cut, fits):
    index.add("demo", WHEEL, wheel({MEMBER: BODY}), digest="", cut=cut)
    if fits:
        assert get().files[0].read_bytes() == BODY
    else:
        assert "breaks off" in refused()
        assert entry.load() == (None, "")


def test_an_archive_that_ends_early_is_damaged(index):
    content = wheel({MEMBER: BODY})
    index.add("demo", WHEEL, content[: len(content) // 2])
    assert "damaged archive" in refused()
    index.add("demo", WHEEL, content)
    assert get().files[0].read_bytes() == BODY


def test_names_the_nearest_versions_of_an_unknown_one(index):
    for number in range(6):
        index.add("demo", f"demo-1.{number}-py3-none-any.whl", wheel({MEMBER: BODY}))
    assert get("1.3.0").version == "1.3.0"
    assert "nearest: 1.2, 1.3, 1.4, 1.5" in refused(version="1.3.1")


def test_tells_an_unknown_project_from_an_index_that_fails(index):
    assert "lists no project 'demo'" in refused()
    index.status["demo"] = 503
    assert "cannot reach the package index" in refused()


def test_no_network_is_one_line(index, monkeypatch):
    index.add("demo", WHEEL, wheel({MEMBER: BODY}))
    with FakeIndex() as closed:
        monkeypatch.setenv("PIP_INDEX_URL", closed.url)
    assert "cannot reach the package index" in refused()
    assert not fetch.index_reachable("demo")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.url)
    assert get().files[0].read_bytes() == BODY
    assert fetch.index_reachable("demo")


def test_find_links_serve_where_no_index_is_to_be_asked(index, monkeypatch, tmp_path):
    links = tmp_path / "links"
    links.mkdir()
    index.add("demo", WHEEL, wheel({MEMBER: b"index"}))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert "no-index is set" in refused()
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    assert "lists no project 'demo'" in refused()
    (links / WHEEL).write_bytes(wheel({MEMBER: b"links"}))
    assert get().files[0].read_bytes() == b"links"
    assert (links / WHEEL).exists()


def test_credentials_come_from_netrc(index, monkeypatch, tmp_path):
    index.add("demo", WHEEL, wheel({MEMBER: BODY}))
    index.password = "user:word"  # noqa: S105  # of this test's own server
    assert "401" in refused()
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login user password word\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    assert get().files[0].read_bytes() == BODY


@pytest.mark.parametrize("damage", ("change", "remove", "manifest"))
def test_a_damaged_cache_is_seen_and_mended(index, entry, damage):
    index.add("demo", WHEEL, wheel({MEMBER: BODY}))
    path = get().files[0]
    said = StringIO()
    get(console=Console(file=said))
    assert not said.getvalue()
    if damage == "change":
        path.write_bytes(BODY + b" ")
    elif damage == "remove":
        path.unlink()
    else:
        (entry.folder / "manifest.json").write_text("{")
    assert get(console=Console(file=said)).files[0].read_bytes() == BODY
    assert "in the cache is damaged" in said.getvalue()


KILLED = """
    import os, signal, sys
    from kvproof.engines import cache, fetch
    count, replace = 0, os.replace
    def killing(source, target):
        global count
        count += 1
        if count == int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
    cache.os.replace = killing
    fetch.fetch("demo", "1.0", tuple(sys.argv[2:]))
"""


def child(*args):
    """Start a fetch in a process of its own, killed at the n-th file it puts in place."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = (sys.executable, "-c", textwrap.dedent(KILLED), *args)
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("moment", range(5))
def test_a_kill_leaves_what_was_there_and_the_next_fetch_goes_on(index, entry, moment):
    """Kill at the download (0), at each of three files and at their manifest."""
    more = ("demo/b.py", "demo/c.py")
    index.add("demo", WHEEL, wheel(dict.fromkeys((MEMBER, *more), BODY)))
    before = get()
    index.hold = moment == 0
    process = child(str(moment), *more)
    if index.hold:
        index.held.wait()
        process.kill()
        index.hold = False
        index.go.set()
    assert process.wait() == -9
    assert any(entry.folder.glob(".fetch-*"))
    assert get() == before
    assert [path.read_bytes() for path in get(files=more).files] == [BODY, BODY]
    assert not any(entry.folder.glob(".fetch-*"))


def test_two_fetches_at_once_download_once(index):
    index.add("demo", WHEEL, wheel({MEMBER: BODY}))
    with ThreadPoolExecutor(4) as pool:
        results = [job.result() for job in [pool.submit(get) for _ in range(4)]]
    assert len(set(results)) == 1
    assert index.downloads == 1


@pytest.mark.parametrize("where", ("download", "store"))
@pytest.mark.parametrize("code", (errno.ENOSPC, errno.EROFS))
def test_a_full_disk_is_one_line_and_leaves_the_cache(index, monkeypatch, entry, where, code):
    """Tell a full disk from one that cannot be written, and keep what was stored."""
    index.add("demo", WHEEL, wheel({MEMBER: BODY, "demo/other.py": BODY}))
    before = get()

    def fails(*_args):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        if where == "download":
            patch.setattr(release.ReleaseIndex, "download", fails)
        else:
            patch.setattr(cache, "_write", fails)
        line = refused(files=("demo/other.py",))
    assert ("no space left" in line) == (code == errno.ENOSPC)
    assert "KVPROOF_CACHE" in line
    assert get() == before
    assert not any(entry.folder.glob(".fetch-*"))


def test_a_cache_that_is_a_file_is_one_line(index, monkeypatch, tmp_path):
    index.add("demo", WHEEL, wheel({MEMBER: BODY}))
    (tmp_path / "file").touch()
    monkeypatch.setenv("KVPROOF_CACHE", str(tmp_path / "file"))
    assert "cannot use the cache" in refused()


@pytest.mark.parametrize("terminal", (True, False))
def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere(index, terminal):
    index.add("demo", WHEEL, wheel({MEMBER: BODY}))
    said = StringIO()
    get(console=Console(file=said, force_terminal=terminal, width=40))
    lines = f"fetching demo 1.0\nkept 1 file of {WHEEL}\n"
    assert ("\x1b[" in said.getvalue()) == terminal
    assert (said.getvalue() == lines) != terminal


@pytest.mark.engine
def test_fetches_a_released_writer(monkeypatch, tmp_path):
    monkeypatch.setenv("KVPROOF_CACHE", str(tmp_path))
    if not fetch.index_reachable("sglang"):
        pytest.skip("the configured package index cannot be reached or lists no sglang")
    name = "sglang/kernels/ops/kvcache/mla_buffer.py"
    got = get("0.5.19", (name,), "sglang")
    assert got.files == (Path(got.root, *name.split("/")),)
    assert b"reserved_skip_index" in got.files[0].read_bytes()
    assert "no file sglang/none.py" in refused(
        version="0.5.19", files=("sglang/none.py",), engine="sglang"
    )
