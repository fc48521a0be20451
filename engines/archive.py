"""Reading chosen files out of a wheel or an sdist, without unpacking the rest."""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath, PureWindowsPath

from ..spec.errors import KvproofError

#: Largest file taken from an archive, in bytes; engine sources are below 1 MiB.
LARGEST = 16 * 1024 * 1024

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    EOFError,
    RuntimeError,  # zipfile's word for an encrypted or unknown member
    UnicodeDecodeError,
)


def matches(path: str, pattern: str) -> bool:
    """Return whether `path` fits `pattern` part by part; `*` never spans a "/"."""
    parts, globs = path.split("/"), pattern.split("/")
    return len(parts) == len(globs) and all(map(fnmatchcase, parts, globs))


def read_members(archive: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of the regular files that fit one of `patterns`, by path.

    The top folder of an sdist is left off.

    Args:
        archive: a `.whl`, `.zip` or tar file.
        patterns: paths, or globs as `matches` reads them.

    Raises:
        KvproofError: the archive is damaged, holds a path that leaves the folder it is unpacked
            in, or a chosen member is a link or is larger than `LARGEST`.
    """
    wanted = tuple(patterns)
    try:
        if archive.suffix == ".whl" or zipfile.is_zipfile(archive):
            return _read_zip(archive, wanted, below_top=archive.suffix != ".whl")
        return _read_tar(archive, wanted)
    except _DAMAGE as fault:
        raise KvproofError(
            f"damaged archive ({fault})",
            where=archive.name,
            mend="fetch again; if it stays so, the index serves a broken file",
        ) from fault


def _read_zip(archive: Path, wanted: tuple[str, ...], *, below_top: bool) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        members = [member for member in opened.infolist() if not member.is_dir()]

        def read(index: int) -> bytes | None:
            member = members[index]
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                return None
            return _bounded(archive, member.filename, member.file_size, lambda: opened.read(member))

        names = [member.orig_filename for member in members]
        return _read(archive, names, wanted, read, below_top=below_top)


def _read_tar(archive: Path, wanted: tuple[str, ...]) -> dict[str, bytes]:
    with tarfile.open(archive) as opened:
        members = [member for member in opened.getmembers() if not member.isdir()]

        def read(index: int) -> bytes | None:
            member = members[index]
            stream = opened.extractfile(member) if member.isreg() else None
            if stream is None:
                return None
            return _bounded(archive, member.name, member.size, stream.read)

        return _read(archive, [member.name for member in members], wanted, read, below_top=True)


def _read(
    archive: Path,
    names: list[str],
    wanted: tuple[str, ...],
    read: Callable[[int], bytes | None],
    *,
    below_top: bool,
) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for name in names:
        _refuse_escape(archive, name)
    for index, name in enumerate(names):
        path = name.partition("/")[2] if below_top else name
        if any(matches(path, pattern) for pattern in wanted):
            content = read(index)
            if content is None:
                raise KvproofError(
                    f"{name} is not a regular file",
                    where=archive.name,
                    mend="do not use this archive",
                )
            contents[path] = content
    return contents


def _refuse_escape(archive: Path, name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    drive = PureWindowsPath(name).drive
    if path.is_absolute() or drive or ".." in path.parts or "\0" in name:
        raise KvproofError(
            f"the member {name!r} leaves the folder it is unpacked in",
            where=archive.name,
            mend="do not use this archive",
        )


def _bounded(archive: Path, name: str, size: int, read: Callable[[], bytes]) -> bytes:
    if size > LARGEST:
        raise KvproofError(
            f"{name} has {size} bytes, more than {LARGEST}",
            where=archive.name,
            mend="name a source file",
        )
    return read()
