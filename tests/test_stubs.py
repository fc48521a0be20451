"""Stubs answer no, switches answer what they are told, and neither leaks out of its block."""

from __future__ import annotations

import importlib
import sys

import pytest
from kvproof.checkers.stubs import StubSpace
from kvproof.spec.errors import KvproofError


@pytest.fixture
def module():
    """Give a stubbed module deep in an absent package, inside its space."""
    with StubSpace(["absent"], switches={"absent.a.b.size": ("value", 4)}):
        yield importlib.import_module("absent.a.b")


def test_a_stub_answers_no(module):
    stub = module.anything
    assert not stub
    assert not stub.deep.er()
    assert list(stub) == []
    assert len(stub) == 0
    assert 1 not in stub
    assert not stub[3]
    assert not (stub >= (9, 0))
    assert not isinstance(3, stub)
    with stub as inner:
        assert not inner
    assert f"{stub:>4}" == "<stub absent.a.b.anything>"
    assert module.anything is stub


def test_a_switch_is_the_only_yes(module):
    assert module.size == 4
    assert not module.sizes


def test_triton_is_handed_on_by_whatever_module(module):
    import triton
    import triton.language

    assert module.triton is triton
    assert module.tl is triton.language
    assert not module.triton_utils
    with StubSpace(["absent"], switches={"absent.tl": ("value", 3)}):
        assert importlib.import_module("absent").tl == 3


def test_a_stub_decorates_and_is_a_base(module):
    def function():
        return 7

    assert module.register(function) is function
    assert module.register(name="x")(function) is function

    class Mine(module.Base, module.Other, keyword=1):
        def own(self):
            return 5

    assert Mine(1, two=2).own() == 5
    assert not Mine().inherited()


def test_a_stub_is_no_number(module):
    with pytest.raises(TypeError, match=r"absent\.a\.b\.count is a stub .* switch"):
        range(module.count)


def test_dunder_names_are_missing(module):
    assert not hasattr(module.anything, "__triton_builtin__")
    assert not hasattr(module, "__file__")


def test_only_the_roots_are_stubbed():
    with StubSpace(["absent"]):
        assert importlib.util.find_spec("absent.x") is not None
        assert importlib.util.find_spec("absentee") is None
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("json.absent")


def test_nothing_leaks_out_of_the_block():
    finders = list(sys.meta_path)
    space = StubSpace(["json"])
    real = importlib.import_module("json")
    with space:
        stubbed = importlib.import_module("json")
        assert not stubbed.dumps
    assert sys.modules["json"] is real
    assert sys.meta_path == finders
    with space:
        assert importlib.import_module("json") is stubbed


@pytest.mark.parametrize(
    ("switch", "expected"),
    (
        (("value", [9, 0]), (9, 0)),
        (("call", False), False),
        (("call", [1.5, 2.5]), (1.5, 2.5)),
        (("object", {"a": {"b": 3}}), 3),
        (("call-object", {"a": {"b": 3}}), 3),
    ),
)
def test_switch_forms(switch, expected):
    with StubSpace(["absent"], switches={"absent.it": switch}):
        it = importlib.import_module("absent").it
        got = it(1, key=2) if switch[0].startswith("call") else it
        assert (got.a.b if switch[0].endswith("object") else got) == expected


@pytest.mark.parametrize("switch", (("valve", 1), ("object", 3), ("dtype", "f9")))
def test_wrong_switch_forms(switch):
    with pytest.raises(KvproofError):
        StubSpace(["absent"], switches={"absent.it": switch})


def test_a_switch_below_a_call():
    path = "absent.get_parallel().size"
    with StubSpace(["absent"], switches={path: ("value", 8)}):
        assert importlib.import_module("absent").get_parallel().size == 8
        assert not importlib.import_module("absent").get_parallel().rank


def test_a_switch_on_a_real_attribute_is_put_back():
    json = importlib.import_module("json")
    dumps = json.dumps
    with StubSpace([], switches={"json.dumps": ("call", "no")}):
        assert json.dumps({}) == "no"
    assert json.dumps is dumps


def test_a_switch_on_nothing_is_refused():
    json = importlib.import_module("json")
    dumps = json.dumps
    switches = {"json.dumps": ("call", "no"), "json.dump_s": ("call", 1)}
    with (
        pytest.raises(KvproofError, match=r"json\.dump_s: this switch names nothing"),
        StubSpace([], switches=switches),
    ):
        pass
    assert json.dumps is dumps
