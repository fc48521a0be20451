"""The catalogue: each entry holds together, and each release is spoken for once."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import fields, replace

import pytest
from kvproof.engines import catalogue
from kvproof.engines.catalogue import ENGINES, Row, Shard, configurations, modules, writers
from kvproof.engines.fetch import fetch, index_reachable
from kvproof.spec.builtin import builtin
from kvproof.spec.call import Switches
from kvproof.spec.dtypes import dtype
from kvproof.spec.errors import KvproofError
from packaging.specifiers import SpecifierSet
from packaging.version import Version

RELEASES = tuple(
    (engine.name, release) for engine in ENGINES.values() for release in engine.releases
)
WRITERS = tuple(writer for engine in ENGINES.values() for writer in engine.writers)
FORMS = {"value", "call", "object", "call-object"}


def named(writer):
    return f"{writer.name} {writer.module.versions}"


def faults_of_coverage(engine):
    """Return the (file, release) pairs that are spoken for by more or less than one entry."""
    count = Counter(
        (module.file, release)
        for module in engine.modules
        for release in engine.releases
        if module.covers(release)
    )
    pairs = {(module.file, release) for module in engine.modules for release in engine.releases}
    return sorted(pair for pair in pairs if count[pair] != 1)


def test_every_release_is_spoken_for_once():
    for engine in ENGINES.values():
        assert faults_of_coverage(engine) == []
        assert list(engine.releases) == sorted(engine.releases, key=Version)


def test_a_gap_and_an_overlap_are_seen():
    engine = ENGINES["sglang"]
    file = engine.modules[0].file
    gap = replace(engine, modules=engine.modules[1:])
    overlap = replace(engine, modules=(*engine.modules, replace(engine.modules[0])))
    assert faults_of_coverage(gap) == [(file, "0.5.16")]
    assert faults_of_coverage(overlap) == [(file, "0.5.16")]


def test_sglang_is_catalogued_from_0_5_16_to_0_5_23():
    assert ENGINES["sglang"].releases == tuple(f"0.5.{number}" for number in range(16, 24))
    with pytest.raises(KvproofError, match=r"sglang==0\.5\.15: no writer .* 0\.5\.16"):
        writers("sglang", "0.5.15")
    with pytest.raises(KvproofError, match="known engines: sglang"):
        modules("none", "1")


def test_a_release_is_found_however_it_is_written():
    assert catalogue.release("sglang", "0.5.23.0") == "0.5.23"
    assert modules("sglang", "0.5.23.0") == modules("sglang", "0.5.22")
    assert modules("sglang", "0.5.21") != modules("sglang", "0.5.22")


@pytest.mark.parametrize("writer", WRITERS, ids=named)
def test_an_entry_holds_together(writer):
    module = writer.module
    SpecifierSet(module.versions)
    assert module.file.removesuffix(".py").replace("/", ".") == module.module
    assert module.module.partition(".")[0] in module.stub_roots
    assert module in ENGINES[module.engine].modules
    assert builtin(writer.contract)
    assert all(getattr(writer.axes, field.name) for field in fields(writer.axes))
    assert len(set(configurations(writer))) == len(configurations(writer))
    assert len({one.label for one in configurations(writer)}) == len(configurations(writer))


@pytest.mark.parametrize("writer", WRITERS, ids=named)
def test_the_axes_fit_the_parameters_and_the_contract(writer):
    contract, parameters = builtin(writer.contract), writer.parameters
    arguments = {getattr(parameters, field.name) for field in fields(parameters)[:-1]}
    asked = {contract.slots.arg}
    asked |= {name for segment in contract.segments for name in (segment.source, segment.into)}
    assert asked <= arguments
    has_rope = any(segment.name == "rope" for segment in contract.segments)
    sharded = contract.owner.sentence != builtin("mla-row").owner.sentence
    for row in writer.axes.rows:
        assert row.nope > 0
        assert has_rope or not row.rope
        assert (row.cast is None) == (parameters.cast is None)
        assert row.source == row.cache or row.cast is not None
        assert dtype(row.cast or row.cache).size == dtype(row.cache).size
        assert dtype(row.source)
    for shard in writer.axes.shards:
        assert 0 <= shard.rank < shard.world
        assert sharded or shard.world == 1
    assert {dtype(name).kind for name in writer.axes.slots} == {"int"}


@pytest.mark.parametrize("writer", WRITERS, ids=named)
def test_switches_lie_below_the_stubbed_packages(writer):
    every: list[Switches] = [one.switches for one in configurations(writer)]
    every += [path.switches for path in writer.unproved]
    for switches in every:
        for path, (form, _) in switches.items():
            assert path.partition(".")[0] in writer.module.stub_roots
            assert form in FORMS


@pytest.mark.parametrize(("engine", "version"), RELEASES)
def test_writers_of_a_release_have_names_of_their_own(engine, version):
    names = [writer.name for writer in writers(engine, version)]
    assert names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("version", "absent", "cuda", "torch"),
    (("0.5.19", False, True, False), ("0.5.20", True, True, False), ("0.5.22", True, True, True)),
)
def test_sglang_branches_appear_where_the_releases_have_them(version, absent, cuda, torch):
    """Check: a rope of None from 0.5.20, the torch path from 0.5.22, the CUDA path always."""
    found = writers("sglang", version)
    rows = {row.rope for writer in found for row in writer.axes.rows}
    kinds = {path.kind for writer in found for path in writer.unproved}
    assert (None in rows) == absent
    assert kinds == {kind for kind, there in (("cuda", cuda), ("torch", torch)) if there}
    assert any(writer.launches == "torch" for writer in found) == torch


def test_a_label_tells_a_width_of_0_from_no_tensor():
    one = configurations(writers("sglang", "0.5.23")[0])[0]
    bare = replace(one, row=Row(512, None, "bf16", "bf16"), shard=Shard(1, 2))
    assert one.label == "nope 512 bf16, rope 64, i64 slots, before SM90"
    assert bare.label == "nope 512 bf16, no rope, i64 slots, rank 1 of 2, before SM90"
    assert replace(bare, row=Row(512, 0, "bf16", "bf16")).label != bare.label
    assert (bare.row.width, one.row.width) == (512, 576)


def keywords_of(tree, name):
    """Return the parameters of a module's function, and the names that it reads from outside."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
    return set()


@pytest.mark.engine
@pytest.mark.parametrize(("engine", "version"), RELEASES)
def test_the_released_file_has_these_functions_and_parameters(engine, version):
    """Parse the real file (nothing is imported): functions, keywords and imports are there."""
    try:
        got = fetch(engine, version, catalogue.files(engine, version))
    except KvproofError as fault:
        if index_reachable(engine):
            raise
        pytest.skip(str(fault))
    for writer in writers(engine, version):
        text = (got.root / writer.module.file).read_text()
        parameters = writer.parameters
        expected = {getattr(parameters, field.name) for field in fields(parameters)[:-1]} - {None}
        assert keywords_of(ast.parse(text), writer.callable) == expected
        assert keywords_of(ast.parse(text), writer.callable + "_") == set()
        for path in {path for one in configurations(writer) for path in one.switches}:
            assert path.rpartition(".")[2] in text
            owner = path.rpartition(".")[0].removesuffix(".current_platform.capabilities")
            assert owner in text
