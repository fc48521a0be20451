"""Signs, widths and wrapped lines: what all parts of a report on a terminal share."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.text import Text

from ..spec.verdict import Verdict

_STYLE: Final = {
    Verdict.PROVED: "green",
    Verdict.REFUTED: "bold red",
    Verdict.UNKNOWN: "yellow",
    Verdict.UNSUPPORTED: "yellow",
    Verdict.VACUOUS: "yellow",
}
#: Sign of each verdict, where the encoding has them.
MARKS: Final = {
    Verdict.PROVED: "✔",
    Verdict.REFUTED: "✘",
    Verdict.UNKNOWN: "?",
    Verdict.UNSUPPORTED: "!",
    Verdict.VACUOUS: "∅",
}
_PLAIN: Final = {
    Verdict.PROVED: "ok",
    Verdict.REFUTED: "X",
    Verdict.UNKNOWN: "?",
    Verdict.UNSUPPORTED: "!",
    Verdict.VACUOUS: "0",
}
_WORDS: Final = {
    Verdict.PROVED: "proved",
    Verdict.REFUTED: "refuted",
    Verdict.UNKNOWN: "unknown",
    Verdict.UNSUPPORTED: "unsupported",
    Verdict.VACUOUS: "vacuous",
}
_ASCII: Final = str.maketrans({"·": ";", "–": "-", "×": "x", "…": "~"})
#: Column where the text of a labelled line begins.
INDENT: Final = 16
_WIDEST: Final = 110


class Front(Console):
    """A console that falls silent, instead of ending the process, when its reader has gone."""

    def on_broken_pipe(self) -> None:
        """Say nothing more; what is decided stays decided."""
        import os
        import sys

        self.quiet = True
        with open(os.devnull, "w") as nothing:  # noqa: PTH123 - a device, not a file
            os.dup2(nothing.fileno(), sys.stdout.fileno())


def width(console: Console) -> int:
    """Return the columns to write in."""
    return min(console.width, _WIDEST)


def sign(console: Console, verdict: Verdict) -> Text:
    """Return a verdict's sign, in its colour; plain letters where the encoding has no signs."""
    signs = MARKS if fancy(console) else _PLAIN
    return Text(signs[verdict], style=_STYLE[verdict])


def word(verdict: Verdict) -> str:
    """Return a verdict as a word of a sentence."""
    return _WORDS[verdict]


def fancy(console: Console) -> bool:
    """Tell whether the console can write signs beyond ASCII."""
    return console.encoding.lower().replace("-", "").startswith("utf")


def heading(console: Console, text: str) -> None:
    """Write the title of a section."""
    console.print()
    console.print(Text(text, style="bold"), soft_wrap=True)


def labelled(console: Console, label: str, text: str, *, whole: bool = False) -> None:
    """Write `  label   text`, wrapped below the text's first column.

    Args:
        console: where.
        label: a word or two.
        text: any length.
        whole: keep it on one line, so that it can be copied.
    """
    room = max(24, width(console) - INDENT)
    lines = [text] if whole else textwrap.wrap(text, room, break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        start = f"  {label}" if number == 0 else ""
        space = " " if len(start) >= INDENT else ""
        write(console, Text.assemble((start.ljust(INDENT) + space, "dim"), line))


def wrapped(console: Console, text: str, *, indent: int = 2) -> None:
    """Write a paragraph, indented."""
    for line in textwrap.wrap(text, max(24, width(console) - indent), break_on_hyphens=False):
        write(console, Text(" " * indent + line))


def write(console: Console, text: Text) -> None:
    """Write one line as it is, never wrapped by the console."""
    if not fancy(console):
        text = Text(text.plain.translate(_ASCII))
    console.print(text, soft_wrap=True, highlight=False)


def joined(items: Iterable[str], *, most: int = 4, comma: str = ", ") -> str:
    """Return a list in words, cut after `most` with the number of those left out."""
    whole = list(items)
    if len(whole) <= most:
        return comma.join(whole)
    return f"{comma.join(whole[:most])}{comma}and {len(whole) - most} more"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 writer", "1,024 promises"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
