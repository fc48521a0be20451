"""What a trial exercises: classes of case, and clauses of the contract."""

from __future__ import annotations

from ..spec.contract import Instance
from ..spec.job import Job
from ..spec.recipe import place_stride
from ..spec.reference import holds, row_env, skipped
from .api import Layout, Trial, at_dims
from .palette import specials, target_of

_THRESHOLD = 768
#: Rows of a trial that are looked at; those of longer trials repeat them.
_LOOKED = 64


def classes(job: Job, trial: Trial) -> tuple[str, ...]:
    """Return the classes of case that a trial belongs to, for coverage.

    For example "rows: 1", "slots: reserved", "slots: past 2**31 elements", "payload: NaN",
    "layout: split", "width: 0".
    """
    case, instance = trial.case, job.instance
    found: dict[str, None] = {f"rows: {_rows(case.rows)}": None}
    dims = case.dims
    for segment in instance.contract.segments:
        width = int(segment.width.evaluate(dims))
        found[f"width: {_width(width)}"] = None
    slots = case.slots[:_LOOKED]
    if len(set(slots)) < len(slots):
        found["slots: repeated"] = None
    stride = max(place_stride(s, dims) for s in instance.contract.segments)
    last = case.pool * dims["WORLD"] - 1
    for row, slot in enumerate(slots):
        env = row_env(instance, case, row)
        dropped = skipped(instance.contract.skip, env) is not None
        found["slots: reserved" if dropped else "slots: real"] = None
        if slot < 0:
            found["slots: negative"] = None
        if slot == last:
            found["slots: last"] = None
        if slot > last:
            found["slots: past the pool"] = None
        for power in (31, 32):
            if slot >= 0 and env["place"] * stride >= 1 << power:
                found[f"slots: past 2**{power} elements"] = None
        if not _owned(instance, env):
            found["slots: another rank's"] = None
    if slots and "slots: reserved" in found and "slots: real" not in found:
        found["slots: all reserved"] = None
    names = {
        (source, bits): name
        for source in {s.source for s in instance.contract.segments}
        for name, bits in specials(instance.dtypes[source], target_of(job))
    }
    for (source, _, _), bits in case.payload.items():
        found[f"payload: {names.get((source, bits), 'other')}"] = None
    plain = Layout()
    for name in ("cache_offset", "source_offset", "slot_offset", "split", "packed"):
        if getattr(trial.layout, name) != getattr(plain, name):
            found[f"layout: {name.replace('_', ' ')}"] = None
    if case.slot_stride > 1:
        found["layout: strided slots"] = None
    found[f"slot dtype: {instance.dtypes[instance.contract.slots.arg]}"] = None
    return tuple(found)


def clauses(job: Job, trial: Trial) -> tuple[str, ...]:
    """Return the contract's clauses that a trial exercises.

    Each segment that is stored, each skip rule and the owner rule where a row takes them, the
    encoding, and each given whose edge the slots reach.
    """
    case, instance = trial.case, at_dims(job, trial.case.dims).instance
    contract = instance.contract
    found: dict[str, None] = {}
    stored = False
    for row in range(min(case.rows, _LOOKED)):
        env = row_env(instance, case, row)
        rule = skipped(contract.skip, env)
        mine = _owned(instance, env)
        if rule is not None:
            found[f"skip: {rule.sentence}"] = None
        if contract.owner.owned is not None:
            found[f"owner: {contract.owner.sentence}"] = None
        stored = stored or (rule is None and mine)
    if stored:
        for segment in contract.segments:
            if int(segment.width.evaluate(case.dims)):
                found[f"segment: {segment.name}"] = None
        found[f"encode: {contract.encode.sentence}"] = None
    last = case.pool * case.dims["WORLD"] - 1
    reached = {
        "slots>=0": 0 in case.slots,
        "slots<pool": last in case.slots,
        "slots-distinct": len(case.slots) > 1 and stored,
        "same-rows": case.rows > 0,
    }
    for given in contract.given:
        if reached.get(given.key):
            found[f"given: {given.sentence}"] = None
    return tuple(found)


def _owned(instance: Instance, env: dict[str, int]) -> bool:
    owned = instance.contract.owner.owned
    return owned is None or holds(owned, env)


def _rows(rows: int) -> str:
    if rows <= 2:
        return str(rows)
    if rows <= 16:
        return "3 to 16"
    if abs(rows - _THRESHOLD) <= 1:
        return str(rows)
    return "17 and more"


def _width(width: int) -> str:
    if width <= 1:
        return str(width)
    if width & (width - 1) == 0:
        return "a power of two"
    return "odd" if width % 2 else "even, no power of two"
