"""A second opinion: every UNSAT of z3 is asked again of bitwuzla, from SMT-LIB text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..spec.errors import KvproofError
from .integers import Integers
from .smtlib import text_of

#: Bits in which no sum or product of a question over integers wraps.
_UNBOUNDED = 256


@dataclass(frozen=True)
class Certificate:
    """What the second solver said about the UNSAT answers of a job.

    Args:
        asked: questions, each once.
        confirmed: those it calls unsatisfiable too.
        open: those it does not answer in time, or does not read, with the reason of the first.
        disagreements: one line for each that it calls satisfiable.
    """

    asked: int = 0
    confirmed: int = 0
    open: int = 0
    reason: str = ""
    disagreements: tuple[str, ...] = ()

    def plus(self, other: Certificate) -> Certificate:
        """Return the two together."""
        return Certificate(
            self.asked + other.asked,
            self.confirmed + other.confirmed,
            self.open + other.open,
            self.reason or other.reason,
            (*self.disagreements, *other.disagreements),
        )


@dataclass
class Certifier:
    """Asks the second solver, writes questions to files, or both.

    Args:
        second: whether bitwuzla is asked.
        folder: where every UNSAT question is written as SMT-LIB; nowhere when None.
        timeout: seconds per question.

    Raises:
        KvproofError: bitwuzla is asked for and not installed, or the folder cannot be made.
    """

    second: bool = True
    folder: Path | None = None
    timeout: float = 20.0
    _seen: dict[str, str] = field(default_factory=dict)
    _found: Certificate = field(default_factory=Certificate)

    def __post_init__(self) -> None:
        """Check that all is there."""
        if self.second:
            require_second()
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                raise KvproofError(
                    f"cannot be made ({problem.strerror})", where=f"--dump-smt {self.folder}"
                ) from None

    def unsat(self, terms: Iterable[Any], *, integers: bool = False) -> str | None:
        """Take note of an UNSAT of z3. Return one line when the second solver contradicts it.

        Args:
            terms: the question, in bit-vectors.
            integers: z3 was asked over unbounded integers, where nothing wraps. What is
                satisfiable in 64 bits is then asked once more of numbers that do not wrap.
        """
        asked = list(terms)
        text = text_of(asked)
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        if name in self._seen:
            return self._seen[name] or None
        self._seen[name] = ""
        self._write(name, text)
        if not self.second:
            return None
        answer, reason = ask(text, timeout=self.timeout)
        if answer == "sat" and integers:
            text = text_of(Integers(bits=_UNBOUNDED).query(asked))
            self._write(name, text)
            answer, reason = ask(text, timeout=self.timeout)
        line = ""
        if answer == "sat":
            where = "" if self.folder is None else f" ({self.folder / name}.smt2)"
            line = f"question {name}: z3 says unsat, bitwuzla says sat{where}"
        self._seen[name] = line
        self._found = self._found.plus(
            Certificate(
                1,
                int(answer == "unsat"),
                int(answer == "unknown"),
                reason,
                (line,) if line else (),
            )
        )
        return line or None

    def _write(self, name: str, text: str) -> None:
        if self.folder is not None:
            (self.folder / f"{name}.smt2").write_text(text, encoding="utf-8")

    def take(self) -> Certificate:
        """Return what was found since the last call."""
        found, self._found = self._found, Certificate()
        return found


def require_second() -> None:
    """Raise KvproofError when bitwuzla is not installed."""
    if find_spec("bitwuzla") is None:
        raise KvproofError(
            "bitwuzla is not installed", where="--certify", mend="pip install 'kvproof[certify]'"
        )


def ask(text: str, *, timeout: float) -> tuple[str, str]:
    """Return ("sat", "unsat" or "unknown", why it is unknown) for an SMT-LIB script."""
    bitwuzla: Any = import_module("bitwuzla")
    options: Any = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, int(timeout * 1000))
    try:
        parser: Any = bitwuzla.Parser(bitwuzla.TermManager(), options)
        script = text.replace("(check-sat)", "")
        parser.parse(script, parse_only=True, parse_file=False)
        result: Any = parser.bitwuzla().check_sat()
    except bitwuzla.BitwuzlaException as problem:
        return "unknown", str(problem).splitlines()[0][:120]
    if result == bitwuzla.Result.UNSAT:
        return "unsat", ""
    if result == bitwuzla.Result.SAT:
        return "sat", ""
    return "unknown", f"no answer in {timeout:g} s"
