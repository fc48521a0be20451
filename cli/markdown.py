"""A summary of findings in Markdown, for a comment on a pull request."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2

from ..spec.invariants import PROVED_BY_CHECK, invariant
from ..spec.verdict import SEVERITY, Verdict
from .digest import Digest, Entry
from .finding import place_of, replay_of, said_of
from .layout import MARKS, counted, joined, word
from .versions import versions

#: GitHub takes comments of so many characters; the summary stays below in bytes of UTF-8.
LIMIT = 65_536
#: Rows and lines of one list above which the rest is counted; the next number where the summary
#: is too long even without any finding.
_MOST = (100, 20, 5)
#: Characters of one text.
_LONGEST = 600
_FOLDER = Path(__file__).resolve().parent / "templates"


def to_markdown(digest: Digest, *, limit: int = LIMIT) -> str:
    """Return the summary; findings that do not fit the limit (bytes) are counted at its end."""
    entries, claims = digest.entries(), digest.entries(claims=True)
    every = len(entries) + len(claims)

    def fits(shown: int, most: int) -> bool:
        return len(_render(digest, entries, claims, shown, most).encode()) < limit

    most = next((number for number in _MOST if fits(0, number)), _MOST[-1])
    low, high = 0, every
    if fits(every, most):
        low = every
    while low < high:  # the most findings that fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle, most) else (low, middle - 1)
    return _render(digest, entries, claims, low, most)


def _render(
    digest: Digest, entries: list[Entry], claims: list[Entry], shown: int, most: int
) -> str:
    cells = digest.cells()
    asked = {name for row in cells.values() for name in row}
    every, some = digest.assumptions()
    told = [_told(entry) for entry in entries[:shown]]
    further = [_told(entry) for entry in claims[: max(0, shown - len(entries))]]
    verdicts = {verdict for row in cells.values() for verdict in row.values()}
    text = _template().render(
        digest=digest,
        mark=_headline_mark(digest, entries),
        headline=_headline(digest, entries),
        every=every,
        some=some,
        columns=[name for name in PROVED_BY_CHECK if name in asked],
        rows=[
            (writer, digest.configurations.get(writer, 0), cells[writer])
            for writer in list(cells)[:most]
        ],
        rows_left=max(0, len(cells) - most),
        legend=[f"{MARKS[one]} {word(one)}" for one in SEVERITY if one in verdicts],
        marks=MARKS,
        findings=[one for one in told if not one["known"]],
        known=[one for one in told if one["known"]],
        claims=further,
        left_out=len(entries) + len(claims) - shown,
        most=most,
        counts=", ".join(
            f"{MARKS[verdict]} {count:,} {word(verdict)}"
            for verdict, count in digest.counts().items()
            if count
        ),
        writers=counted(len(cells), "writer"),
        configurations=counted(sum(digest.configurations.values()), "configuration"),
        promises=counted(len(digest.told), "promise"),
        versions=", ".join(f"{name} {version}" for name, version in versions().items()),
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def _told(entry: Entry) -> dict[str, Any]:
    told, result = entry.told, entry.told.result
    about = invariant(result.invariant)
    refuted = result.verdict is Verdict.REFUTED
    return {
        "mark": MARKS[result.verdict],
        "title": f"{about.id} {about.title}: {said_of(result)}",
        "claim": "does not hold" if refuted else f"{word(result.verdict)}: {result.detail}",
        "writer": result.writer,
        "contract": told.contract,
        "spot": str(told.spot),
        "code": told.spot.code,
        "statement": result.statement,
        "detail": result.detail,
        "at": f"{place_of(result)}{told.label}",
        "safe": ""
        if result.safe_up_to is None
        else f"up to {result.safe_of or 'slot'} {result.safe_up_to:,}",
        "replayed": replay_of(result) if result.replay else "",
        "assumes": result.assumes,
        "seen": entry.seen,
        "reproduce": told.reproduce,
        "known": told.known,
    }


def _headline(digest: Digest, entries: list[Entry]) -> str:
    fresh = [entry for entry in entries if not entry.told.known]
    refuted = sum(entry.told.result.verdict is Verdict.REFUTED for entry in fresh)
    parts = []
    if refuted:
        parts.append(f"{counted(refuted, 'broken promise')}")
    if len(fresh) > refuted:
        parts.append(f"{len(fresh) - refuted:,} undecided")
    if digest.errors:
        parts.append(f"{sum(len(one.labels) for one in digest.errors):,} not checked")
    if known := len(entries) - len(fresh):
        parts.append(counted(known, "known fault"))
    if digest.mended:
        parts.append(f"{len(digest.mended):,} mended")
    if not digest.told and not digest.errors:
        return "nothing was checked"
    return ", ".join(parts) or "everything is proved"


def _headline_mark(digest: Digest, entries: list[Entry]) -> str:
    fresh = {entry.told.result.verdict for entry in entries if not entry.told.known}
    if Verdict.REFUTED in fresh or digest.mended:
        return MARKS[Verdict.REFUTED]
    if fresh or digest.errors or not digest.told:
        return MARKS[Verdict.UNKNOWN]
    return MARKS[Verdict.PROVED]


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = jinja2.Environment(  # noqa: S701 - Markdown; the filters below escape it
        loader=jinja2.FileSystemLoader(_FOLDER),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {"md": _escaped, "code": _code, "joined": joined}
    return environment.get_template("summary.md.j2")


def _escaped(text: str) -> str:
    """Return text that Markdown, and a code host's mentions, leave as it is."""
    plain = _cut(text).replace("&", "&amp;").replace("<", "&lt;")
    plain = re.sub(r"([\\`*_{}\[\]()|~>])", r"\\\1", plain)
    return plain.replace("@", "@<!-- -->").replace("#", "#<!-- -->")


def _code(text: str, *, cell: bool = False) -> str:
    """Return text as a code span, whatever backticks it holds."""
    plain = _cut(text)
    if cell:
        plain = plain.replace("|", "\\|")
    runs = [len(run) for run in re.findall(r"`+", plain)]
    fence = "`" * next(size for size in range(1, len(runs) + 2) if size not in runs)
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"
