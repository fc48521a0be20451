"""Compile a recorded launch to the text of its TTIR, and no further.

No GPU, no LLVM, no ptxas, no Triton cache. The text keeps its source locations. The compiler is
told nothing of alignment, and `debug` is off: device asserts are not part of what ships.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Any

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend
from triton.compiler.errors import CompilationError

from ..spec.errors import KvproofError
from ..spec.launch import ArgInfo, Launch
from .recording import Recorded
from .targets import named_target
from .ttir_lexer import ttir_hash

_LOCATION = re.compile(r'"(?:[^"\\]|\\.)*":\d+:\d+')


class RejectedByAssert(KvproofError):
    """A kernel's own `tl.static_assert` rejects it: an autotuner drops such a configuration."""


class Compiler:
    """Compile launches for one target; equal programs are compiled once.

    Args:
        target: e.g. `GPUTarget("cuda", 90, 32)`.
        shown: turns a source file's name into the one that reports show.
    """

    def __init__(self, target: GPUTarget, *, shown: Callable[[str], str] = str) -> None:
        """Start with nothing compiled."""
        self.target = target
        self.shown = shown
        self.compiled = 0
        self._texts: dict[tuple[object, ...], str | KvproofError] = {}

    def compile(
        self, launch: Recorded, *, lift: Mapping[str, str] | None = None
    ) -> tuple[Launch, list[str]]:
        """Return the launch with its IR, and notes on what could not be lifted.

        Args:
            launch: what the recorder saw.
            lift: parameter name to signature type ("i32"): compile-time integers that become
                runtime arguments where the kernel's body allows it. Names that the kernel does
                not have as compile-time integers are ignored. Lifted arguments turn from
                "constexpr" into "scalar" and keep their value.

        Raises KvproofError, naming kernel, file:line and the compiler's last line, when the
        kernel does not compile as launched; RejectedByAssert when its own static assert stops it.
        """
        wanted = {
            arg.name: (lift or {})[arg.name] for arg in launch.args if _liftable(arg, lift or {})
        }
        notes: list[str] = []
        try:
            text = self._text(launch, wanted)
        except KvproofError:
            if not wanted:
                raise
            text = self._text(launch, {})
            wanted, text, notes = self._lift_some(launch, wanted, text)
        args = tuple(
            replace(arg, kind="scalar", type=wanted[arg.name]) if arg.name in wanted else arg
            for arg in launch.args
        )
        return self._launch(launch, args, text), notes

    def _lift_some(
        self, launch: Recorded, wanted: dict[str, str], text: str
    ) -> tuple[dict[str, str], str, list[str]]:
        kept: dict[str, str] = {}
        notes: list[str] = []
        for name, kind in wanted.items():
            try:
                text = self._text(launch, {**kept, name: kind})
                kept[name] = kind
            except KvproofError as error:
                notes.append(f"could not lift {name} of {launch.function.__name__}: {error.what}")
        return kept, text, notes

    def _launch(self, launch: Recorded, args: tuple[ArgInfo, ...], text: str) -> Launch:
        function = launch.function
        return Launch(
            kernel=function.__name__,
            file=self.shown(source_file(function)),
            line=def_line(function),
            grid=launch.grid,
            args=args,
            options=dict(launch.options),
            config=launch.config,
            ttir=text,
            ttir_hash=ttir_hash(text),
            triton=triton.__version__,
        )

    def _text(self, launch: Recorded, lifted: Mapping[str, str]) -> str:
        function = launch.function
        signature = {**launch.signature, **lifted}
        names = list(signature)
        constexprs = {
            path: v for path, v in launch.constexprs.items() if names[path[0]] not in lifted
        }
        where = f"{self.shown(source_file(function))}:{def_line(function)}"
        try:
            key = (
                function.cache_key,
                source_file(function),
                repr(signature),
                repr([(path, _identity(value)) for path, value in constexprs.items()]),
                repr(sorted(launch.options.items())),
            )
        except Exception as error:  # the key needs every function that the kernel calls
            raise self._failure(function, where, error) from error
        if key not in self._texts:
            try:
                text = self._compile(function, signature, constexprs, launch.options)
            except Exception as error:
                failure = self._failure(function, where, error)
                self._texts[key] = failure
                raise failure from error
            self._texts[key] = text
        text = self._texts[key]
        if isinstance(text, KvproofError):
            raise text
        if not _LOCATION.search(text):
            raise KvproofError(f"the IR of {function.__name__} has no source lines", where=where)
        return text

    def _compile(
        self, function: Any, signature: Any, constexprs: Any, options: Mapping[str, Any]
    ) -> str:
        if getattr(function, "is_gluon", lambda: False)():
            raise KvproofError("a Gluon kernel has no TTIR")
        self.compiled += 1
        source = ASTSource(function, signature, constexprs)
        backend: Any = make_backend(self.target)
        settings = {**options, "debug": False}
        parsed = backend.parse_options(settings)
        unknown = [name for name in options if name not in vars(parsed)]
        if unknown:
            raise KvproofError(f"it is launched with {', '.join(unknown)}, which it does not take")
        with named_target(self.target):
            try:
                text = self._first_stage(source, backend, parsed)
            except (AttributeError, TypeError, ImportError, KeyError):
                # The steps below Triton's `compile` may change with a version; `compile` does not.
                text = self._all_stages(source, settings)
        return self._shorten(text)

    def _first_stage(self, source: Any, backend: Any, options: Any) -> str:
        context: Any = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        stages: dict[str, Callable[[Any, dict[str, Any]], Any]] = {}
        codegen = backend.get_codegen_implementation(options)
        module = source.make_ir(self.target, options, codegen, backend.get_module_map(), context)
        backend.add_stages(stages, options, source.language)
        return str(stages["ttir"](module, {"target": self.target, **vars(options)}))

    def _all_stages(self, source: Any, options: dict[str, Any]) -> str:
        with TemporaryDirectory() as folder, triton.knobs.cache.scope():
            triton.knobs.cache.dir = folder
            return triton.compile(source, target=self.target, options=options).asm["ttir"]

    def _shorten(self, text: str) -> str:
        def short(match: re.Match[str]) -> str:
            file, line, column = match.group().rsplit(":", 2)
            return f'"{self.shown(file[1:-1])}":{line}:{column}'

        return _LOCATION.sub(short, text)

    def _failure(self, function: Any, where: str, error: Exception) -> KvproofError:
        name = function.__name__
        if isinstance(error, KvproofError):
            return KvproofError(f"kernel {name}: {error.what}", where=where, mend=error.mend)
        outer, inner = error, error
        while inner.__cause__ is not None and isinstance(inner, CompilationError):
            inner = inner.__cause__
        node = getattr(outer, "node", None)
        if isinstance(outer, CompilationError) and node is not None:
            where = f"{self.shown(source_file(function))}:{def_line(function) + node.lineno - 1}"
        lines = [line.strip() for line in str(inner).splitlines() if line.strip()]
        last = lines[-1] if lines else type(inner).__name__
        kind = RejectedByAssert if "CompileTimeAssertionFailure" in _types(error) else KvproofError
        return kind(f"kernel {name} does not compile: {last}", where=where)


def source_file(function: Any) -> str:
    """Return the file that a JITFunction was written in."""
    return function.fn.__code__.co_filename


def def_line(function: Any) -> int:
    """Return the line of a JITFunction's `def`, below its decorators."""
    lines = enumerate(function.raw_src)
    return function.starting_line_number + next(
        (at for at, line in lines if line.strip().startswith("def ")), 0
    )


def _types(error: BaseException | None) -> list[str]:
    names: list[str] = []
    while error is not None:
        names.append(type(error).__name__)
        error = error.__cause__
    return names


def _identity(value: Any) -> object:
    return getattr(value, "cache_key", None) or repr(value)


def _liftable(arg: ArgInfo, lift: Mapping[str, str]) -> bool:
    plain_int = isinstance(arg.value, int) and not isinstance(arg.value, bool)
    return arg.kind == "constexpr" and arg.name in lift and "." not in arg.name and plain_int
