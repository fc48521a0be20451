"""Regions, blocks and ops of IR text: recursive descent over the body of one function."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .ttir import Block, Op, Region, Successor, Type
from .ttir_ops import GLUE, Header, expected_types, finish, result_types
from .ttir_reader import Reader
from .ttir_scope import Scope
from .ttir_structure import check_block, check_parts, check_yields
from .ttir_values import UNKNOWN, parse_type

_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[\w$]+)+")
_CLOSING = {"(": ")", "[": "]"}
_BLOCK_POINTERS = ("tt.advance", "tt.make_tensor_ptr")


class BodyReader(Reader):
    """Reads function bodies; `scope` belongs to the function that is being read.

    Faults of scope are raised as ScopeError, for the reader of the function to report.
    """

    def __init__(self, text: str) -> None:
        """Split the text. Raises TtirSyntaxError at a character that starts no token."""
        super().__init__(text)
        self.scope = Scope({})

    def argument(self) -> tuple[str, Type]:
        """Read `%name: type` and define it."""
        line = self.lines[self.at]
        name = self.take("value", "an argument")
        self.expect(":")
        kind = self.type()
        self.scope.define(name, kind, line)
        return name, kind

    # Regions and blocks

    def region(self, args: list[tuple[str, Type]]) -> Region:
        """Read `{ blocks }`; `args` are those of the entry block that the op's line names."""
        line = self.lines[self.at]
        self.expect("{")
        self.scope.enter()
        for name, kind in args:
            self.scope.define(name, kind, line)
        blocks: list[Block] = []
        if self.kinds[self.at] != "block":
            self.scope.block("^bb0", line)
            blocks.append(Block("^bb0", tuple(args), self.ops()))
        while self.kinds[self.at] == "block":
            blocks.append(self.block())
        if not self.accept("}"):
            raise self.fail("expected '}' for the region that opens here", line)
        self.scope.leave()
        return Region(tuple(blocks))

    def block(self) -> Block:
        """Read a block that has a label, up to the next label or the region's end."""
        label = self.take("block", "a block")
        self.scope.block(label, self.lines[self.at - 1])
        args: list[tuple[str, Type]] = []
        if self.accept("("):
            while not self.accept(")"):
                if args:
                    self.expect(",")
                args.append(self.argument())
                self.skip_location()
        self.expect(":")
        return Block(label, tuple(args), self.ops())

    def ops(self) -> tuple[Op, ...]:
        """Read ops up to a label or the region's end."""
        found: list[Op] = []
        while self.kinds[self.at] not in ("block", "end") and self.texts[self.at] != "}":
            found.append(self.op())
        if (last := check_block(found)) is not None:
            raise self.fail(f"an op follows {last}, which ends its block", self.lines[self.at - 1])
        return tuple(found)

    # Ops

    def op(self) -> Op:
        """Read one op, which must begin a line."""
        line = self.lines[self.at]
        if self.at and not self.ended():
            raise self.fail(f"unexpected {self.texts[self.at]!r} after an op")
        results = self.results()
        kind, name = self.kinds[self.at], self.texts[self.at]
        if self.ended() and results:
            raise self.unexpected("an op")
        if kind == "string":
            name = name[1:-1]
        if kind not in ("string", "word") or _NAME.fullmatch(name) is None:
            raise self.unexpected("an op")
        self.at += 1
        head = Header(name, line, results)
        if name == "arith.constant" and kind == "word":
            self.literal(head)
        else:
            self.parts(head)
        return self.built(head)

    def results(self) -> tuple[str, ...]:
        """Read `%a, %b =` or `%a:2 =`, if the op has results."""
        names: list[str] = []
        if self.kinds[self.at] != "value":
            return ()
        while True:
            name = self.take("value", "a result")
            if "#" in name:
                raise self.fail(f"{name} cannot be a result", self.lines[self.at - 1])
            if self.accept(":"):
                count = int(self.take("number", "a number of results"))
                names.extend(f"{name}#{i}" for i in range(count))
            else:
                names.append(name)
            if not self.accept(","):
                self.expect("=")
                break
        return tuple(names)

    def literal(self, op: Header) -> None:
        """Read what follows `arith.constant`."""
        if self.texts[self.at] == "{":
            op.attrs.update(self.dictionary())
        kind, text = self.kinds[self.at], self.texts[self.at]
        if self.ended() or kind not in ("number", "dense", "word"):
            raise self.unexpected("a constant")
        self.at += 1
        kind_of = parse_type("i1") or UNKNOWN
        if text not in ("true", "false") or self.texts[self.at] == ":":
            self.expect(":")
            kind_of = self.type()
        op.outs = [kind_of]
        dense = kind == "dense"
        if dense != bool(kind_of.shape):
            raise self.fail(f"{text} is no constant of {kind_of}", op.line)
        value = self.dense(text, kind_of, splat=True) if dense else self.constant(text, kind_of)
        op.attrs["value"] = value

    def parts(self, op: Header) -> None:
        """Read the rest of any other op: its parts in whatever order its dialect prints them."""
        opened: list[tuple[str, int]] = []
        first = self.at
        self.bare = "!tt.ptr" if op.name in _BLOCK_POINTERS else "!tt.tensordesc"
        while True:
            kind, text = self.kinds[self.at], self.texts[self.at]
            if kind in ("loc", "end") or (self.ended() and not any(b == "[" for b, _ in opened)):
                break
            following = self.texts[self.at + 1]
            if kind == "value":
                if self.kinds[self.at - 1] == "value" and self.at > first:
                    raise self.unexpected("',' between operands")
                self.at += 1
                if self.accept("="):
                    op.binds.append((text, self.take("value", "a value")))
                    op.operands.append(op.binds[-1][1])
                else:
                    op.operands.append(text)
            elif kind == "block":
                op.successors.append(self.successor())
            elif text == "{" and self.lines[self.at + 1] != self.lines[self.at]:
                args = op.binds if not op.regions else []
                op.regions.append(
                    self.region([(n, self.scope.type_of(v, op.line)) for n, v in args])
                )
            elif text == "{":
                op.attrs.update(self.dictionary())
            elif text == "<" and following == "{":
                self.at += 1
                op.attrs.update(self.dictionary())
                self.expect(">")
            elif text == ":" and not opened:
                self.at += 1
                if self.kinds[self.at] != "value":
                    op.ins, op.bracketed = self.types()
            elif (text == "->" and not opened) or (
                text in ("to", "into") and op.ins is not None and not op.regions
            ):
                self.at += 1
                op.outs = self.types()[0]
            elif text in ("(", "["):
                self.at += 1
                opened.append((text, len(op.operands)))
            elif text in (")", "]"):
                if not opened or _CLOSING[opened[-1][0]] != text:
                    raise self.fail(f"unbalanced {text!r}")
                self.at += 1
                bracket, start = opened.pop()
                if bracket == "[":
                    op.groups.append((start, len(op.operands)))
            elif text == ",":
                self.at += 1
                if (self.ended() and not opened) or self.texts[self.at] in (",", ":", ")", "]"):
                    raise self.unexpected("a value after ','")
            elif kind in ("word", "string", "number", "symbol", "type", "alias", "dense"):
                self.piece(op, kind, text, following)
            else:
                raise self.unexpected("a part of an op")
        if opened:
            raise self.fail(f"unclosed {opened[-1][0]!r}", op.line)

    def piece(self, op: Header, kind: str, text: str, following: str) -> None:
        """Read a word, flag or keyed value that an op prints outside its braces."""
        self.at += 1
        if kind == "word" and following == "=" and not self.ended():
            self.at += 1
            op.attrs[text] = self.attribute()
        elif kind == "word" and following == "<":
            flags = self.raw()[1:-1].split(",")
            op.attrs[text] = tuple(flag.strip() for flag in flags)
        elif kind == "string":
            self.at -= 1
            op.strings.append(str(self.attribute()))
        elif kind == "number":
            op.numbers.append(text)
        elif kind == "symbol":
            op.symbols.append(text[1:])
        elif kind == "word" and (text in GLUE or (op.ins is None and op.outs is None)):
            op.words.append(text)
        elif op.strict:
            raise self.fail(f"unexpected {text!r}", op.line)
        else:
            op.words.append(text)

    def successor(self) -> Successor:
        """Read a branch target, `^bb1` or `^bb1(%a : i32)`."""
        label = self.take("block", "a block")
        names: list[str] = []
        if self.accept("("):
            while self.kinds[self.at] == "value":
                names.append(self.take("value", "a value"))
                if not self.accept(","):
                    break
            self.expect(":")
            line = self.lines[self.at]
            types = [self.type()]
            while self.accept(","):
                types.append(self.type())
            self.expect(")")
            self.agree(names, [self.scope.type_of(name, line) for name in names], types, line)
        return Successor(label, tuple(names))

    def built(self, head: Header) -> Op:
        """Step over the op's location, check its types, define its results, and return it."""
        place = None
        if self.kinds[self.at] == "loc" and not self.ended():
            place = self.locations.of(self.texts[self.at], head.line)
            self.at += 1
        scope, line = self.scope, head.line
        try:
            finish(head)
            check_parts(head)
            operand_types = tuple([scope.type_of(name, line) for name in head.operands])
            types = result_types(head, operand_types)
            check_yields(head, types, operand_types)
        except ValueError as fault:
            raise self.fail(str(fault), line) from None
        expected = expected_types(head, operand_types)
        if expected is not None:
            self.agree(head.operands, operand_types, expected, line)
        for name, kind in zip(head.results, types, strict=True):
            scope.define(name, kind, line)
        successors = tuple(head.successors)
        scope.branch(successors, line)
        return Op(
            name=head.name,
            results=head.results,
            result_types=types,
            operands=tuple(head.operands),
            operand_types=operand_types,
            attrs=head.attrs,
            regions=tuple(head.regions),
            successors=successors,
            line=place,
        )

    def agree(
        self,
        names: list[str],
        types: Sequence[Type],
        expected: Sequence[Type],
        line: int,
    ) -> None:
        """Raise TtirSyntaxError unless each operand has the type that the text gives it."""
        if len(names) != len(expected):
            raise self.fail(f"{len(names)} operands and {len(expected)} types", line)
        for name, kind, wanted in zip(names, types, expected, strict=True):
            if kind != wanted and UNKNOWN not in (kind, wanted):
                raise self.fail(f"{name} is {kind}, not {wanted}", line)
