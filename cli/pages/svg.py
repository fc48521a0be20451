"""Inline SVG, made shape by shape: every text escaped, every drawing with a title and a text."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from markupsafe import Markup

TEMPLATES: Final = Path(__file__).resolve().parent / "templates"
#: Width of an average character, as a part of the font's size; that of a wide font.
_WIDE: Final = 0.62
SIZE: Final = 12.5


def text_width(text: str, size: float = SIZE) -> float:
    """Return the room that a text needs at most, in pixels."""
    return len(text) * size * _WIDE


class Drawing:
    """A drawing; shapes lie above those that were added before.

    Args:
        key: unique within a page; ids are made from it.
        width: pixels.
        title: what is drawn, in a few words.
        desc: the same as the drawing says, in sentences, for a reader who does not see it.
    """

    def __init__(self, *, key: str, width: int, title: str, desc: str) -> None:
        self.key = key
        self.width = width
        self.height = 0.0
        self.title = title
        self.desc = desc
        self._parts: list[Markup] = []

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, **data: object
    ) -> None:
        """Add a rectangle of a CSS class; `data` becomes data- attributes."""
        self._grow(y + height)
        extra = Markup("").join(
            Markup(' data-{}="{}"').format(name, value) for name, value in data.items()
        )
        self._parts.append(
            Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"{}/>').format(
                kind, _number(x), _number(y), _number(width), _number(height), extra
            )
        )

    def hatched(
        self, x: float, y: float, width: float, height: float, kind: str, **data: object
    ) -> None:
        """Add a rectangle, and over it the hatching of its class ("gap", "skip" or "bad")."""
        self.rect(x, y, width, height, kind, **data)
        hatching = f"{self.key}-{kind.split(maxsplit=1)[0]}"
        self._parts.append(
            Markup(
                '<rect class="over" x="{}" y="{}" width="{}" height="{}" fill="url(#{})"/>'
            ).format(_number(x), _number(y), _number(width), _number(height), hatching)
        )

    def text(self, x: float, y: float, text: str, kind: str = "", *, anchor: str = "start") -> None:
        """Add one line of text whose baseline is at y."""
        self._grow(y + 4)
        css = Markup(' class="{}"').format(kind) if kind else ""
        at = "" if anchor == "start" else Markup(' text-anchor="{}"').format(anchor)
        self._parts.append(
            Markup('<text{} x="{}" y="{}"{}>{}</text>').format(
                css, _number(x), _number(y), at, text
            )
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str = "edge") -> None:
        """Add a line; the class "arrow" puts a head at its end."""
        self._grow(max(y1, y2))
        head = Markup(' marker-end="url(#{}-{})"')
        end = head.format(self.key, "head-bad" if "bad" in kind else "head")
        self._parts.append(
            Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"{}/>').format(
                kind, _number(x1), _number(y1), _number(x2), _number(y2),
                end if "arrow" in kind else "",
            )
        )  # fmt: skip

    def _grow(self, bottom: float) -> None:
        self.height = max(self.height, bottom)

    def inline(self) -> Markup:
        """Return the drawing for an HTML page, which brings the style."""
        return self._svg(Markup(""), Markup(""))

    def standalone(self) -> str:
        """Return the drawing as a file of its own, light and dark."""
        style = Markup("<style>{}</style>").format(trusted(stylesheet()))
        made = self._svg(
            Markup(' xmlns="http://www.w3.org/2000/svg" width="{}" height="{}"').format(
                self.width, _number(self.height + 8)
            ),
            style + Markup('<rect class="paper" width="100%" height="100%"/>'),
        )
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{MARK}\n{made}'

    def _svg(self, attributes: Markup, first: Markup) -> Markup:
        box = f"0 0 {self.width} {_number(self.height + 8)}"
        head = Markup(
            '<svg class="kd" role="img" viewBox="{}" aria-labelledby="{}-t {}-d"{}>\n'
            '<title id="{}-t">{}</title>\n<desc id="{}-d">{}</desc>\n'
        ).format(box, self.key, self.key, attributes, self.key, self.title, self.key, self.desc)
        return (
            head
            + first
            + trusted(_DEFS).format(key=self.key)
            + Markup("\n").join(self._parts)
            + Markup("\n</svg>\n")
        )


_DEFS: Final = (
    "<defs>"
    '<pattern id="{key}-gap" width="8" height="8" patternUnits="userSpaceOnUse">'
    '<path class="hatch-gap" d="M0 8L8 0"/></pattern>'
    '<pattern id="{key}-skip" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<path class="hatch-skip" d="M0 0L6 6"/></pattern>'
    '<pattern id="{key}-bad" width="9" height="9" patternUnits="userSpaceOnUse">'
    '<path class="hatch-bad" d="M0 0L9 9M0 9L9 0"/></pattern>'
    '<marker id="{key}-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
    'markerHeight="8" orient="auto" markerUnits="userSpaceOnUse">'
    '<path class="head" d="M0 0L8 4L0 8z"/></marker>'
    '<marker id="{key}-head-bad" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
    'markerHeight="8" orient="auto" markerUnits="userSpaceOnUse">'
    '<path class="head-bad" d="M0 0L8 4L0 8z"/></marker>'
    "</defs>\n"
)

#: In the first lines of every file that is made here.
MARK: Final = "<!-- made by `kvproof docs` -->"


def stylesheet() -> str:
    """Return the colours and the classes of drawings, on one line for each rule."""
    return "".join(
        (TEMPLATES / name).read_text(encoding="utf-8") for name in ("palette.css", "drawing.css")
    )


def trusted(text: str) -> Markup:
    """Return a text of this package, with no name of a user's in it, as markup."""
    return Markup(text)  # noqa: S704 - see above


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
