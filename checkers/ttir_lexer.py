"""Tokens of the IR text that Triton prints, and the hash of that text without its locations.

MLIR prints one op on one line, so a token keeps its line number and the parser may ask whether a
line has ended. A whole type (`tensor<4x!tt.ptr<bf16>>`), a whole splat (`dense<-1>`) and a whole
location (`loc("k.py":3:1)`) are one token each.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import lru_cache

from ..spec.errors import KvproofError

#: How deep brackets may nest inside one type or one location token.
_DEPTH = 12


class TtirSyntaxError(KvproofError):
    """The text is not IR as Triton prints it; `line` counts its lines from 1."""

    def __init__(self, what: str, line: int, excerpt: str) -> None:
        """Name the fault, the line of the IR text, and the start of that line."""
        shown = excerpt.strip()
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        super().__init__(
            f"{what}, in `{shown}`",
            where=f"TTIR line {line}",
            mend="kvproof reads IR as Triton prints it: compile the kernel anew or report the text",
        )
        self.line = line


def _nested(opening: str, closing: str, plain: str) -> str:
    """Return a pattern for bracketed text whose brackets nest up to `_DEPTH` levels."""
    inner = plain
    for _ in range(_DEPTH):
        inner = rf"(?:{plain}|{opening}{inner}*{closing})"
    return rf"{opening}{inner}*{closing}"


_STRING = r'"(?:[^"\\\n]|\\.)*"'
_ANGLES = _nested("<", ">", r"[^<>\n]")
_PARENS = _nested(r"\(", r"\)", rf'(?:[^()"\n]|{_STRING})')

_TOKEN = re.compile(
    "|".join(
        (
            r"(?P<newline>\n)",
            r"(?P<skip>[ \t\r]+|//[^\n]*)",
            r"(?P<value>%[\w$.\-]+(?:\#\d+)?)",
            rf"(?P<loc>loc{_PARENS})",
            rf"(?P<type>(?:tensor|vector|memref|complex|tuple){_ANGLES}|![A-Za-z][\w.$]*(?:{_ANGLES})?)",
            r"(?P<dense>dense(?:_resource)?<[^<>\n]*>)",
            r"(?P<word>[A-Za-z_][\w$.]*)",
            r"(?P<number>-?0x[0-9A-Fa-f]+|-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)",
            rf"(?P<string>{_STRING})",
            rf"(?P<symbol>@(?:[\w$.\-]+|{_STRING}))",
            r"(?P<block>\^[\w$.\-]+)",
            r"(?P<alias>\#[\w$.\-]+)",
            r"(?P<punct>->|::|[(){}\[\]<>=,:*+?/|&!])",
            r"(?P<bad>.)",
        )
    )
)

_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")
_CONTROL = {b"n": b"\n", b"t": b"\t"}


@dataclass(slots=True)
class Tokens:
    """The tokens of one text in parallel lists; an "end" token comes last.

    Locations that name a place for later use (`#loc3 = loc(...)`) are not among the tokens but in
    `locations`, by alias.
    """

    source: str
    kinds: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])
    lines: list[int] = field(default_factory=list[int])
    locations: dict[str, str] = field(default_factory=dict[str, str])

    def error(self, what: str, line: int) -> TtirSyntaxError:
        """Return (not raise) the error for a line of the text."""
        rows = self.source.split("\n")
        return TtirSyntaxError(what, line, rows[line - 1] if line <= len(rows) else "")


def tokenize(text: str) -> Tokens:
    """Split IR text into tokens. Raises TtirSyntaxError at a character that starts none."""
    tokens = Tokens(text)
    kinds, texts, lines = tokens.kinds, tokens.texts, tokens.lines
    line = 1
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "skip":
            continue
        if kind == "newline":
            line += 1
            continue
        token = match.group()
        if kind == "bad" or kind is None:
            raise tokens.error(f"unexpected character {token!r}", line)
        if kind == "loc" and texts and texts[-1] == "=" and kinds[-2:-1] == ["alias"]:
            texts.pop()
            alias = texts.pop()
            if alias in tokens.locations:
                raise tokens.error(f"{alias} is defined twice", line)
            tokens.locations[alias] = token
            del kinds[-2:], lines[-2:]
            continue
        kinds.append(kind)
        texts.append(token)
        lines.append(line)
    kinds.append("end")
    texts.append("")
    lines.append(line + 1)
    return tokens


def hash_tokens(tokens: Tokens) -> str:
    """Return the hash that `ttir_hash` gives for the text of these tokens."""
    parts: list[str] = []
    previous = 0
    for kind, text, line in zip(tokens.kinds, tokens.texts, tokens.lines, strict=True):
        if kind == "loc":
            continue
        parts.append("\n" if line != previous else " ")
        parts.append(text)
        previous = line
    return hashlib.sha256("".join(parts).encode()).hexdigest()


@lru_cache(maxsize=64)  # a kernel's text comes back from every captured call
def ttir_hash(text: str) -> str:
    """Return the sha256 (hex) of IR text without locations, comments and spacing.

    Two texts have one hash when they differ in nothing but where the source stands: file names,
    lines, columns, and the names that only locations carry. Names of values and of functions
    count. Raises TtirSyntaxError where the text has no tokens.
    """
    return hash_tokens(tokenize(text))


def unquote(token: str) -> str:
    r"""Return the contents of a string token; MLIR escapes as `\\` and as `\0A` (hex bytes)."""

    def plain(match: re.Match[bytes]) -> bytes:
        escaped = match.group(1)
        return (
            bytes.fromhex(escaped.decode()) if len(escaped) == 2 else _CONTROL.get(escaped, escaped)
        )

    return _ESCAPE.sub(plain, token[1:-1].encode()).decode(errors="replace")
