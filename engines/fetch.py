"""Fetching single source files of a released engine. Nothing is installed, built or imported."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock, Timeout
from packaging.utils import canonicalize_name
from packaging.version import Version
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from ..spec.errors import KvproofError
from .archive import matches, read_members
from .cache import Entry, Manifest, cache_directory
from .index import read_settings
from .release import ReleaseIndex, Report, opened


@dataclass(frozen=True)
class FetchedEngine:
    """Files of one release, in the cache.

    Args:
        root: folder that holds the engine's package folders.
        version: as PEP 440 prints it.
        artifact: file name of the wheel or sdist.
        sha256: hash of that file.
        files: the files asked for, sorted.
    """

    root: Path
    version: str
    artifact: str
    sha256: str
    files: tuple[Path, ...]


def fetch(
    engine: str, version: str, files: tuple[str, ...], *, console: Console | None = None
) -> FetchedEngine:
    """Return the named files of a release, from the cache or from the package index.

    The index is the one that pip is configured for. The whole wheel (or sdist) is downloaded,
    because its hash covers the whole; only the files are kept. Stopping at any moment leaves the
    cache as it was, and files that differ from what was stored are fetched again.

    Args:
        engine: distribution name.
        version: exact version.
        files: paths inside the wheel, or globs in which `*` never spans a "/".
        console: where progress is told; None means standard error.

    Raises:
        KvproofError: the release or a file is not found, the index or the disk fails, or the
            archive is not what the index promises.
    """
    name, exact = canonicalize_name(engine), str(Version(version))
    told = Console(stderr=True) if console is None else console
    entry = Entry(cache_directory() / name / exact)
    try:
        manifest, _ = entry.load()
        if manifest is None or not set(files) <= set(manifest.patterns):
            entry.folder.mkdir(parents=True, exist_ok=True)
            with _locked(entry, told):
                manifest = _filled(entry, name, exact, files, told)
    except OSError as fault:
        raise _disk_error(fault, entry.folder) from fault
    chosen = tuple(entry.root / path for path in manifest.chosen(files))
    return FetchedEngine(entry.root, exact, manifest.artifact, manifest.sha256, chosen)


def index_reachable(project: str = "sglang") -> bool:
    """Return whether the configured package index answers and lists a file of `project`."""
    try:
        with opened(read_settings()) as index:
            return bool(index.listing(project).packages)
    except KvproofError:
        return False


def _filled(
    entry: Entry, name: str, version: str, files: tuple[str, ...], console: Console
) -> Manifest:
    """Fill an entry whose lock is held, and return its manifest."""
    entry.sweep()
    manifest, damage = entry.load()
    if damage:
        _say(console, f"{name} {version} in the cache is damaged ({damage}); fetching it again")
        entry.clear()
    if manifest is not None and set(files) <= set(manifest.patterns):
        return manifest
    kept = manifest.patterns if manifest is not None else ()
    patterns = tuple(dict.fromkeys((*kept, *files)))
    with (
        TemporaryDirectory(prefix=entry.work_prefix, dir=entry.folder) as work,
        opened(read_settings()) as index,
    ):
        archive = _downloaded(index, name, version, Path(work), console)
        contents = read_members(archive, patterns)
        for pattern in files:
            if not any(matches(path, pattern) for path in contents):
                raise KvproofError(
                    f"no file {pattern}", where=archive.name, mend="check the path and the version"
                )
        stated = Manifest(archive.name, _sha256(archive), patterns, {})
        finished = entry.store(stated, contents, Path(work))
    count = len(contents)
    _say(console, f"kept {count} file{'s' if count > 1 else ''} of {archive.name}")
    return finished


def _downloaded(index: ReleaseIndex, name: str, version: str, work: Path, console: Console) -> Path:
    package = index.find(name, version)
    with _progress(console, f"{name} {version}") as report:
        return index.download(package, work, report)


@contextmanager
def _progress(console: Console, title: str) -> Generator[Report]:
    if not console.is_terminal:
        _say(console, f"fetching {title}")
        yield lambda _completed, _total: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"fetching {title}", total=None)

        def report(completed: int, total: int | None) -> None:
            progress.update(task, completed=completed, total=total)

        yield report


@contextmanager
def _locked(entry: Entry, console: Console) -> Generator[None]:
    lock = FileLock(entry.lock_file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        title = f"{entry.folder.parent.name} {entry.folder.name}"
        _say(console, f"waiting for another kvproof that fetches {title}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _disk_error(fault: OSError, folder: Path) -> KvproofError:
    full = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
    if fault.errno in full:
        return KvproofError(
            "no space left for fetched engines",
            where=str(folder),
            mend="free some space, or set KVPROOF_CACHE to a folder on another disk",
        )
    return KvproofError(
        f"cannot use the cache ({fault.strerror or fault})",
        where=fault.filename if isinstance(fault.filename, str) else str(folder),
        mend="set KVPROOF_CACHE to a folder that can be written",
    )
