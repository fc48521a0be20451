"""Words with names in them: `names` stand between backticks, and become code in every format."""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup, escape

_CODE: Final = re.compile(r"`([^`]*)`")
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


def code(name: object) -> str:
    """Return a name between backticks."""
    return f"`{str(name).replace('`', chr(39))}`"


def plain(text: object) -> str:
    """Return a text for a terminal, without the backticks."""
    return str(text).replace("`", "")


def html(text: object) -> Markup:
    """Return a text for HTML, escaped, with what stands between backticks as code."""
    parts = _CODE.split(str(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def markdown(text: object) -> str:
    """Return a text for one line of Markdown or a cell of its tables, with code kept as code."""
    parts = _CODE.split(" ".join(str(text).split()))
    return "".join(
        # A bar ends a cell even inside code, unless it is escaped.
        f"`{part.replace('|', chr(92) + '|')}`" if number % 2 else _SPECIAL.sub(r"\\\1", part)
        for number, part in enumerate(parts)
    )


def slug(text: str) -> str:
    """Return a text as a part of a file's name and of an id."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower() or "writer"


def sentence(text: str) -> str:
    """Return a text with a capital first and a full stop last."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?")) else ".")
