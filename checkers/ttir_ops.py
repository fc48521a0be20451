"""What one op's line says beyond its tokens: attributes by one name each, and inferred types.

`Header` collects the parts of an op as they stand in the text. `finish` gives them the form that
`ttir.Op` promises; `RULES` holds an entry for every op whose attributes need more than a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .ttir import IntType, Region, Successor, Type
from .ttir_values import UNKNOWN, parse_type, pointee

#: Dialects whose ops, when they print one type, have operands and results of that type.
_SAME_TYPE = ("arith", "math", "ub")
_FIRST_TYPE = ("tt.addptr", "tt.advance", "math.fpowi")
_LAST_TYPE = frozenset(
    f"tt.{name}"
    for name in (
        "clampf",
        "get_num_programs",
        "get_program_id",
        "make_range",
        "make_tensor_descriptor",
        "make_tensor_ptr",
        "mulhiui",
        "precise_divf",
        "precise_sqrt",
    )
)
_PREDICATES = ("arith.cmpi", "arith.cmpf")
_TESTS = ("math.isfinite", "math.isinf", "math.isnan", "math.isnormal")
#: Words that hold an op's text together and say nothing by themselves.
GLUE = frozenset(("attributes", "do", "else", "iter_args", "step", "to"))
#: Ops whose printed types are not those of their operands, one by one.
_UNCHECKED = frozenset(("arith.addui_extended", "tt.make_tensor_ptr", "tt.advance"))
_CHECKED = ("arith", "math", "scf", "tt", "ub")
_KNOWN = (*_CHECKED, "cf")


@dataclass(slots=True)
class Header:
    """The parts of one op, in the order of the text.

    `binds` pairs the arguments of the first region with the values they start from; `ins` and
    `outs` are the printed types, None where none are; `bracketed` tells `(T, U)` from `T, U`.
    """

    name: str
    line: int
    results: tuple[str, ...] = ()
    operands: list[str] = field(default_factory=list[str])
    binds: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    words: list[str] = field(default_factory=list[str])
    strings: list[str] = field(default_factory=list[str])
    numbers: list[str] = field(default_factory=list[str])
    symbols: list[str] = field(default_factory=list[str])
    groups: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    attrs: dict[str, object] = field(default_factory=dict[str, object])
    regions: list[Region] = field(default_factory=list[Region])
    successors: list[Successor] = field(default_factory=list[Successor])
    ins: list[Type] | None = None
    outs: list[Type] | None = None
    bracketed: bool = False

    @property
    def strict(self) -> bool:
        """Say whether the op's dialect is known, so that nothing unforeseen may stand in it."""
        return self.name.partition(".")[0] in _KNOWN


def _first_word(key: str) -> Callable[[Header], None]:
    def rule(op: Header) -> None:
        if op.words:
            op.attrs[key] = op.words.pop(0)

    return rule


def _first_string(key: str) -> Callable[[Header], None]:
    def rule(op: Header) -> None:
        if op.strings:
            op.attrs[key] = op.strings.pop(0)

    return rule


def _axis(op: Header) -> None:
    axis = op.words.pop(0) if op.words else ""
    if axis in ("x", "y", "z"):
        op.attrs["axis"] = "xyz".index(axis)


def _atomic(*keys: str) -> Callable[[Header], None]:
    def rule(op: Header) -> None:
        for key in keys:
            if op.words:
                op.attrs[key] = op.words.pop(0)

    return rule


def _rounding(op: Header) -> None:
    op.attrs.setdefault("rounding", None)


def _source_second(op: Header) -> None:
    if op.words:
        op.attrs["kind"] = op.words.pop(0)
    if len(op.operands) < 2:
        return
    # Printed after the indices, defined before them.
    op.operands.insert(1, op.operands.pop())
    op.groups = [(start + 1, end + 1) for start, end in op.groups]


def _loop(op: Header) -> None:
    op.attrs["unsigned"] = "unsigned" in op.words
    op.words = [word for word in op.words if word != "unsigned"]


#: By op name: give the attributes the names that the package documents.
RULES: dict[str, Callable[[Header], None]] = {
    "arith.cmpf": _first_word("predicate"),
    "arith.cmpi": _first_word("predicate"),
    "cf.assert": _first_string("message"),
    "scf.for": _loop,
    "tt.assert": _first_string("message"),
    "tt.atomic_cas": _atomic("sem", "scope"),
    "tt.atomic_rmw": _atomic("rmw_op", "sem", "scope"),
    "tt.descriptor_reduce": _source_second,
    "tt.descriptor_store": _source_second,
    "tt.elementwise_inline_asm": _first_string("asm"),
    "tt.fp_to_fp": _rounding,
    "tt.get_num_programs": _axis,
    "tt.get_program_id": _axis,
    "tt.print": _first_string("prefix"),
}


def finish(op: Header) -> None:
    """Bring the attributes into their documented form. Raises ValueError for a part too many.

    Words become flags (`allow_reorder` is True), `overflow<..>`, `nneg` and the like the tuple
    "flags", other strings and numbers "strings" and "numbers", a symbol "callee", and the ranges
    of operands that stand in square brackets "groups".
    """
    rule = RULES.get(op.name)
    if rule is not None:
        rule(op)
    if "overflow" in op.attrs:
        op.attrs["flags"] = op.attrs.pop("overflow")
    for word in op.words:
        if word in ("nneg", "exact"):
            op.attrs["flags"] = (*_flags(op), word)
        elif word not in GLUE:
            if op.strict and ("." in word or parse_type(word) is not None):
                raise ValueError(f"unexpected {word!r}")
            op.attrs[word] = True
    if isinstance(math := op.attrs.get("fastmath"), tuple):
        op.attrs["fastmath"] = ",".join(str(flag) for flag in math)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if op.symbols:
        op.attrs["callee"] = op.symbols[0]
    stray = [*op.strings, *op.numbers, *(op.symbols if op.name != "tt.call" else ())]
    if op.strict and stray:
        raise ValueError(f"unexpected {stray[0]!r}")
    for key, extra in (("strings", op.strings), ("numbers", op.numbers), ("groups", op.groups)):
        if extra:
            op.attrs[key] = tuple(extra)


def _flags(op: Header) -> tuple[object, ...]:
    flags = op.attrs.get("flags", ())
    return tuple(flags) if isinstance(flags, tuple) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def truth(like: Type) -> Type:
    """Return the type of a comparison of values of that type."""
    return Type(IntType(1), like.shape) if like != UNKNOWN else UNKNOWN


def result_types(op: Header, operand_types: Sequence[Type]) -> tuple[Type, ...]:
    """Return the types of an op's results; `UNKNOWN` where an op without a rule prints none.

    Raises ValueError when the printed types do not fit the number of results.
    """
    count = len(op.results)
    if count == 0:
        return ()
    if op.outs is not None:
        outs = op.outs * count if op.name == "tt.split" else op.outs
        if len(outs) != count:
            raise ValueError(f"{op.name} has {count} results and {len(outs)} result types")
        return tuple(outs)
    if op.name == "tt.load":
        return (pointee(operand_types[0]),)
    dialect = op.name.partition(".")[0]
    known = dialect in _SAME_TYPE or op.name in _FIRST_TYPE or op.name in _LAST_TYPE
    if op.ins and known:
        if op.name in _PREDICATES or op.name in _TESTS:
            return (truth(op.ins[0]),)
        if op.name == "arith.addui_extended":
            return tuple(op.ins)
        return (op.ins[0 if op.name in _FIRST_TYPE else -1],) * count
    if known:
        raise ValueError(f"{op.name} has no type")
    return (UNKNOWN,) * count


def expected_types(op: Header, operand_types: Sequence[Type]) -> list[Type] | None:
    """Return the types that the text gives to the operands; None where it leaves them open."""
    ins, count = op.ins, len(op.operands)
    dialect = op.name.partition(".")[0]
    if op.name == "tt.load" and operand_types:
        value = pointee(operand_types[0])
        return [ins[0] if ins else UNKNOWN, truth(value), value][:count]
    if op.name == "tt.store" and operand_types:
        value = pointee(operand_types[0])
        return [ins[0] if ins else UNKNOWN, value, truth(value)][:count]
    if ins is None or (dialect not in _CHECKED and not op.bracketed) or op.name in _UNCHECKED:
        return None
    if op.name == "arith.select":
        return [operand_types[0], ins[-1], ins[-1]]
    if op.name == "scf.condition":
        return [Type(IntType(1)), *ins]
    if len(ins) == 1 and dialect in _SAME_TYPE:
        return ins * count
    return ins if len(ins) == count or op.bracketed else None
