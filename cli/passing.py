"""What a contract test passes to parameters that its contract does not speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..spec.call import DTypeArg, ScalarArg
from ..spec.construction import check_dtype
from ..spec.errors import KvproofError
from ..spec.recipe import Binding
from .signature import Signature
from .user import Bound

Passed = float | str | bool | tuple[str, str] | None


def passed(
    given: Mapping[str, Any], bound: Bound, signature: Signature | None
) -> Mapping[str, Passed]:
    """Return what is passed to parameters that the contract does not speak of, checked.

    Args:
        given: value by parameter.
        bound: the contract's arguments.
        signature: the function; None where it is made elsewhere.

    Raises:
        KvproofError: the contract gives the parameter, the function has none of that name, or the
            value is no number, text, bool, None or ("dtype", short name of one).
    """
    for name, value in given.items():
        where = f"passing[{name!r}]"
        if name in bound.parameters().values():
            raise KvproofError(
                "the contract gives this parameter", where=where, mend="bind another, or leave it"
            )
        if isinstance(value, tuple) and len(value) == 2 and value[0] == "dtype":
            check_dtype(str(value[1]), where=where)
        elif value is not None and not isinstance(value, (int, float, str)):
            mend = 'pass a number, text, bool, None or ("dtype", "bf16"), or wrap the function'
            raise KvproofError(f"{value!r} cannot be passed", where=where, mend=mend)
        if signature is not None and name not in signature.keywords and not signature.takes_any:
            mend = f"it has {', '.join(signature.keywords)}"
            raise KvproofError(f"{signature.name} has no such parameter", where=where, mend=mend)
    return given


def with_passed(plain: Binding, values: Mapping[str, Passed]) -> Binding:
    """Return a binding that passes further values by keyword."""
    more = tuple(
        DTypeArg(name, value[1]) if isinstance(value, tuple) else ScalarArg(name, value)
        for name, value in values.items()
    )
    return replace(plain, extra=(*plain.extra, *more))
