"""A failing trial as text: one line of Python, and a script that needs only torch and triton."""

from __future__ import annotations

from typing import Any

from ..checkers.loading import _missing_imports, _parse
from ..spec.call import DTypeArg, ScalarArg, TensorArg
from ..spec.dtypes import DType, dtype
from ..spec.errors import KvproofError
from ..spec.job import Job
from ..spec.rules import Cast
from .api import Outcome, Prepared, Trial
from .arena import Arena
from .form import Form, exponent_field
from .runner import InterpreterRunner
from .script_parts import BODY, CAST, COPY, HEAD
from .script_stubs import NO_STUBS, STUBS

#: Bytes of memory that a script uses at most: it compares byte by byte in Python.
MOST_BYTES = 1 << 28


def one_line(job: Job, trial: Trial) -> str:
    """Return the trial as one line of Python that runs it again and prints what differs."""
    words = [repr(trial), repr(job.target), repr(job.writer), repr(job.label)]
    if not job.source.root:
        names = job.binding.names
        words.append(f"contract={job.instance.contract.name!r}")
        if names:
            words.append(f"bind={tuple(f'{arg}={name}' for arg, name in names.items())!r}")
    call = f"again({', '.join(words)})"
    return f"from kvproof.cli.again import Case, Layout, Trial, again; {call}"


def stand_alone(prepared: Prepared, trial: Trial, outcome: Outcome) -> str:
    """Return a script that shows the fault with torch and triton alone.

    Run as `python script.py [path of the writer's file]`; it exits 1 with a message when the fault
    shows, 0 when memory is as the contract says, 2 when it cannot be run. The path defaults to the
    one that the trial ran with. Runs on the GPU where there is one, else on Triton's interpreter.
    """
    job = prepared.job
    arena = Arena(prepared, trial, dense=0 if _size(prepared, trial) > MOST_BYTES else MOST_BYTES)
    roots = _roots(job)
    parts = [
        _docstring(job, outcome),
        HEAD.strip(),
        "\n\n".join((_settings(job, roots, outcome), _needs_gpu(prepared, trial))),
        _data(arena),
        _contract(arena.form),
        (STUBS if roots else NO_STUBS).strip(),
        (CAST if isinstance(job.instance.contract.encode, Cast) else COPY).strip(),
        BODY.strip(),
    ]
    return "\n\n\n".join(parts) + "\n"


def _size(prepared: Prepared, trial: Trial) -> int:
    form = Form(prepared.job)
    return sum(form.extent(arg, trial.case.pool) for arg in form.caches)


def _docstring(job: Job, outcome: Outcome) -> str:
    said = [str(item) for item in outcome.mismatches] or [outcome.reason]
    listed = "\n".join(f"    {line}" for line in said if line)
    text = (
        f"{job.function} of {job.target}: {job.instance.contract.promise}\n\n"
        f"Configuration: {job.label}. Seen by {outcome.runner}:\n\n{listed}\n\n"
        "Needs torch and triton. Usage: python THIS [path of the writer's file]\n"
        "Exit code: 1 the fault shows, 0 it does not, 2 it cannot be run here.\n"
    )
    return f'"""{text}"""'.replace("\\", "/")


def _roots(job: Job) -> tuple[str, ...]:
    source = job.source
    if not source.root and not source.stubs:
        return ()
    roots = {*source.stubs}
    if source.root:
        roots.add(source.module.partition(".")[0])
        try:
            roots |= set(_missing_imports(_parse(source.path, source.file)))
        except KvproofError:
            return tuple(sorted(roots))
    return tuple(sorted(roots))


def _settings(job: Job, roots: tuple[str, ...], outcome: Outcome) -> str:
    switches: dict[str, Any] = {}
    for path, switch in job.switches.items():
        form, value = switch[0], switch[1]
        if form.endswith("dtype"):
            value = dtype(str(value)).torch
        switches[path] = (form, value)
    finding = str(outcome.mismatches[0]) if outcome.mismatches else outcome.reason
    return "\n".join(
        (
            f"FILE = {str(job.source.path)!r}",
            f"MODULE = {job.source.module!r}",
            f"FUNCTION = {job.function!r}",
            f"ROOTS = {roots!r}  # packages that are stubbed",
            f"SWITCHES = {switches!r}",
            "VALUES = {}",
            f"FINDING = {finding!r}",
            f"MOST_BYTES = {MOST_BYTES}",
        )
    )


def _needs_gpu(prepared: Prepared, trial: Trial) -> str:
    why = InterpreterRunner().can_run(prepared, trial) or ""
    return f"NEEDS_GPU = {why!r}"


def _data(arena: Arena) -> str:
    trial, form = arena.trial, arena.form
    case = trial.case
    tensors: dict[str, dict[str, Any]] = {}
    ends: dict[str, int] = {}
    for arg, region in arena.regions.items():
        tensors[arg] = {
            "keyword": region.form.keyword,
            "dtype": region.form.passed.torch,
            "size": region.form.fmt.size,
            "stream": form.streams[arg],
            "exponent": exponent_field(region.form.fmt),
            "storage": region.storage,
            "start": region.start,
            "shape": region.shape,
            "strides": region.strides,
        }
        rows = region.rows * (region.strides[0] if region.strides else 1)
        ends[region.storage] = max(
            ends.get(region.storage, 0),
            region.start + rows * region.form.fmt.size + trial.layout.guard,
        )
    ends = {n: len(arena.before[n]) if n in arena.before else e for n, e in ends.items()}
    further = {a.name: a.value for a in form.extra if isinstance(a, ScalarArg)}
    more = [(a.name, a.shape, dtype(a.dtype).torch) for a in form.extra if isinstance(a, TensorArg)]
    kinds = [(a.name, dtype(a.dtype).torch) for a in form.extra if isinstance(a, DTypeArg)]
    listed = "".join(f"    {arg!r}: {tensor!r},\n" for arg, tensor in tensors.items())
    table = tensors[form.table]
    caches = {tensors[arg]["storage"] for arg in form.caches}
    return "\n".join(
        (
            f"ROWS, POOL, SEED = {case.rows}, {case.pool}, {case.seed}",
            f"SLOTS = {case.slots!r}",
            f"SLOT_STRIDE = {case.slot_stride}",
            f"TRAP = {arena.trap()}  # what stands where the slot table has no row",
            f"PAYLOAD = {dict(case.payload)!r}  # (source, row, column): bits",
            f"STORAGES = {ends!r}  # bytes, guards included",
            f"TENSORS = {{\n{listed}}}",
            f"CACHES = {caches!r}",
            f"SLOT_TABLE, SLOT_STORAGE = {form.table!r}, {table['storage']!r}",
            f"FURTHER_TENSORS = {more!r}",
            f"FURTHER_DTYPES = {kinds!r}",
            f"FURTHER = {further!r}",
        )
    )


def _contract(form: Form) -> str:
    contract = form.instance.contract
    lines = [f"{name} = {value}" for name, value in form.dims.items()]
    lines.append("SEGMENTS = (  # name, source, cache, width, place -> offset, row -> offset")
    for segment in contract.segments:
        at = f"lambda place, col: {segment.at!s}"
        begin = f"lambda row, col: {segment.begin!s}"
        width = form.widths[segment.name]
        lines.append(
            f"    ({segment.name!r}, {segment.source!r}, {segment.into!r}, {width}, {at}, {begin}),"
        )
    lines.append(")")
    if isinstance(contract.encode, Cast):
        source = form.tensors[form.sources[0]].fmt
        target = dtype(contract.encode.target)
        lines.append(f"SOURCE, TARGET = {_format(source)}, {_format(target)}")
        lines.append(f"SATURATE = {contract.encode.saturate}")
    drops = [f"slot < 0 or slot >= POOL * {form.dims['WORLD']}"]
    drops += [str(rule.condition) for rule in contract.skip]
    if contract.owner.owned is not None:
        drops.append(f"not {contract.owner.owned}")
    lines += [
        "",
        "",
        "def place_of(slot):",
        f"    return {contract.owner.place!s}",
        "",
        "",
        "def dropped(slot, place):",
        f"    return {' or '.join(drops)}",
    ]
    return "\n".join(lines)


def _format(fmt: DType) -> str:
    return f"({fmt.bits}, {fmt.exponent}, {fmt.mantissa}, {fmt.finite_only})"
