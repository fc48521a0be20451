"""pip's configuration, as the fetcher reads it."""

from __future__ import annotations

import os
import sys

import pytest
from kvproof.engines import index
from kvproof.engines.index import IndexSettings, read_settings
from kvproof.spec.errors import KvproofError


@pytest.fixture
def files(monkeypatch, tmp_path):
    """Give the places of a system, a user and a named file, and read no other."""
    places = {name: tmp_path / f"{name}.conf" for name in ("system", "user", "named")}

    def found(env):
        named = [places["named"]] if "PIP_CONFIG_FILE" in env else []
        return [places["system"], places["user"], *named]

    monkeypatch.setattr(index, "_files", found)
    return places


def test_nothing_set_up_leaves_the_choice_to_the_finder(files):
    assert read_settings({}) == IndexSettings()
    assert read_settings({"PIP_INDEX_URL": ""}) == IndexSettings()
    assert read_settings({"PIP_INDEX_URL": "u"}) == IndexSettings(index_url="u")


def test_later_files_and_variables_win(files):
    files["system"].write_text("[global]\nindex-url = system\ncert = system\n")
    assert read_settings({}).index_url == "system"
    files["user"].write_text("[global]\nindex_url = user\n")
    assert read_settings({}).index_url == "user"
    assert read_settings({}).cert == "system"
    files["named"].write_text("[global]\nindex-url = named\n")
    assert read_settings({"PIP_CONFIG_FILE": "x"}).index_url == "named"
    assert read_settings({"PIP_CONFIG_FILE": "x", "PIP_INDEX_URL": "v"}).index_url == "v"


def test_the_download_section_wins_over_the_global_one_of_a_later_file(files):
    files["system"].write_text("[download]\nindex-url = download\n")
    files["user"].write_text("[global]\nindex-url = user\n[install]\nindex-url = install\n")
    assert read_settings({}).index_url == "download"


def test_lists_are_split_at_white_space(files):
    files["user"].write_text("[global]\nextra-index-url =\n    one\n    two\ntrusted-host = h:1\n")
    settings = read_settings({"PIP_FIND_LINKS": "a b"})
    assert settings.extra_index_urls == ("one", "two")
    assert settings.find_links == ("a", "b")
    assert settings.trusted_hosts == ("h:1",)


@pytest.mark.parametrize(("word", "is_set"), (("1", True), ("Yes", True), ("0", False)))
def test_no_index_is_a_switch(files, word, is_set):
    assert read_settings({"PIP_NO_INDEX": word}).no_index == is_set


def test_a_certificate_of_pip_goes_before_one_of_requests(files):
    requests = {"REQUESTS_CA_BUNDLE": "requests"}
    assert read_settings(requests).cert == "requests"
    assert read_settings({**requests, "PIP_CERT": "pip"}).cert == "pip"


@pytest.mark.parametrize("name", ("PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT"))
def test_a_timeout_is_a_number(files, name):
    assert read_settings({name: "180"}).timeout == 180
    with pytest.raises(KvproofError, match="timeout 'soon' is not a number"):
        read_settings({name: "soon"})


def test_a_malformed_file_is_named(files):
    files["user"].write_text("[global]\nindex-url = user\n")
    assert read_settings({}).index_url == "user"
    files["user"].write_text("index-url = user\n")
    with pytest.raises(KvproofError, match=r"user\.conf: not a pip configuration file"):
        read_settings({})


@pytest.mark.skipif(sys.platform != "linux", reason="the places are those of Linux")
def test_looks_where_pip_does(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    own = tmp_path / ".config" / "pip" / "pip.conf"
    named = tmp_path / "named.conf"
    assert own in index._files({})
    assert own in index._files({"PIP_CONFIG_FILE": str(named)})
    named.touch()
    assert own not in index._files({"PIP_CONFIG_FILE": str(named)})
    assert index._files({"PIP_CONFIG_FILE": str(named)})[-1] == named
    assert index._files({"PIP_CONFIG_FILE": os.devnull}) == []
