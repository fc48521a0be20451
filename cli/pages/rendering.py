"""From pages to files: HTML with everything inside it, Markdown with its drawings beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from ...spec.invariants import INVARIANTS
from ...spec.verdict import SEVERITY, Verdict
from .evidence import Mark, mark
from .page import Index, Options, Page
from .rows import CacheRow
from .svg import MARK, TEMPLATES, stylesheet, trusted
from .text import code, html, markdown

KINDS: Final = {
    "caller": "the caller's promise",
    "bound": "a bound",
    "launch": "read off the launches",
    "approximation": "an approximation",
}


def render(index: Index, options: Options) -> dict[str, str]:
    """Return every file of a target: name -> text."""
    environment = _environment()
    files: dict[str, str] = {}
    for page in index.pages:
        values = _values(options, again=page.again, seconds=page.seconds) | {
            "page": page,
            "unasked": _unasked(page),
            "ir_by": f"triton {options.versions['triton']}" if "triton" in options.versions else "",
        }
        files |= _both(environment, "page", page.stem, values)
        for figure in page.drawings:
            if figure.drawing is not None:
                files[f"{figure.name}.svg"] = figure.drawing.standalone()
    values = _values(options, again=index.again, seconds=index.seconds) | {"index": index}
    return files | _both(environment, "index", "index", values)


def _both(
    environment: Environment, template: str, stem: str, values: Mapping[str, Any]
) -> dict[str, str]:
    made = environment.get_template(f"{template}.html.j2").render(values)
    plain = environment.get_template(f"{template}.md.j2").render(values)
    return {f"{stem}.html": _tidy(made, blank=1), f"{stem}.md": _tidy(plain, blank=2)}


def _tidy(text: str, *, blank: int) -> str:
    """Return a text without spaces at the ends of lines and runs of blank lines."""
    lines = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    return re.sub(rf"\n{{{blank + 1},}}", "\n" * blank, lines).strip() + "\n"


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(("html", "html.j2"), default_for_string=True),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {
        "html": html,
        "md": markdown,
        "code": code,
        "mark": mark,
        "short": _short,
        "pieces": _pieces,
        "worst": _worst,
        "count": _count,
    }
    made.filters.update(filters)
    return made


def _values(options: Options, *, again: str, seconds: float) -> dict[str, Any]:
    return {
        "generated": trusted(MARK),
        "style": trusted(stylesheet() + (TEMPLATES / "page.css").read_text(encoding="utf-8")),
        "again": again,
        "volatile": options.volatile,
        "versions": options.versions if options.volatile else {},
        "seconds": seconds,
        "kinds": KINDS,
        "legend": [*(mark(verdict) for verdict in SEVERITY), mark(None)],
        "titles": {one.id: one.title for one in INVARIANTS.values()},
        "sentences": {one.id: one.sentence for one in INVARIANTS.values()},
    }


def _unasked(page: Page) -> list[tuple[str, str, str]]:
    """Return the invariants that no verdict of the page speaks of: (id, title, why)."""
    found: list[tuple[str, str, str]] = []
    for one in page.evidence:
        if one.verdict is not None:
            continue
        decided = INVARIANTS[one.id].decided
        why = decided if one.method in ("out of reach", "follows") else one.said
        if one.method == "run":
            told = "not run" if page.runs is None else page.runs.told(one.id)
            why = f"decided by runs ({decided.partition(': ')[2]}): {told}"
        found.append((one.id, one.title, why))
    return found


def _short(hashes: str) -> str:
    return " + ".join(one[:12] for one in hashes.split(" + "))


def _pieces(row: CacheRow) -> str:
    return ", ".join(
        f"{piece.segment} {piece.first:,} to {piece.first + piece.width - 1:,}"
        for piece in row.pieces[:12]
    ) + (f", and {len(row.pieces) - 12} more runs" if len(row.pieces) > 12 else "")


def _verdicts(page: Page, name: str) -> list[Verdict]:
    return [one.verdicts[name] for one in page.configurations if name in one.verdicts]


def _worst(page: Page, name: str) -> Mark:
    found = _verdicts(page, name)
    return mark(max(found, key=SEVERITY.index) if found else None)


def _count(page: Page, name: str) -> str:
    """Return in how many configurations the worst verdict is found, where not in all."""
    counts = Counter(_verdicts(page, name))
    if len(counts) < 2:
        return ""
    return f" {counts[max(counts, key=SEVERITY.index)]}"
