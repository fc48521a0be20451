"""Targets as a person writes them."""

from __future__ import annotations

import pytest
from kvproof.engines.catalogue import ENGINES
from kvproof.engines.target import Target, parse_target
from kvproof.spec.errors import KvproofError


@pytest.mark.parametrize(
    "text", ("sglang==0.5.23", "SGLang == 0.5.23", " sglang==0.5.23 ", "sglang==v0.5.23")
)
def test_reads_an_engine_and_a_version(text):
    assert parse_target(text) == Target("sglang", "0.5.23")
    assert str(parse_target(text)) == "sglang==0.5.23"


def test_a_version_need_not_be_catalogued():
    assert parse_target("sglang==99.post1").version == "99.post1"


@pytest.mark.parametrize(
    "text",
    (
        "",
        "==0.5.23",
        "sglang=0.5.23",
        "sglang>=0.5.23",
        "sglang===0.5.23",
        "sglang==0.5.*",
        "sglang==0.5.23,==0.5.23",
        "sglang[all]==0.5.23",
        "sglang==0.5.23; python_version > '3'",
        "sglang@https://host/sglang.whl",
        "sglang==new",
    ),
)
def test_refuses_what_is_not_one_exact_version(text):
    with pytest.raises(KvproofError, match=r"write it as engine==version, e\.g\. sglang==0\.5\.23"):
        parse_target(text)


def test_an_unknown_engine_is_told_the_known_ones():
    with pytest.raises(KvproofError, match=r"unknown engine 'none' - known engines: .*sglang"):
        parse_target("none==1")


def test_a_missing_version_is_told_the_catalogued_ones():
    with pytest.raises(KvproofError) as raised:
        parse_target("sglang")
    assert all(f"sglang=={release}" in str(raised.value) for release in ENGINES["sglang"].releases)
