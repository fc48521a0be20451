"""What a contract test passes to parameters that its contract does not speak of."""

from __future__ import annotations

import pytest
from kvproof.cli.configuring import configurations
from kvproof.cli.contracttest import contract_test
from kvproof.spec.call import CallRecipe, DTypeArg, ScalarArg
from kvproof.spec.errors import KvproofError
from kvproof.spec.recipe import recipe

SOURCE = """
def write(kv_buffer, loc, cache_k_nope, kind, scale, *, block=16): ...
def anything(kv_buffer, loc, cache_k_nope, **more): ...
"""
NEEDED = {"kind": "auto", "scale": None}


@pytest.fixture
def job(tmp_path):
    """Return the first job of a contract test that passes something."""
    (tmp_path / "mine.py").write_text(SOURCE)

    def made(passing, function="write"):
        test = contract_test(
            f"{tmp_path / 'mine.py'}::{function}",
            "mla-row-norope",
            dims={"NOPE": 8},
            passing=passing,
        )
        return configurations(test)[0][1]

    return made


def test_it_reaches_the_call_and_crosses_the_border_to_the_child(job):
    made = job({**NEEDED, "block": 32})
    call = recipe(made.instance, made.binding, pool=4, slots=(1,))
    scalars = {arg.name: arg.value for arg in call.args if isinstance(arg, ScalarArg)}
    assert scalars == {"kind": "auto", "scale": None, "block": 32}
    assert CallRecipe.from_json(call.to_json()) == call


def test_a_dtype_is_passed_by_its_short_name(job):
    made = job({"kind": ("dtype", "f8e4m3fn"), "scale": 1.5})
    assert made.binding.extra == (DTypeArg("kind", "f8e4m3fn"), ScalarArg("scale", 1.5))
    with pytest.raises(KvproofError, match=r"passing\['kind'\]: unknown dtype 'fp8' - use one of"):
        job({**NEEDED, "kind": ("dtype", "fp8")})


@pytest.mark.parametrize(
    ("passing", "said"),
    (
        (
            {},
            "write needs 'kind', of which contract mla-row-norope says nothing - give it a default",
        ),
        ({"kind": "auto"}, "write needs 'scale'"),
        ({"kind": "auto"}, "pass it with passing={...}, or wrap the function"),
        ({**NEEDED, "loc": 3}, "passing['loc']: the contract gives this parameter - bind another"),
        ({**NEEDED, "blocks": 3}, "passing['blocks']: write has no such parameter - it has kv_buf"),
        ({**NEEDED, "scale": [1]}, "passing['scale']: [1] cannot be passed - pass a number, text"),
    ),
)
def test_what_does_not_fit_is_one_line(job, passing, said):
    assert job(NEEDED)
    with pytest.raises(KvproofError) as refused:
        job(passing)
    assert said in str(refused.value)


def test_a_function_that_takes_anything_takes_it(job):
    assert job({"kind": "auto"}, "anything").binding.extra == (ScalarArg("kind", "auto"),)


def test_no_mapping_is_told(job):
    with pytest.raises(KvproofError, match="passing: 'kind' is no mapping"):
        job("kind")
