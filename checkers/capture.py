"""Call a host function once and say what it launched. Runs in the child process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import torch

from ..spec.call import CallRecipe
from ..spec.errors import KvproofError
from ..spec.launch import Capture, Launch
from .capturing import TORCH_WROTE
from .compiling import Compiler, RejectedByAssert
from .loading import Loaded, line_in, one_line
from .recording import Recorded, Recorder
from .targets import named_target
from .tensors import KnownTensors, make_arguments


def capture(
    loaded: Loaded,
    callable_name: str,
    recipe: CallRecipe,
    compiler: Compiler,
    *,
    lift: Mapping[str, str] | None = None,
) -> Capture:
    """Call a function of a loaded module with the recipe's arguments, and compile its launches.

    An exception of the host function, or a kernel that does not compile, becomes `Capture.error`
    (with the launches before it). A host function that launches nothing gives no launches and no
    error. The notes name every stub that was called, the tensors that torch itself wrote,
    temporaries behind pointers, and constants that could not be lifted. Configurations of an
    autotuner that the kernel's own static assert rejects are left out with a note, as Triton does.

    Raises KvproofError when there is no such function or the recipe itself is wrong.
    """
    function = loaded.function(callable_name)
    arguments = make_arguments(recipe)
    tensors = {name: value for name, value in arguments.items() if isinstance(value, torch.Tensor)}
    known = KnownTensors(tensors)
    recorder = Recorder(known, compiler.target)
    space = loaded.space
    space.notes.clear()

    def describe(values: Sequence[object]) -> str:
        names = known.names(list(values))
        return f"tensors {', '.join(names)}" if names else ""

    error: str | None = None
    space.describe = describe
    try:
        with space, named_target(compiler.target), recorder:
            function(**arguments)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - an engine may raise anything
        error = _host_error(problem, loaded, callable_name)
    finally:
        space.describe = None
    notes = [*space.notes, *recorder.notes]
    notes += [f"{TORCH_WROTE} {name}, outside any kernel" for name in known.written()]
    with space:
        launches, problem, more = _compile_all(recorder.launches, compiler, lift)
    return Capture(tuple(launches), error or problem, (*notes, *dict.fromkeys(more)))


def _compile_all(
    recorded: Sequence[Recorded], compiler: Compiler, lift: Mapping[str, str] | None
) -> tuple[list[Launch], str | None, list[str]]:
    launches: list[Launch] = []
    notes: list[str] = []
    for item in recorded:
        try:
            launch, more = compiler.compile(item, lift=lift)
        except KvproofError as problem:
            if isinstance(problem, RejectedByAssert) and _tried(item, recorded):
                notes.append(f"configuration {item.config} is rejected: {problem}")
                continue
            return launches, str(problem), notes
        launches.append(launch)
        notes += more
    rejected = len(recorded) - len(launches)
    if rejected and not launches:
        return launches, notes[-1], notes
    return launches, None, notes


def _tried(item: Recorded, recorded: Sequence[Recorded]) -> bool:
    others = {other.config for other in recorded if other.function is item.function}
    return bool(item.config) and len(others) > 1


def _host_error(problem: BaseException, loaded: Loaded, name: str) -> str:
    if isinstance(problem, KvproofError):
        return f"{name}: {problem}"
    line = line_in(problem, loaded.source.path)
    file = loaded.shown(str(loaded.source.path))
    at = f"{file}:{line}" if line else file
    return cast(str, KvproofError(f"{name} raises {one_line(problem)}", where=at).args[0])
