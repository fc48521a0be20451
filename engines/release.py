"""Finding one released file of an engine on the user's package index, and downloading it."""

from __future__ import annotations

import logging
import ssl
from bisect import bisect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import httpx2
from packaging.version import Version
from unearth import Link, Package, PackageFinder
from unearth.auth import MultiDomainBasicAuth
from unearth.errors import HashMismatchError, UnpackError
from unearth.fetchers import Fetcher
from unearth.fetchers.sync import PyPIClient

from ..spec.errors import KvproofError
from .index import IndexSettings

#: A download that breaks off is begun again this many times in all.
TRIES = 3

_OFFLINE_MEND = "connect, or name a filled cache with KVPROOF_CACHE"

#: Called with the bytes received so far and the size of the file, None where it is not told.
Report = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Listing:
    """What the index lists of one project.

    Args:
        packages: every file with a version, of any platform and Python, yanked ones too.
        faults: one sentence for each source that could not be read.
        missing: sources that answered that they know no such project.
    """

    packages: tuple[Package, ...]
    faults: tuple[str, ...]
    missing: tuple[str, ...]


class _Complaints(logging.Handler):
    """Keeps what the finder only warns of: a source that it skipped."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one warning."""
        self.lines.append(record.getMessage())


class ReleaseIndex:
    """The user's package index, open for requests. Nothing it hands out is run or imported."""

    def __init__(self, settings: IndexSettings, client: PyPIClient) -> None:
        """Use `opened` instead, which closes the client."""
        self._client = client
        self._finders: list[tuple[str, PackageFinder]] = []
        if not settings.no_index:
            # A finder without sources asks the index that installers use when none is set.
            own = (settings.index_url,) if settings.index_url else ()
            self._add(index_urls=own)
            for url in settings.extra_index_urls:
                self._add(index_urls=(url,))
        for place in settings.find_links:
            self._add(find_links=(place,))

    def _add(self, *, index_urls: tuple[str, ...] = (), find_links: tuple[str, ...] = ()) -> None:
        # httpx2's client is one; only its parameter lists are longer.
        client = cast("Fetcher", self._client)
        finder = PackageFinder(
            client, index_urls=index_urls, find_links=find_links, ignore_compatibility=True
        )
        place = finder.sources[0]["url"]
        self._finders.append((Link(place).redacted if "://" in place else place, finder))

    def listing(self, project: str) -> Listing:
        """Return what all sources list of a project; a source that fails is told, not raised."""
        packages: list[Package] = []
        faults: list[str] = []
        missing: list[str] = []
        for source, finder in self._finders:
            with _complaints() as complaints:
                try:
                    packages.extend(finder.find_all_packages(project, allow_yanked=True))
                except httpx2.HTTPError as fault:
                    faults.append(f"{source} ({fault or type(fault).__name__})")
                except (ValueError, OSError, httpx2.InvalidURL) as fault:
                    faults.append(f"{source} (not an index: {fault})")
            for line in complaints.lines:
                (missing if "Client Error(404)" in line else faults).append(line)
        named = tuple(package for package in packages if package.version)
        return Listing(named, tuple(faults), tuple(missing))

    def find(self, project: str, version: str) -> Package:
        """Return one file of exactly this version: a wheel before an sdist, of any platform.

        Which wheel is taken depends on file names alone, so that machines agree; a local file goes
        before a remote one of the same name.

        Raises:
            KvproofError: the version or the project is not listed, or no source could be read.
        """
        listing = self.listing(project)
        wanted = Version(version)
        fitting = [one for one in listing.packages if Version(one.version or "0") == wanted]
        if fitting:
            return max(
                fitting,
                key=lambda one: (one.link.is_wheel, one.link.filename, one.link.is_file),
            )
        where = f"{project}=={version}"
        if listing.faults:
            raise KvproofError(
                f"cannot reach the package index: {listing.faults[0]}",
                where=where,
                mend=_OFFLINE_MEND,
            )
        if not listing.packages:
            raise KvproofError(
                f"the package index lists no project {project!r}",
                where=where,
                mend="check the name, and index-url in `pip config list`",
            )
        known = sorted({Version(one.version or "0") for one in listing.packages})
        raise KvproofError(
            "the package index lists no such version",
            where=where,
            mend=f"nearest: {', '.join(map(str, nearest(wanted, known)))}",
        )

    def download(self, package: Package, folder: Path, report: Report) -> Path:
        """Return the path of a package's file: in `folder`, or where it lies if it is local.

        A sha256 that the index gives is compared; a download that breaks off is begun again.

        Raises:
            KvproofError: the hash differs, the download breaks off, or the index refuses it.
            OSError: the file cannot be written.
        """
        link = package.link
        hashes = link.hash_option or {}
        if "sha256" in hashes:
            hashes = {"sha256": hashes["sha256"]}
        finder = self._finders[0][1]
        fault: Exception | None = None
        for _ in range(TRIES):
            # What a broken download left behind must not be taken for the file.
            (folder / link.filename).unlink(missing_ok=True)
            try:
                return finder.download(
                    link,
                    folder,
                    hashes or None,
                    lambda link, completed, total: report(completed, total),  # by name
                )
            except httpx2.HTTPError as broken:
                fault = broken
            except HashMismatchError as differs:
                (expected,) = next(iter(differs.expected.values()))
                got = next(iter(differs.actual.values()))
                raise KvproofError(
                    f"the index promises hash {expected}, the file has {got}",
                    where=link.filename,
                    mend="fetch again; if it stays so, do not use this index",
                ) from differs
            except UnpackError as refused:
                raise KvproofError(
                    f"the index does not hand out the file ({refused})",
                    where=link.filename,
                    mend="check the index and its credentials",
                ) from refused
        raise KvproofError(
            f"the download breaks off: {fault or type(fault).__name__}",
            where=link.redacted,
            mend=_OFFLINE_MEND,
        ) from fault


@contextmanager
def opened(settings: IndexSettings) -> Generator[ReleaseIndex]:
    """Open the index; credentials come from its URL, from netrc or from a keyring.

    Raises:
        KvproofError: no source is set up, or a certificate file cannot be read.
    """
    if settings.no_index and not settings.find_links:
        raise KvproofError(
            "no-index is set and find-links is not",
            where="pip configuration",
            mend="set find-links or index-url",
        )
    index_urls = [url for url in (settings.index_url, *settings.extra_index_urls) if url]
    with PyPIClient(
        trusted_hosts=settings.trusted_hosts,
        verify=_verify(settings),
        timeout=settings.timeout,
        proxy=settings.proxy,
        follow_redirects=True,
        auth=MultiDomainBasicAuth(prompting=False, index_urls=index_urls),
    ) as client:
        yield ReleaseIndex(settings, client)


def nearest(wanted: Version, known: list[Version], count: int = 4) -> list[Version]:
    """Return up to `count` of the sorted `known` around `wanted`, half of them on each side."""
    place = bisect(known, wanted)
    first = max(0, min(place - count // 2, len(known) - count))
    return known[first : first + count]


def _verify(settings: IndexSettings) -> ssl.SSLContext | bool:
    if settings.cert is None and settings.client_cert is None:
        return True
    given = settings.cert
    folder = given is not None and Path(given).is_dir()
    try:
        context = ssl.create_default_context(
            cafile=None if folder else given, capath=given if folder else None
        )
        if settings.client_cert is not None:
            context.load_cert_chain(settings.client_cert)
    except OSError as fault:
        raise KvproofError(
            f"cannot read the certificates ({fault})",
            where=settings.client_cert or settings.cert or "",
            mend="correct cert or client-cert in pip's configuration",
        ) from fault
    return context


@contextmanager
def _complaints() -> Generator[_Complaints]:
    logger = logging.getLogger("unearth")
    handler = _Complaints()
    logger.addHandler(handler)
    propagate, logger.propagate = logger.propagate, False
    try:
        yield handler
    finally:
        logger.propagate = propagate
        logger.removeHandler(handler)
