"""How many operands, attributes and regions an op of a known name has, and how its blocks end.

These are the checks of MLIR's verifier that a reader of the IR relies on: a text that was cut short
or edited by hand is told apart from one that the compiler printed.
"""

from __future__ import annotations

from collections.abc import Sequence

from .ttir import Block, Op, Region, Type
from .ttir_ops import Header
from .ttir_values import UNKNOWN

#: Attributes without which an op would mean something else than its text.
REQUIRED: dict[str, tuple[str, ...]] = {
    "arith.cmpf": ("predicate",),
    "arith.cmpi": ("predicate",),
    "tt.assert": ("message",),
    "tt.atomic_cas": ("sem", "scope"),
    "tt.atomic_rmw": ("rmw_op", "sem", "scope"),
    "tt.call": ("callee",),
    "tt.elementwise_inline_asm": ("asm", "constraints", "pure"),
    "tt.expand_dims": ("axis",),
    "tt.extern_elementwise": ("symbol", "pure"),
    "tt.get_num_programs": ("axis",),
    "tt.get_program_id": ("axis",),
    "tt.make_range": ("start", "end"),
    "tt.reduce": ("axis",),
    "tt.scan": ("axis", "reverse"),
    "tt.trans": ("order",),
}

#: How many operands an op has, at least and at most.
COUNTS: dict[str, tuple[int, int]] = {
    **{
        f"arith.{name}": (2, 2)
        for name in (
            *("addf", "addi", "andi", "divf", "divsi", "divui", "maximumf", "maxnumf", "maxsi"),
            *("maxui", "minimumf", "minnumf", "minsi", "minui", "mulf", "muli", "ori", "remf"),
            *("remsi", "remui", "shli", "shrsi", "shrui", "subf", "subi", "xori"),
        )
    },
    **{
        f"arith.{name}": (1, 1)
        for name in (
            *("bitcast", "extf", "extsi", "extui", "fptosi", "fptoui", "negf", "sitofp"),
            *("truncf", "trunci", "uitofp"),
        )
    },
    **{
        f"math.{name}": (1, 1)
        for name in (
            *("absf", "absi", "ceil", "cos", "erf", "exp", "exp2", "floor", "log", "log2"),
            *("rsqrt", "sin", "sqrt", "tanh"),
        )
    },
    "math.fma": (3, 3),
    **{
        f"tt.{name}": (1, 1)
        for name in (
            *("bitcast", "broadcast", "expand_dims", "fp_to_fp", "int_to_ptr", "ptr_to_int"),
            *("reshape", "splat", "split", "trans"),
        )
    },
    "arith.cmpf": (2, 2),
    "arith.cmpi": (2, 2),
    "arith.select": (3, 3),
    "cf.cond_br": (1, 1),
    "scf.if": (1, 1),
    "tt.addptr": (2, 2),
    "tt.assert": (1, 1),
    "tt.descriptor_reduce": (2, 99),
    "tt.descriptor_store": (2, 99),
    "tt.atomic_cas": (3, 3),
    "tt.atomic_rmw": (2, 3),
    "tt.cat": (2, 2),
    "tt.dot": (3, 3),
    "tt.join": (2, 2),
    "tt.load": (1, 3),
    "tt.store": (2, 3),
}

#: How many branch targets an op has.
SUCCESSORS: dict[str, int] = {"cf.br": 1, "cf.cond_br": 2}

#: What a comparison may compare for; an "u" before a float predicate means "or unordered".
PREDICATES: dict[str, frozenset[str]] = {
    "arith.cmpi": frozenset(("eq", "ne", "sge", "sgt", "sle", "slt", "uge", "ugt", "ule", "ult")),
    "arith.cmpf": frozenset(
        (
            *("false", "oeq", "oge", "ogt", "ole", "olt", "one", "ord", "true"),
            *("ueq", "uge", "ugt", "ule", "ult", "une", "uno"),
        )
    ),
}

#: How many regions an op has, at least and at most.
REGIONS: dict[str, tuple[int, int]] = {
    "scf.for": (1, 1),
    "scf.if": (1, 2),
    "scf.while": (2, 2),
    "tt.reduce": (1, 1),
    "tt.scan": (1, 1),
}

#: Ops that end a block.
TERMINATORS = frozenset(
    (
        "cf.br",
        "cf.cond_br",
        "scf.condition",
        "scf.yield",
        "tt.reduce.return",
        "tt.return",
        "tt.scan.return",
        "ub.unreachable",
    )
)


def check_parts(op: Header) -> None:
    """Raise ValueError for a known op with an attribute, operand or region too few or too many."""
    for key in REQUIRED.get(op.name, ()):
        if key not in op.attrs:
            raise ValueError(f"{op.name} has no {key}")
    least, most = COUNTS.get(op.name, (0, len(op.operands)))
    if not least <= len(op.operands) <= most:
        raise ValueError(f"{op.name} has {len(op.operands)} operands")
    if op.name in PREDICATES and op.attrs["predicate"] not in PREDICATES[op.name]:
        raise ValueError(f"{op.name} has no predicate {op.attrs['predicate']!r}")
    if len(op.successors) != SUCCESSORS.get(op.name, len(op.successors)):
        raise ValueError(f"{op.name} has {len(op.successors)} targets")
    least, most = REGIONS.get(op.name, (0, 0 if op.strict else len(op.regions)))
    if not least <= len(op.regions) <= most:
        raise ValueError(f"{op.name} has {len(op.regions)} regions")
    if op.strict and op.outs and not op.results:
        raise ValueError(f"{op.name} names none of its results")


def check_block(ops: Sequence[Op]) -> str | None:
    """Return the name of an op that ends a block and has another after it, or None."""
    return next((op.name for op in ops[:-1] if op.name in TERMINATORS), None)


def unfinished(region: Region) -> Block | None:
    """Return the first block of a function's body that nothing ends, or None."""
    for block in region.blocks:
        last = block.ops[-1] if block.ops else None
        if last is None or not (last.name in TERMINATORS or last.successors):
            return block
    return None


def check_yields(op: Header, results: Sequence[Type], operands: Sequence[Type]) -> None:
    """Raise ValueError where what a region of a loop or branch hands on is not what is taken."""
    if op.name == "scf.if":
        if results and len(op.regions) != 2:
            raise ValueError("scf.if has results and no else")
        for region in op.regions:
            _same("scf.if", _handed(region, "scf.yield"), results)
    elif op.name == "scf.for":
        if len(op.binds) != 1 + len(results):
            raise ValueError(f"scf.for carries {len(op.binds) - 1} values")
        _same("scf.for", _handed(op.regions[0], "scf.yield"), results)
    elif op.name in ("tt.reduce", "tt.scan"):
        handed = _handed(op.regions[0], f"{op.name}.return")
        _same(op.name, handed, [Type(kind.elem) for kind in results])
    elif op.name == "scf.while":
        before, after = op.regions
        condition = _handed(before, "scf.condition")
        taken = [kind for _, kind in after.blocks[0].args] if after.blocks else []
        _same("scf.while", condition[1:], results)
        _same("scf.while", taken, results)
        _same("scf.while", _handed(after, "scf.yield"), operands)


def _handed(region: Region, name: str) -> tuple[Type, ...]:
    """Return the types that a region's last op hands on; a yield of nothing is unprinted."""
    ops = region.blocks[-1].ops if region.blocks else ()
    return ops[-1].operand_types if ops and ops[-1].name == name else ()


def _same(name: str, found: Sequence[Type], wanted: Sequence[Type]) -> None:
    differ = any(a != b and UNKNOWN not in (a, b) for a, b in zip(found, wanted, strict=False))
    if differ or len(found) != len(wanted):
        shown = [", ".join(str(kind) for kind in kinds) or "nothing" for kinds in (found, wanted)]
        raise ValueError(f"a region of {name} hands on {shown[0]}, where {shown[1]} is taken")
