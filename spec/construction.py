"""What a contract is refused for when it is made: one line that names the field and the mend."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from .dtypes import DTYPES
from .errors import ContractError
from .expr import Expr, as_expr
from .rules import (
    BeyondPool,
    Cast,
    Copy,
    Exactly,
    Given,
    Interleaved,
    Negative,
    Reserved,
    Segment,
    Slots,
    Whole,
)
from .shapes import TensorShape

if TYPE_CHECKING:
    from .contract import WriterContract

#: Symbols that a dimension must not be named after.
COMMON = frozenset({"slot", "place", "row", "col", "POOL", "ROWS", "WORLD", "RANK"})
#: Symbols that each expression of a segment may use, next to the dimensions.
_MAY_USE = {
    "width": frozenset[str](),
    "at": frozenset({"place", "col"}),
    "begin": frozenset({"row", "col"}),
}


def check_contract(contract: WriterContract) -> None:
    """Check the fields of a contract, each by itself and against the others.

    Args:
        contract: the contract; nothing of it is changed.

    Raises:
        ContractError: the first field that does not fit, with what to write instead.
    """
    where = f"contract {contract.name}"
    if not contract.name.strip():
        raise ContractError("no name", where="contract", mend='write name="my-rows"')
    _one(contract.slots, (Slots,), "slots", where, 'write slots=Slots(arg="loc")')
    rule = "Reserved, Negative, Exactly or BeyondPool"
    _several(contract.segments, (Segment,), "segments", where, "one or more Segment(...)")
    _several(contract.dims, (_dim(),), "dims", where, 'such as Dim("WIDTH", "elements of a row")')
    _several(contract.skip, (Reserved, Negative, Exactly, BeyondPool), "skip", where, rule)
    _several(contract.claims, (Reserved,), "claims", where, "such as Reserved(0)")
    _several(contract.given, (Given,), "given", where, "such as DISTINCT, of kvproof.spec.rules")
    _several(contract.shapes, (TensorShape,), "shapes", where, "such as TensorShape(...)")
    _one(contract.owner, (Whole, Interleaved), "owner", where, "write Whole() or Interleaved()")
    _one(contract.encode, (Copy, Cast), "encode", where, 'write Copy() or Cast("f8e4m3fn")')
    if not contract.segments:
        raise ContractError("segments is empty", where=where, mend="name at least one")
    _names(contract, where)
    symbols = frozenset(dim.name for dim in contract.dims)
    _dims(contract, where)
    for segment in contract.segments:
        for label, more in _MAY_USE.items():
            _symbols(segment, label, symbols | more, where)
        if "place" not in segment.at.symbols():
            raise ContractError(
                f"segment {segment.name}: every row is stored at {segment.at}",
                where=where,
                mend="at needs PLACE, as in PLACE * STRIDE + COL",
            )
    _encode(contract, where)
    for shape in contract.shapes:
        _shape(contract, shape, symbols, where)


def check_dtype(name: str, *, where: str) -> None:
    """Refuse a dtype that does not exist. Raises ContractError naming the known ones."""
    if name not in DTYPES:
        mend = f"use one of {', '.join(DTYPES)}"
        raise ContractError(f"unknown dtype {name!r}", where=where, mend=mend)


def _dim() -> type:
    from .contract import Dim

    return Dim


def _wrong(value: object, field: str, where: str, mend: str) -> NoReturn:
    raise ContractError(f"{field} is {value!r}", where=where, mend=mend)


def _one(value: Any, kinds: tuple[type, ...], field: str, where: str, mend: str) -> None:
    if not isinstance(value, kinds):
        _wrong(value, field, where, mend)


def _several(value: Any, kinds: tuple[type, ...], field: str, where: str, mend: str) -> None:
    """Refuse what is no tuple of these kinds; a single one without its comma too."""
    if isinstance(value, kinds):
        name = type(value).__name__
        raise ContractError(
            f"{field} is one {name}, not a tuple", where=where, mend=f"write {field}=({name}(...),)"
        )
    if not isinstance(value, tuple):
        _wrong(value, field, where, f"write a tuple: {mend}")
    for item in value:
        if not isinstance(item, kinds):
            _wrong(item, f"an item of {field}", where, f"use {mend}")


def _names(contract: WriterContract, where: str) -> None:
    _once([segment.name for segment in contract.segments], "segments", where)
    _once([given.key for given in contract.given], "given", where)
    _once([shape.arg for shape in contract.shapes], "shapes", where)
    sources = {segment.source for segment in contract.segments}
    both = sorted(sources.intersection(contract.caches()))
    if both:
        raise ContractError(
            f"argument {both[0]} is a source and a cache",
            where=where,
            mend="a writer reads `source` and stores `into`; name two arguments",
        )
    if contract.slots.arg in (*sources, *contract.caches()):
        raise ContractError(
            f"argument {contract.slots.arg} holds slots and rows",
            where=where,
            mend="slots=Slots(arg=...) names the slot table alone",
        )


def _once(names: list[str], field: str, where: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ContractError(
            f"{field} repeat a name: {twice}", where=where, mend="give each a name of its own"
        )


def _dims(contract: WriterContract, where: str) -> None:
    _once([dim.name for dim in contract.dims], "dims", where)
    known: set[str] = set()
    for dim in contract.dims:
        if dim.name in COMMON:
            raise ContractError(
                f"dimension {dim.name} has the name of a symbol that every contract has",
                where=where,
                mend=f"rename it; {', '.join(sorted(COMMON))} are taken",
            )
        if dim.packed is not None:
            _known(as_expr(dim.packed), known, f"dimension {dim.name}: packed", where)
        known.add(dim.name)


def _symbols(segment: Segment, label: str, known: frozenset[str], where: str) -> None:
    expr = getattr(segment, label)
    at = f"segment {segment.name}: {label}"
    if not isinstance(expr, Expr):
        _wrong(expr, at, where, 'write it with Sym("WIDTH"), numbers and + - * // %')
    _known(expr, known, at, where)


def _known(expr: Expr, known: Iterable[str], what: str, where: str) -> None:
    unknown = sorted(expr.symbols() - set(known))
    if not unknown:
        return
    name = unknown[0]
    if name in COMMON:
        raise ContractError(
            f"{what} cannot use {name}",
            where=where,
            mend="width uses dimensions, at uses PLACE and COL too, begin uses ROW and COL too",
        )
    near = difflib.get_close_matches(name, sorted(known), n=1)
    hint = f", or did you mean {near[0]}?" if near else ""
    raise ContractError(
        f"{what} uses unknown symbol {name}", where=where, mend=f"add it to dims{hint}"
    )


def _encode(contract: WriterContract, where: str) -> None:
    encode = contract.encode
    if not isinstance(encode, Cast):
        return
    target = DTYPES.get(encode.target)
    if target is None or target.kind != "float":
        floats = ", ".join(name for name, known in DTYPES.items() if known.kind == "float")
        raise ContractError(
            f"encode casts to {encode.target!r}", where=where, mend=f"use one of {floats}"
        )


def _shape(contract: WriterContract, shape: TensorShape, known: frozenset[str], where: str) -> None:
    at = f"shape of {shape.arg}"
    sources = [segment.source for segment in contract.segments]
    if shape.arg not in (*sources, *contract.caches()):
        raise ContractError(
            f"{at}: no segment names that argument",
            where=where,
            mend=f"name one of {', '.join(dict.fromkeys((*contract.caches(), *sources)))}",
        )
    if not shape.sizes or len(shape.sizes) != len(shape.strides):
        raise ContractError(
            f"{at}: {len(shape.sizes)} sizes and {len(shape.strides)} strides",
            where=where,
            mend="give one stride, in elements, for each size",
        )
    if shape.strides[-1] != 1 and as_expr(shape.strides[-1]) != as_expr(1):
        raise ContractError(
            f"{at}: the last stride is {shape.strides[-1]}",
            where=where,
            mend="proofs lean on innermost stride 1",
        )
    source = shape.arg in sources
    for expr in (*shape.sizes, *shape.strides):
        _known(as_expr(expr), known | {"ROWS" if source else "POOL"}, at, where)
    if source and str(shape.sizes[0]) != "ROWS":
        raise ContractError(
            f"{at}: its first size is {shape.sizes[0]}",
            where=where,
            mend="a source has a row for every slot of the table: write ROWS",
        )
