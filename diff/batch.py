"""Many trials of one shape at once: filled, launched and compared on the device, one wait a batch.

A batch is variants of one trial: the same dimensions, layout and row count, other slots, contents
and special values. Each variant is a `Trial` like any other, so that one that differs is run again
alone and told as usual. Works on the CPU too, where it serves the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ..checkers.buffers import INTEGER
from ..checkers.loading import one_line
from ..spec.errors import KvproofError
from ..spec.rules import Cast, Segment
from .api import Outcome, Prepared
from .arena import Arena, Region
from .form import Array, Form, exponent_field
from .hosting import CallableRunner
from .memory import extra_arguments, view_of
from .variants import Variants

#: Bytes that a batch takes at most.
MOST_BYTES = 1 << 32


class BatchRunner:
    """Runs variants on one callable; differing ones alone once more.

    Args:
        runner: what is run: a `LoadedRunner` on a GPU, or any `CallableRunner`.
    """

    def __init__(self, runner: CallableRunner) -> None:
        self.runner = runner
        self.device = torch.device(runner.device)

    def run(self, prepared: Prepared, batch: Variants) -> dict[int, Outcome]:
        """Run all variants; return the outcomes of those that are not as the contract says.

        An exception ends the batch: it is the outcome of the variant that raised it, and the later
        ones did not run. Sparse caches are refused with KvproofError.
        """
        memory = BatchMemory(prepared, batch, self.device)
        function, block = self.runner.called(prepared.job)
        with block:
            raised = memory.launch(function)
        if raised is not None:
            index, problem = raised
            reason = one_line(problem)
            return {index: Outcome(runner=self.runner.name, status="raised", reason=reason)}
        found: dict[int, Outcome] = {}
        for index in memory.differing():
            found[index] = self.runner.run(prepared, batch.at(index))
            if found[index].status == "agrees":
                reason = "it differs in a batch and agrees alone"
                found[index] = Outcome(runner=self.runner.name, status="failed", reason=reason)
        return found


class BatchMemory:
    """The storages of all variants of a batch, one row of bytes each, before and after.

    Args:
        prepared: the call.
        batch: the variants.
        device: where they lie.

    Raises:
        KvproofError: a cache is sparse, or the batch takes too many bytes.
    """

    def __init__(self, prepared: Prepared, batch: Variants, device: torch.device) -> None:
        self.batch, self.device = batch, device
        arena = Arena(prepared, batch.at(0))
        if arena.sparse:
            raise KvproofError("the cache is too large for a batch", mend="use a smaller pool")
        self.arena, self.form = arena, arena.form
        count = len(batch)
        total = 2 * count * sum(data.size for data in arena.before.values())
        if total > MOST_BYTES:
            raise KvproofError(f"the batch takes {total >> 20} MiB", mend="take fewer variants")
        self.storages: dict[str, torch.Tensor] = {
            name: torch.from_numpy(data).to(device).expand(count, -1).contiguous()
            for name, data in arena.before.items()
        }
        self._fill()
        self.wanted = {name: data.clone() for name, data in self.storages.items()}
        self._expect()

    def _typed(self, storages: Mapping[str, torch.Tensor], region: Region) -> torch.Tensor:
        return storages[region.storage].view(INTEGER[region.form.fmt.size])

    def _up(self, values: Array) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)

    def _fill(self) -> None:
        rows = self.batch.trial.case.rows
        table = self.arena.regions[self.form.table]
        if not rows:
            return
        typed = self._typed(self.storages, table)
        at = table.start // table.form.fmt.size + np.arange(rows) * table.strides[0]
        typed[:, self._up(at)] = self._up(self.batch.slots).to(typed.dtype)
        seeds = self._up(self.batch.seeds)
        for segment in self.form.instance.contract.segments:
            if not self.form.widths[segment.name]:
                continue
            region = self.arena.regions[segment.source]
            offsets = self._up(self.form.origins(segment, np.arange(rows)).reshape(-1))
            bits = fingerprints(seeds, self.form.streams[segment.source], offsets, region)
            typed = self._typed(self.storages, region)
            typed[:, offsets + region.start // region.form.fmt.size] = bits.to(typed.dtype)
            self._specials(segment, region)

    def _specials(self, segment: Segment, region: Region) -> None:
        picked = [
            (k, item)
            for k, item in enumerate(self.batch.special)
            if item is not None
            and item[0] == segment.source
            and item[2] < self.form.widths[segment.name]
        ]
        if not picked:
            return
        size = region.form.fmt.size
        typed = self._typed(self.storages, region)
        offsets = self.form.origins(segment, np.arange(self.batch.trial.case.rows))
        where = [int(offsets[item[1], item[2]]) + region.start // size for _, item in picked]
        bits = np.array([item[3] for _, item in picked], dtype=np.uint64).astype(np.int64)
        typed[self._up(np.array([k for k, _ in picked])), self._up(np.array(where))] = self._up(
            bits
        ).to(typed.dtype)

    def _expect(self) -> None:
        kept, rows, places = self._kept()
        if not kept.size:
            return
        for segment in self.form.instance.contract.segments:
            if not self.form.widths[segment.name]:
                continue
            source, cache = self.arena.regions[segment.source], self.arena.regions[segment.into]
            begin = self.form.origins(segment, rows) + source.start // source.form.fmt.size
            at = self.form.targets(segment, places) + cache.start // cache.form.fmt.size
            owner = self._up(kept)[:, None]
            bits = self._typed(self.storages, source)[owner, self._up(begin)]
            made = encoded(self.form, segment.source, bits)
            typed = self._typed(self.wanted, cache)
            typed[owner, self._up(at)] = made.to(typed.dtype)

    def _kept(self) -> tuple[Array, Array, Array]:
        """Return variant, row and place of each row that must be stored."""
        rows = self.batch.slots.shape[1]
        case = replace(
            self.batch.trial.case, slots=tuple(self.batch.slots.reshape(-1).tolist()), payload={}
        )
        flat = self.form.rows(replace(self.batch.trial, case=case))
        return flat.keep // max(rows, 1), flat.keep % max(rows, 1), flat.places[flat.keep]

    def launch(self, function: Callable[..., Any]) -> tuple[int, Exception] | None:
        """Call the function once per variant, without waiting for the device."""
        regions = list(self.arena.regions.values())
        flat = {name: data.reshape(-1) for name, data in self.storages.items()}
        steps = {name: data.shape[1] for name, data in self.storages.items()}
        extra = extra_arguments(self.form.extra, self.device)
        typed = {r.form.arg: view_of(flat[r.storage], r) for r in regions}
        places = [
            (
                r.form.keyword,
                typed[r.form.arg],
                r.shape,
                r.strides,
                r.start // r.form.passed.size,
                steps[r.storage] // r.form.passed.size,
            )
            for r in regions
        ]
        index = 0
        try:
            for index in range(len(self.batch)):
                arguments = {
                    keyword: view.as_strided(shape, strides, first + index * step)
                    for keyword, view, shape, strides, first, step in places
                }
                function(**arguments, **extra)
        except Exception as problem:  # noqa: BLE001 - a writer may raise anything
            return index, problem
        return None

    def differing(self) -> list[int]:
        """Return the variants whose memory is not as the contract says; waits for the device."""
        wrong = torch.zeros(len(self.batch), dtype=torch.bool, device=self.device)
        for name, data in self.storages.items():
            wrong |= (data != self.wanted[name]).any(dim=1)
        return wrong.nonzero().reshape(-1).tolist()


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def fingerprints(
    seeds: torch.Tensor, stream: int, offsets: torch.Tensor, region: Region
) -> torch.Tensor:
    """Return `kvproof.diff.form.fingerprints` for each seed and offset, as int64."""
    base = _signed(stream * 0xD1B54A32D192ED03)
    x = offsets[None, :] * _signed(0x9E3779B97F4A7C15) + base + seeds[:, None] + 1
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ ((x >> 33) & 0x7FFFFFFF)) * _signed(factor)
    x = x ^ ((x >> 33) & 0x7FFFFFFF)
    bits = region.form.fmt.bits
    if bits < 64:
        x = x & ((1 << bits) - 1)
    x = torch.where(x == 0, 1, x)
    field, low = exponent_field(region.form.fmt)
    return torch.where(x & field == field, x ^ low, x) if field else x


def encoded(form: Form, source: str, bits: torch.Tensor) -> torch.Tensor:
    """Return the contract's encoding of source patterns, on their device.

    Raises KvproofError for a cast from a format of more than 16 bits: there is no table of it.
    """
    encode = form.instance.contract.encode
    if not isinstance(encode, Cast):
        return bits
    table = form.encode[source]
    if table is None:
        raise KvproofError(f"no table of casts from {form.tensors[source].fmt.name}")
    index = bits.to(torch.int64) & ((1 << form.tensors[source].fmt.bits) - 1)
    lookup = torch.from_numpy(table.astype(np.int64)).to(bits.device)
    return lookup[index]
