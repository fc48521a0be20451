"""All memory of one trial, as bytes: what it holds before the call and what it must hold after.

Each storage is guard bytes, the tensors, guard bytes. Caches are filled with a byte pattern that
is nowhere zero; sources hold fingerprints of row and column inside poison (NaN in every float
format); the slot table is followed by slots of rows that do not exist. Caches too large to be held
are sparse: only the torch domain runs them, and hands back what it stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..spec.errors import KvproofError
from .api import Prepared, Trial
from .form import UNSIGNED, Array, Form, Rows, TensorForm, fingerprints, form_of

#: Bytes of one cache beyond which it is sparse.
MOST_DENSE = 8 << 20
#: Bytes of all sources that a trial may need.
MOST_SOURCE = 256 << 20
#: Every byte around and between the rows of a source.
POISON = 0xFF

_PERIOD = 1 << 16


@lru_cache(maxsize=1)
def _pattern() -> Array:
    mixed = np.random.Generator(np.random.PCG64(20)).integers(1, 256, _PERIOD - 1)
    return mixed.astype(np.uint8)


def patterned(size: int, start: int = 0) -> Array:
    """Return `size` bytes of the cache's pattern, none of them zero; its period is odd."""
    table = _pattern()
    begin = start % table.size
    if begin + size <= table.size:
        return table[begin : begin + size].copy()
    return np.resize(np.roll(table, -begin), size)


@dataclass(frozen=True)
class Region:
    """A tensor inside a storage.

    Args:
        form: its format, width and strides.
        storage: name of the storage.
        start: byte of its first element.
        rows: size of its first dimension.
        strides: elements.
    """

    form: TensorForm
    storage: str
    start: int
    rows: int
    strides: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return (self.rows, *self.form.tail)


class Arena:
    """The memory of a trial.

    Args:
        prepared: the call. trial: at the dimensions of `prepared`.
        dense: bytes of one cache up to which it is held.

    `before` and `after` hold each storage's bytes by name; `after` shares arrays with `before`
    for storages that must not change. Neither is to be written: runners copy.
    """

    def __init__(self, prepared: Prepared, trial: Trial, *, dense: int = MOST_DENSE) -> None:
        self.trial = trial
        self.form: Form = form_of(prepared)
        self.rows: Rows = self.form.rows(trial)
        self.before: dict[str, Array] = {}
        self.after: dict[str, Array] = {}
        self.regions: dict[str, Region] = {}
        self.sparse: tuple[str, ...] = ()
        self._place_caches(dense)
        self._place_sources()
        self._place_slots()
        self._expect()

    def _place_caches(self, dense: int) -> None:
        layout, pool = self.trial.layout, self.trial.case.pool
        caches = [self.form.tensors[arg] for arg in self.form.caches]
        steps = {form.strides[0] for form in caches}
        formats = {form.fmt.size for form in caches}
        whole = sum(form.width for form in caches)
        packed = layout.packed and len(caches) > 1 and len(steps) == 1 and len(formats) == 1
        if packed and whole <= min(steps):
            size = caches[0].fmt.size
            begin = layout.guard + layout.cache_offset * size
            at = begin
            for form in caches:
                self._region(form, "caches", at, self.form.count(form.arg, pool))
                at += form.width * size
            extent = self.form.extent(caches[0].arg, pool)
            self._cache_storage("caches", begin + extent, dense, caches)
            return
        for form in caches:
            begin = layout.guard + layout.cache_offset * form.fmt.size
            self._region(form, form.arg, begin, self.form.count(form.arg, pool))
            extent = self.form.extent(form.arg, pool)
            self._cache_storage(form.arg, begin + extent, dense, [form])

    def _cache_storage(self, name: str, end: int, dense: int, held: list[TensorForm]) -> None:
        if end > dense:
            self.sparse += tuple(form.arg for form in held)
            return
        self.before[name] = patterned(-(-(end + self.trial.layout.guard) // 16) * 16)
        self.after[name] = self.before[name].copy()

    def _region(self, form: TensorForm, storage: str, start: int, rows: int) -> None:
        self.regions[form.arg] = Region(form, storage, start, rows, form.strides)

    def _place_sources(self) -> None:
        layout, case = self.trial.layout, self.trial.case
        sources = [self.form.tensors[arg] for arg in self.form.sources]
        first = sources[0]
        whole = sum(form.width for form in sources)
        alike = {(form.strides[0], form.fmt.size) for form in sources}
        joined = layout.split and len(sources) > 1 and len(alike) == 1
        joined = joined and whole <= first.strides[0]
        parts: list[list[TensorForm]] = [sources] if joined else [[form] for form in sources]
        for part in parts:
            name = part[0].arg
            size = part[0].fmt.size
            begin = layout.guard + layout.source_offset * size
            bytes_ = begin + max(case.rows, 1) * part[0].strides[0] * size + whole * size
            if bytes_ > MOST_SOURCE:
                raise KvproofError(
                    f"{case.rows} rows of {name} take {bytes_ >> 20} MiB", mend="use fewer rows"
                )
            data = np.full(-(-(bytes_ + layout.guard) // 16) * 16, POISON, np.uint8)
            at = begin
            for form in part:
                self._region(form, name, at, case.rows)
                self._fill(form, data, at)
                at += form.width * size
            self.before[name] = self.after[name] = data

    def _fill(self, form: TensorForm, data: Array, at: int) -> None:
        case, arg = self.trial.case, form.arg
        view = data.view(UNSIGNED[form.fmt.size])
        base = at // form.fmt.size
        for segment in self.form.instance.contract.segments:
            if segment.source != arg or not case.rows:
                continue
            width = self.form.widths[segment.name]
            offsets = self.form.origins(segment, np.arange(case.rows))
            stream = self.form.streams[arg]
            first = int(offsets[0, 0]) if width else 0
            made = fingerprints(
                case.seed, stream, form.fmt, case.rows, form.strides[0], first + width
            )
            view[base + offsets] = made[:, first:]
            for (source, row, column), bits in case.payload.items():
                if source == arg and row < case.rows and column < width:
                    view[base + int(offsets[row, column])] = bits

    def _place_slots(self) -> None:
        layout, case = self.trial.layout, self.trial.case
        form = self.form.tensors[self.form.table]
        size = form.fmt.size
        begin = layout.guard + layout.slot_offset * size
        end = begin + max(case.rows * case.slot_stride, 1) * size
        data = np.empty(-(-(end + layout.guard) // 16) * 16, np.uint8)
        view = data.view(self.form.slot_dtype)
        view[:] = self.trap()
        at = begin // size
        if case.rows:
            view[at : at + case.rows * case.slot_stride : case.slot_stride] = self.rows.slots
        self.before[form.arg] = self.after[form.arg] = data
        self.regions[form.arg] = Region(form, form.arg, begin, case.rows, (case.slot_stride,))

    def trap(self) -> int:
        """Return the slot that stands where no row of the table is: free, legal and this rank's.

        A row that is processed without being in the table shows at its place.
        """
        case, dims = self.trial.case, self.form.dims
        used = set(case.slots)
        last = case.pool * dims["WORLD"] - 1
        if self.form.slot_dtype is np.int32:
            last = min(last, (1 << 31) - 1)
        place = last // dims["WORLD"]
        while place > 0:
            slot = place * dims["WORLD"] + dims["RANK"]
            if slot <= last and slot not in used:
                return slot
            place -= 1
        return max(last, 0)

    def _expect(self) -> None:
        keep = self.rows.keep
        self.wanted: list[tuple[str, Array, Array]] = []
        if not keep.size:
            return
        for segment in self.form.instance.contract.segments:
            if not self.form.widths[segment.name]:
                continue
            bits = self.encoded(segment.source, self.form.origins(segment, keep))
            offsets = self.form.targets(segment, self.rows.places[keep])
            region = self.regions[segment.into]
            if segment.into in self.sparse:
                self.wanted.append((segment.into, offsets, bits))
                continue
            view = self.after[region.storage].view(UNSIGNED[region.form.fmt.size])
            view[offsets + region.start // region.form.fmt.size] = bits

    def encoded(self, source: str, offsets: Array) -> Array:
        """Return the contract's encoding of a source's elements at offsets from its start."""
        region = self.regions[source]
        size = region.form.fmt.size
        raw = self.before[region.storage].view(UNSIGNED[size])[offsets + region.start // size]
        return self.form.encoded(source, raw)
