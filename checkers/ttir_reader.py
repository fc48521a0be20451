"""A cursor over the tokens of IR text, and the parts that ops, functions and modules share.

`Reader` reads types, attributes and constants; `ttir_ops.Header` and `ttir_parser` build on it.
"""

from __future__ import annotations

import re
from math import prod

from .ttir import FloatType, OpaqueType, PtrType, Type
from .ttir_lexer import Tokens, TtirSyntaxError, tokenize, unquote
from .ttir_locations import Locations
from .ttir_values import constant_bits, parse_type

_ITEM = re.compile(r"[^\s,\[\]]+")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


class Reader:
    """Reads one text from its first token to its last; `at` is the index of the next token."""

    def __init__(self, text: str) -> None:
        """Split the text. Raises TtirSyntaxError at a character that starts no token."""
        self.tokens: Tokens = tokenize(text)
        self.kinds = self.tokens.kinds
        self.texts = self.tokens.texts
        self.lines = self.tokens.lines
        self.locations = Locations(self.tokens)
        self.at = 0
        #: The dialect type that is meant where only its `<..>` is printed.
        self.bare = "!tt.tensordesc"

    def fail(self, what: str, line: int | None = None) -> TtirSyntaxError:
        """Return (not raise) the error for a line, the next token's unless given."""
        return self.tokens.error(what, self.lines[self.at] if line is None else line)

    def unexpected(self, wanted: str) -> TtirSyntaxError:
        """Return the error that names what was wanted in place of the next token.

        At the end of a line it tells of the line that ended, not of the one that follows.
        """
        found = self.texts[self.at]
        if self.at and self.ended():
            return self.fail(f"expected {wanted} before the line ends", self.lines[self.at - 1])
        return self.fail(f"expected {wanted}, found {found!r}" if found else f"expected {wanted}")

    def ended(self) -> bool:
        """Say whether the next token stands on another line than the one before it."""
        return self.lines[self.at] != self.lines[self.at - 1]

    def accept(self, text: str) -> bool:
        """Step over the next token if that is its text."""
        if self.texts[self.at] == text and self.kinds[self.at] != "string":
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Step over the next token, which must have that text."""
        if not self.accept(text):
            raise self.unexpected(repr(text))

    def take(self, kind: str, wanted: str) -> str:
        """Step over the next token, which must be of that kind, and return its text."""
        if self.kinds[self.at] != kind:
            raise self.unexpected(wanted)
        self.at += 1
        return self.texts[self.at - 1]

    def skip_location(self) -> None:
        """Step over a location that belongs to an argument."""
        if self.kinds[self.at] == "loc":
            self.at += 1

    def type(self) -> Type:
        """Read one type; a dialect type may be printed without its name, as `<bf16>`."""
        text = self.texts[self.at]
        if self.kinds[self.at] in ("type", "word"):
            found = parse_type(text)
            if found is not None:
                self.at += 1
                return found
        if text == "<":
            inner = self.raw()
            scalar = parse_type(f"!tt.ptr{inner}")
            if scalar is not None and isinstance(scalar.elem, PtrType):
                return scalar
            return Type(OpaqueType(self.bare + inner))
        raise self.unexpected("a type")

    def types(self) -> tuple[list[Type], bool]:
        """Read `T, U`, `T * U` or `(T, U)`; the second item tells whether brackets stood there."""
        found: list[Type] = []
        if self.accept("("):
            while not self.accept(")"):
                if found:
                    self.expect(",")
                found.append(self.type())
                if self.texts[self.at] == "{":
                    self.dictionary()
            return found, True
        found.append(self.type())
        while self.texts[self.at] in (",", "*") and not self.ended():
            self.at += 1
            found.append(self.type())
        return found, False

    def raw(self) -> str:
        """Step over bracketed text that starts at the next token, and return it unread."""
        start, stack = self.at, list[str]()
        while True:
            text, kind = self.texts[self.at], self.kinds[self.at]
            if kind == "end":
                raise self.fail(f"expected {stack[-1]!r}", self.lines[start])
            if kind == "punct" and text in _CLOSING:
                stack.append(_CLOSING[text])
            elif kind == "punct" and text in _CLOSING.values() and text != stack.pop():
                raise self.fail(f"unbalanced {text!r}")
            self.at += 1
            if not stack:
                break
        return "".join(
            text + " " if text in (",", ":") else text for text in self.texts[start : self.at]
        )

    def dictionary(self) -> dict[str, object]:
        """Read `{key = value, flag}`; a key without a value is True."""
        found: dict[str, object] = {}
        self.expect("{")
        while not self.accept("}"):
            if found:
                self.expect(",")
            if self.kinds[self.at] == "string":
                key = unquote(self.texts[self.at])
                self.at += 1
            else:
                key = self.take("word", "an attribute's name")
            found[key] = self.attribute() if self.accept("=") else True
        return found

    def attribute(self) -> object:
        """Read one attribute's value.

        Numbers (but for a float's hex pattern), bools and strings become Python's; `[..]` and
        `array<..>` tuples; a dense constant the tuple of its values; a type a `Type`; anything
        else keeps its text.
        """
        kind, text = self.kinds[self.at], self.texts[self.at]
        if kind == "string":
            self.at += 1
            return unquote(text)
        if kind == "number":
            self.at += 1
            return self._number(text)
        if kind == "dense":
            self.at += 1
            self.expect(":")
            return self.dense(text, self.type(), splat=False)
        if text == "[":
            return self._sequence("[", "]")
        if text == "{":
            return self.dictionary()
        if text == "(":
            return self.raw() + (self.texts[self.at - 1] if self.accept("->") else "")
        if kind in ("word", "type", "symbol", "alias"):
            return self._named(kind, text)
        raise self.unexpected("an attribute's value")

    def _number(self, text: str) -> int | float | str:
        if self.accept(":"):
            of = self.type()
            bits = self.constant(text, of)
            if not isinstance(of.elem, FloatType):
                return bits
            return text if "x" in text else float(text)
        return int(text, 0) if re.fullmatch(r"-?(0x\w+|\d+)", text) else float(text)

    def _named(self, kind: str, text: str) -> object:
        self.at += 1
        if text in ("true", "false"):
            return text == "true"
        if text == "array" and self.texts[self.at] == "<":
            self.at += 1
            self.type()
            if self.accept(">"):
                return ()
            self.expect(":")
            self.at -= 1
            return self._sequence(":", ">")
        if kind in ("word", "type") and text != "none" and (found := parse_type(text)):
            return found
        if self.texts[self.at] == "<":
            text += self.raw()
        return text[1:] if kind == "symbol" else text

    def _sequence(self, opening: str, closing: str) -> tuple[object, ...]:
        self.expect(opening)
        found: list[object] = []
        while not self.accept(closing):
            if found:
                self.expect(",")
            found.append(self.attribute())
        return tuple(found)

    def dense(self, token: str, of: Type, *, splat: bool) -> object:
        """Return the values of `dense<..>`: one int for a splat if asked for, else a tuple.

        The values are as `constant_bits` states them, in row-major order.
        """
        literals: list[str] = _ITEM.findall(token[token.index("<") + 1 : -1])
        count = prod(of.shape)
        if literals and literals[0].startswith('"0x'):
            raw = bytes.fromhex(literals[0][3:-1])
            size = of.element_bytes()
            literals = [
                hex(int.from_bytes(raw[i : i + size], "little")) for i in range(0, len(raw), size)
            ]
        values = [self.constant(literal, of) for literal in literals]
        if len(values) == 1:
            return values[0] if splat else tuple(values * count)
        if len(values) != count:
            raise self.fail(f"{token} does not fill {of}", self.lines[self.at - 1])
        return tuple(values)

    def constant(self, literal: str, of: Type) -> int:
        """Return `constant_bits` of a literal. Raises TtirSyntaxError where it does not fit."""
        try:
            return constant_bits(literal, of)
        except ValueError as fault:
            raise self.fail(f"bad constant: {fault}", self.lines[self.at - 1]) from None
