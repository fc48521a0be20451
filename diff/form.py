"""How a prepared call looks: its tensors with their strides, and the contract's rows as arrays.

Everything that does not depend on the trial is computed once per `Prepared`. The contract's own
expressions are evaluated on whole arrays here; the naive reference evaluates them one element at a
time, and the reference runner holds the two against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..spec.call import DTypeArg, ScalarArg, TensorArg
from ..spec.contract import Instance
from ..spec.dtypes import DType, cast_bits, cast_table, dtype
from ..spec.expr import as_expr
from ..spec.job import Job
from ..spec.recipe import recipe
from ..spec.reference import holds
from ..spec.rules import Cast, Compare, Segment
from .api import Prepared, Trial

Array = Any  # numpy.ndarray

UNSIGNED: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_SIGNED: dict[int, Any] = {4: np.int32, 8: np.int64}


@dataclass(frozen=True)
class TensorForm:
    """One tensor argument: keyword, format, shape without the row count, strides in elements."""

    arg: str
    keyword: str
    fmt: DType
    passed: DType
    tail: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def width(self) -> int:
        """Elements from the first to the last of one row, or of one page."""
        if 0 in self.tail:
            return 0
        return 1 + sum(
            (size - 1) * stride for size, stride in zip(self.tail, self.strides[1:], strict=True)
        )


class Form:
    """A prepared call's tensors and the contract at its dimensions."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.instance: Instance = job.instance
        contract = self.instance.contract
        self.dims = self.instance.numbers()
        binding = job.binding
        tensors = recipe(self.instance, binding, pool=1, slots=()).tensors()
        self.tensors: dict[str, TensorForm] = {}
        for arg in contract.arguments():
            made = tensors[binding.keyword(arg)]
            self.tensors[arg] = TensorForm(
                arg,
                made.name,
                dtype(self.instance.dtypes[arg]),
                dtype(made.dtype),
                tuple(made.shape[1:]),
                made.strides or (),
            )
        self.caches = contract.caches()
        self.table = contract.slots.arg
        self.sources = tuple(dict.fromkeys(segment.source for segment in contract.segments))
        self.streams = {arg: k for k, arg in enumerate(contract.arguments())}
        self.extra: tuple[TensorArg | ScalarArg | DTypeArg, ...] = tuple(binding.extra)
        self.encode = {source: self._encoder(source) for source in self.sources}
        self.slot_dtype = _SIGNED[self.tensors[self.table].fmt.size]
        self._shapes = {arg: contract.shape(arg) for arg in contract.caches()}
        self.widths = {s.name: int(s.width.evaluate(self.dims)) for s in contract.segments}

    def count(self, cache: str, pool: int) -> int:
        """Return the first size of a cache of so many places: its rows, or its pages."""
        stated = self._shapes[cache]
        if stated is None:
            return pool
        return int(as_expr(stated.sizes[0]).evaluate({**self.dims, "POOL": pool}))

    def extent(self, cache: str, pool: int) -> int:
        """Return the bytes of a cache of so many places, up to where a further row would begin."""
        form = self.tensors[cache]
        return self.count(cache, pool) * form.strides[0] * form.fmt.size

    def _encoder(self, source: str) -> Array | None:
        """Return the table of encodings by pattern; None for a plain copy."""
        encode = self.instance.contract.encode
        if not isinstance(encode, Cast):
            return None
        fmt = self.tensors[source].fmt
        if fmt.bits > 16:
            return None
        table = cast_table(fmt.name, encode.target, saturate=encode.saturate)
        return np.array(table, dtype=UNSIGNED[dtype(encode.target).size])

    def encoded(self, source: str, bits: Array) -> Array:
        """Return the contract's encoding of source patterns."""
        table = self.encode[source]
        if table is not None:
            return table[bits]
        encode = self.instance.contract.encode
        if not isinstance(encode, Cast):
            return bits
        fmt, target = self.tensors[source].fmt, dtype(encode.target)
        made = [cast_bits(fmt, target, int(b), saturate=encode.saturate) for b in bits.reshape(-1)]
        return np.array(made, dtype=UNSIGNED[target.size]).reshape(bits.shape)

    def rows(self, trial: Trial) -> Rows:
        """Return what the contract says of each row of a trial."""
        case, contract = trial.case, self.instance.contract
        slots = np.array(case.slots, dtype=np.int64)
        env = {**self.dims, "POOL": case.pool, "ROWS": case.rows, "slot": slots}
        env["row"] = np.arange(case.rows)
        env["place"] = place = contract.owner.place.evaluate(env)
        legal = (slots >= 0) & (slots < case.pool * self.dims["WORLD"])
        skip = np.zeros(case.rows, dtype=bool)
        for rule in contract.skip:
            skip |= _holds(rule.condition, env)
        owned = contract.owner.owned
        mine = np.ones(case.rows, bool) if owned is None else _holds(owned, env)
        keep = legal & ~skip & mine
        return Rows(slots, np.asarray(place), legal, skip, mine, keep.nonzero()[0])

    def targets(self, segment: Segment, places: Array) -> Array:
        """Return the element offsets in the cache, (places, columns)."""
        columns = np.arange(self.widths[segment.name])[None, :]
        env = {**self.dims, "place": places[:, None], "col": columns}
        return np.asarray(segment.at.evaluate(env))

    def origins(self, segment: Segment, rows: Array) -> Array:
        """Return the element offsets in the source, (rows, columns)."""
        columns = np.arange(self.widths[segment.name])[None, :]
        env = {**self.dims, "row": rows[:, None], "col": columns}
        return np.asarray(segment.begin.evaluate(env))


@dataclass(frozen=True)
class Rows:
    """The rows of a trial.

    Args:
        slots, places: by row, int64.
        legal: the slot lies in the pool. skip: a skip rule drops it. mine: this rank owns it.
        keep: numbers of the rows that must be stored.
    """

    slots: Array
    places: Array
    legal: Array
    skip: Array
    mine: Array
    keep: Array


def _holds(compare: Compare, env: dict[str, Any]) -> Array:
    return holds(compare, env)  # type: ignore[return-value]  # arrays compare by element


_FORMS: WeakKeyDictionary[Prepared, Form] = WeakKeyDictionary()


def form_of(prepared: Prepared) -> Form:
    """Return the form of a prepared call, made once."""
    form = _FORMS.get(prepared)
    if form is None:
        form = _FORMS[prepared] = Form(prepared.job)
    return form


_MIX = tuple(np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53))


def exponent_field(fmt: DType) -> tuple[int, int]:
    """Return the mask of a float format's exponent and its lowest bit; (0, 0) for integers.

    A fingerprint whose exponent is all ones (infinity, NaN) has that lowest bit cleared: a NaN that
    an addition makes has other bits on each machine, and trials ask for one by their payload.
    """
    if fmt.kind != "float":
        return 0, 0
    return ((1 << fmt.exponent) - 1) << fmt.mantissa, 1 << fmt.mantissa


@lru_cache(maxsize=256)
def fingerprints(seed: int, stream: int, fmt: DType, rows: int, stride: int, width: int) -> Array:
    """Return `kvproof.spec.case.fingerprint`, made finite, at row * stride + column."""
    index = (np.arange(rows)[:, None] * stride + np.arange(width)[None, :]).astype(np.uint64)
    base = (stream * 0xD1B54A32D192ED03 + seed + 1) & (1 << 64) - 1
    x = index * _MIX[0] + np.uint64(base)
    for factor in _MIX[1:]:
        x ^= x >> np.uint64(33)
        x *= factor
    x ^= x >> np.uint64(33)
    made = x.astype(UNSIGNED[fmt.size])
    made[made == 0] = 1
    field, low = exponent_field(fmt)
    if field:
        made[made & made.dtype.type(field) == field] ^= made.dtype.type(low)
    return made
