"""Comparing a run of a random program, on an interpreter or a GPU, with the torch domain's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .program_types import BITS
from .programs import Program, Record, memory_of, stored
from .tally import Disagreement, Tally, is_nan, operand, operands, pattern, where

_BF16 = frozenset(
    f"arith.{name}"
    for name in (
        "addf", "subf", "mulf", "maxnumf", "minnumf", "maximumf", "minimumf", "cmpf",
        "sitofp", "uitofp", "fptosi", "fptoui", "extf", "truncf",
    )
)  # fmt: skip
#: What Triton's interpreter gets wrong: op -> reason. What depends on it is not compared.
_FAULTS = {
    "tt.fp_to_fp": "casts to and from fp8 are wrong beside range, subnormals, infinity and NaN",
    "arith.maxnumf": "a signalling NaN wins against a number",
    "arith.minnumf": "a signalling NaN wins against a number",
    "arith.maximumf": "of zeros of both signs the first one comes out",
    "arith.minimumf": "of zeros of both signs the first one comes out",
    "tt.clampf": "a signalling NaN wins against a number",
    "math.floor": "subnormals are kept, which Triton's code flushes to zero",
    "math.ceil": "subnormals are kept, which Triton's code flushes to zero",
    "math.fma": "the product is rounded before the sum",
    "math.trunc": "not in Triton's language",
    "math.round": "not in Triton's language",
    "math.tanh": "not in Triton's language",
}


_BITS = "bf16 is computed on its bit patterns, or truncated"
_ZERO = "a masked-off lane loses the sign of a default of -0.0"
_SIGNALLING = "folding a constant, the compiler lets a signalling NaN win against a number"
_E5M2 = "f8E5M2 to bf16 makes infinities and NaNs finite numbers"
_SUBNORMAL = "subnormals are flushed when running and kept when folding a constant"
_CLIP = "between two zeros the sign of the result is that of the operands' product"
#: Run -> op -> what it is known to do otherwise.
FAULTS: dict[str, dict[str, str]] = {
    "interpreter": {**dict.fromkeys(sorted(_BF16), _BITS), "tt.load": _ZERO, **_FAULTS},
    "gpu": {
        "arith.maxnumf": _SIGNALLING,
        "arith.minnumf": _SIGNALLING,
        "tt.clampf": f"{_SIGNALLING}; {_CLIP}",
        "math.floor": _SUBNORMAL,
        "math.ceil": _SUBNORMAL,
        "tt.fp_to_fp": _E5M2,
    },
}


def interpreter_fault(label: str) -> str | None:
    """Return what Triton's interpreter is known to get wrong in an op with its types, or None."""
    name = label.split(maxsplit=1)[0]
    if "bf16" in label and name in _BF16:
        return _BITS
    if name == "tt.load" and label.endswith("mask") and " i" not in label:
        return _ZERO
    return _FAULTS.get(name)


def gpu_fault(label: str, given: Sequence[tuple[str, int]]) -> str | None:
    """Return what Triton on a GPU is known to do otherwise at such operands, or None.

    Args:
        label: the op with its types.
        given: element type and bit pattern of each operand.
    """
    name = label.split(maxsplit=1)[0]
    if name in ("arith.maxnumf", "arith.minnumf", "tt.clampf") and any(
        is_nan(elem, bits) and not bits & _QUIET[elem] for elem, bits in given
    ):
        return _SIGNALLING
    if name in ("math.floor", "math.ceil") and 0 < given[0][1] & 0x7FFFFFFF < 1 << 23:
        return _SUBNORMAL
    if name == "tt.clampf" and all(not bits & 0x7FFFFFFF for _, bits in given[1:]):
        return _CLIP
    if label == "tt.fp_to_fp f8E5M2 to bf16" and given[0][1] & 0x7F >= 0x7C:
        return _E5M2
    return None


_QUIET = {"f16": 1 << 9, "bf16": 1 << 6, "f32": 1 << 22, "f64": 1 << 51}


def run_torch(program: Program) -> dict[str, bytes]:
    """Run a program in the torch domain and return its final memory.

    Raises AssertionError when an operation was undefined, which no drawn program is.
    """
    import torch

    from ..checkers.evaluator import Buffer, evaluate
    from ..checkers.ttir_parser import parse_ttir

    memory = {name: bytearray(data) for name, data in memory_of(program).items()}
    buffers: dict[str, Any] = {
        name: Buffer(torch.frombuffer(data, dtype=torch.uint8)) for name, data in memory.items()
    }
    made = evaluate(parse_ttir(program.ttir), program.grid, buffers)
    assert not made.events, made.events
    return {name: bytes(data) for name, data in memory.items()}


def compare(
    program: Program,
    want: Mapping[str, bytes],
    got: Mapping[str, bytes],
    domain: str,
    tally: Tally,
    *,
    fault: Callable[[str], str | None] | None = None,
    fault_at: Callable[[str, Sequence[tuple[str, int]]], str | None] | None = None,
) -> list[Disagreement]:
    """Compare two runs value by value; return the first disagreement, or none.

    Args:
        program: what ran.
        want: the torch domain's final memory.
        got: the other run's.
        domain: name of the other.
        tally: counts what was compared.
        fault: returns what the other is known to get wrong in an op, or None.
        fault_at: the same, for an op at its operands (element type and bits of each).

    A NaN whose payload differs is counted and no disagreement: the proof leaves payloads open.
    """
    known = {r.label for r in program.records if fault is not None and fault(r.label)}
    wrong: list[bool] = []
    for record in program.records:
        before = any(wrong[k] for k in (*record.operands, *record.controls))
        wrong.append(before or record.label in known or not record.exact)
        if record.first < 0:
            continue
        a, b = stored(program, want, record), stored(program, got, record)
        differing = [k for k in range(len(a)) if a[k] != b[k]]
        nans = [k for k in differing if _both_nan(record, a[k], b[k])]
        if nans:
            # Only the payload differs; what is made from it is not compared.
            differing = [k for k in differing if k not in nans]
            wrong[-1] = True
            if not before:
                tally.add("payload", domain, record.label, len(nans))
        if fault_at is not None and differing and not before:
            known_at = [
                k for k in differing if fault_at(record.label, _given(program, want, record, k))
            ]
            if known_at:
                differing = [k for k in differing if k not in known_at]
                wrong[-1] = True
                tally.add("faulty", domain, record.label, len(known_at))
        if not before and differing and record.exact and record.label not in known:
            place = differing[0]
            return [
                Disagreement(
                    domain,
                    record.label,
                    operands(program, want, record, place),
                    pattern(record.elem, b[place]),
                    pattern(record.elem, a[place]),
                    where(program, record, place),
                )
            ]
        if before:
            tally.add("open", domain, record.label, len(a))
            continue
        if not record.exact:
            differing = [k for k in differing if not near(record, a[k], b[k])]
        if differing:
            tally.add("faulty", domain, record.label, len(differing))
        tally.add("compared", domain, record.label, len(a) - len(differing))
    if not any(wrong):
        _frame(program, want, got)
    return []


def _given(
    program: Program, memory: Mapping[str, bytes], record: Record, place: int
) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for index in record.operands:
        of = program.records[index]
        bits = operand(program, memory, record, place, of)
        if bits is not None:
            found.append((of.elem, bits))
    return found


def _both_nan(record: Record, a: int, b: int) -> bool:
    return is_nan(record.elem, a) and is_nan(record.elem, b)


def _frame(program: Program, want: Mapping[str, bytes], got: Mapping[str, bytes]) -> None:
    """Inputs are only read."""
    for name in program.inputs:
        assert want[name] == got[name], f"{name} was stored"


def near(record: Record, a: int, b: int) -> bool:
    """Tell whether two patterns of an approximate op are within eight units in the last place."""
    if is_nan(record.elem, a) or is_nan(record.elem, b):
        return is_nan(record.elem, a) and is_nan(record.elem, b)
    top = 1 << (BITS[record.elem] - 1)

    def line(bits: int) -> int:
        return -(bits - top) if bits & top else bits

    return abs(line(a) - line(b)) <= 8
