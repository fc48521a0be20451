"""Where released engines are looked for: the package index that the user set up for pip."""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from ..spec.errors import KvproofError

_TRUE = {"1", "true", "yes", "on", "y", "t"}


@dataclass(frozen=True)
class IndexSettings:
    """The part of pip's configuration that finding and downloading a file needs.

    Args:
        index_url: the simple index; None means the one that installers use when none is set.
        extra_index_urls: further simple indexes.
        find_links: folders, files or pages that list archives.
        no_index: use `find_links` alone.
        cert: file of certificate authorities; None means the system's.
        client_cert: file of the client's own certificate.
        trusted_hosts: hosts (with or without a port) that need no certificate.
        proxy: proxy URL; None leaves it to the environment.
        timeout: seconds without an answer after which a request fails.
    """

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    cert: str | None = None
    client_cert: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    proxy: str | None = None
    timeout: float = 15.0


def read_settings(environment: Mapping[str, str] | None = None) -> IndexSettings:
    """Read pip's configuration files and its `PIP_*` variables, in pip's order.

    Later ones win: system, user and environment files, the file named by PIP_CONFIG_FILE, then
    the variables; in the files, section [download] over [global].

    Raises:
        KvproofError: a configuration file is malformed, or the timeout is not a number.
    """
    env = os.environ if environment is None else environment
    options = _file_options(env)
    for variable, value in env.items():
        if variable.startswith("PIP_") and value:
            options[_key(variable[len("PIP_") :])] = value
    timeout = options.get("timeout") or options.get("default-timeout") or "15"
    try:
        seconds = float(timeout)
    except ValueError as fault:
        raise KvproofError(
            f"timeout {timeout!r} is not a number", where="pip configuration", mend="give seconds"
        ) from fault
    return IndexSettings(
        index_url=options.get("index-url"),
        extra_index_urls=tuple(options.get("extra-index-url", "").split()),
        find_links=tuple(options.get("find-links", "").split()),
        no_index=options.get("no-index", "").lower() in _TRUE,
        cert=options.get("cert") or env.get("REQUESTS_CA_BUNDLE") or env.get("CURL_CA_BUNDLE"),
        client_cert=options.get("client-cert"),
        trusted_hosts=tuple(options.get("trusted-host", "").split()),
        proxy=options.get("proxy"),
        timeout=seconds,
    )


def _file_options(env: Mapping[str, str]) -> dict[str, str]:
    """Return the options of all configuration files, keys as pip spells them."""
    common: dict[str, str] = {}
    download: dict[str, str] = {}
    for path in _files(env):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as fault:
            raise KvproofError(
                "not a pip configuration file", where=str(path), mend="see `pip config debug`"
            ) from fault
        for section, options in (("global", common), ("download", download)):
            if parser.has_section(section):
                options.update({_key(name): value for name, value in parser.items(section)})
    return {name: value for name, value in {**common, **download}.items() if value}


def _files(env: Mapping[str, str]) -> list[Path]:
    """Return where pip looks for its configuration, weakest first."""
    named = env.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    name = "pip.ini" if sys.platform == "win32" else "pip.conf"
    shared = platformdirs.site_config_dir("pip", appauthor=False, multipath=True)
    files = [Path(folder) / name for folder in reversed(shared.split(os.pathsep))]
    if sys.platform != "win32":
        files.append(Path("/etc") / name)
    # As in pip, a file that is named and exists stands in for the user's own.
    if not (named and Path(named).exists()):
        home = Path.home()
        files.append(home / ("pip" if sys.platform == "win32" else ".pip") / name)
        files.append(home / ".config" / "pip" / name)
        files.append(
            Path(platformdirs.user_config_dir("pip", appauthor=False, roaming=True)) / name
        )
    files.append(Path(sys.prefix) / name)
    if named:
        files.append(Path(named))
    return files


def _key(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")
