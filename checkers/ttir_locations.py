"""Source lines of ops: from MLIR's location texts to one file and line that a person can open."""

from __future__ import annotations

import re

from .ttir import SourceLine
from .ttir_lexer import Tokens, unquote

_FILE = re.compile(r'("(?:[^"\\]|\\.)*"):(\d+)(?::(\d+))?(?: to .*)?')
_NAMED = re.compile(r'"(?:[^"\\]|\\.)*"(?:\((.*)\))?')
_FUSED = re.compile(r"fused(?:<.*>)?\[(.*)\]")
_CALLSITE = re.compile(r"callsite\((.*)\)")
_LIBRARY = re.compile(r"(?:^|[/\\])triton[/\\](?:language|experimental)[/\\]")


def in_library(line: SourceLine) -> bool:
    """Say whether a line belongs to the functions that come with triton, e.g. `tl.max`."""
    return _LIBRARY.search(line.file) is not None


def _split(text: str, separator: str) -> list[str]:
    """Split at a separator that stands outside brackets and strings."""
    parts, depth, start, quoted, i = list[str](), 0, 0, False, 0
    while i < len(text):
        char = text[i]
        if quoted:
            i += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char in "([<":
            depth += 1
        elif char in ")]>":
            depth -= 1
        elif depth == 0 and text.startswith(separator, i):
            parts.append(text[start:i])
            start = i + len(separator)
        i += 1
    return [*parts, text[start:]]


class Locations:
    """Resolves the location tokens of one text; each distinct token is worked out once.

    A name (`"x"(...)`) gives the place that it names. A call (`callsite(inner at outer)`) and a
    fusion (`fused[a, b]`) give the first of their places that is known and is outside the triton
    package, else the last that is known: the innermost line of the user's own code.
    """

    def __init__(self, tokens: Tokens) -> None:
        """Keep the text's location aliases."""
        self._tokens = tokens
        self._known: dict[str, SourceLine | None] = {}

    def of(self, token: str, line: int) -> SourceLine | None:
        """Return the place of a token `loc(...)`; None when unknown.

        Raises TtirSyntaxError, with the line of the IR text, for a location that is undefined,
        circular or not a location.
        """
        if token not in self._known:
            self._known[token] = self._resolve(token[4:-1], line, ())
        return self._known[token]

    def _resolve(self, text: str, line: int, seen: tuple[str, ...]) -> SourceLine | None:
        text = text.strip()
        if text == "unknown":
            return None
        if text.startswith("#"):
            target = self._tokens.locations.get(text)
            if target is None or text in seen:
                fault = "undefined" if target is None else "circular"
                raise self._tokens.error(f"{fault} location {text}", line)
            return self._resolve(target[4:-1], line, (*seen, text))
        if match := _FILE.fullmatch(text):
            return SourceLine(unquote(match[1]), int(match[2]), int(match[3] or 0))
        if match := _NAMED.fullmatch(text):
            return None if match[1] is None else self._resolve(match[1], line, seen)
        if match := _CALLSITE.fullmatch(text):
            parts = _split(match[1], " at ")
            if len(parts) == 2:
                return self._best(parts, line, seen)
        if match := _FUSED.fullmatch(text):
            return self._best(_split(match[1], ","), line, seen)
        raise self._tokens.error(f"unreadable location {text!r}", line)

    def _best(self, parts: list[str], line: int, seen: tuple[str, ...]) -> SourceLine | None:
        places = [self._resolve(part, line, seen) for part in parts]
        known = [place for place in places if place is not None]
        own = [place for place in known if not in_library(place)]
        return own[0] if own else known[-1] if known else None
