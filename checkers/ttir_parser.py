"""From the IR text that Triton prints to a `Program`.

Read the text, not the compiler's bindings: the bindings differ between Triton's versions, the text
hardly does. Every op is kept. One without a rule in `ttir_ops` keeps name, operands, printed types,
attributes and regions as they stand; its results have the type "?" when the text gives none.

Operands stand in the order of the op's definition; of `tt.dot_scaled` alone, in that of the text.
A terminator that MLIR leaves unprinted (an `scf.yield` of nothing) is absent. The entry block of a
function has no arguments of its own: they are the function's.
"""

from __future__ import annotations

from .ttir import Func, Program, Region, Type
from .ttir_body import BodyReader
from .ttir_lexer import TtirSyntaxError, hash_tokens, ttir_hash
from .ttir_scope import Scope, ScopeError
from .ttir_structure import unfinished

__all__ = ["TtirSyntaxError", "parse_ttir", "ttir_hash"]


def parse_ttir(text: str) -> Program:
    """Return the program that IR text states.

    Raises TtirSyntaxError, with the line of the text, where it is not IR as Triton prints it: an
    unknown construct of the language (not an unknown op), a name that nothing defines or that is
    defined twice, an operand whose type is not the printed one, a constant that does not fit.
    """
    return _Parser(text).program()


class _Parser(BodyReader):
    """Reads the module and its functions; `BodyReader` reads what stands in them."""

    def program(self) -> Program:
        while self.kinds[self.at] == "alias":
            self.at += 1
            self.expect("=")
            while not self.ended():
                self.at += 1
        if not self.accept("module") and not self.accept("builtin.module"):
            raise self.unexpected("'module'")
        if self.kinds[self.at] == "symbol":
            self.at += 1
        if self.accept("attributes"):
            self.dictionary()
        self.expect("{")
        kernel: Func | None = None
        others: dict[str, Func] = {}
        while not self.accept("}"):
            line = self.lines[self.at]
            public, func = self.function()
            if func.name in others or (kernel and func.name == kernel.name):
                raise self.fail(f"function @{func.name} is defined twice", line)
            if public and kernel is None:
                kernel = func
            else:
                others[func.name] = func
        self.skip_location()
        if self.kinds[self.at] != "end":
            raise self.fail(f"unexpected {self.texts[self.at]!r} after the module")
        if kernel is None:
            raise self.fail("no public function, which is the kernel", 1)
        return Program(
            kernel=kernel.name,
            args=kernel.args,
            body=kernel.body,
            functions=others,
            text_hash=hash_tokens(self.tokens),
            arg_attrs=kernel.arg_attrs,
            attrs=kernel.attrs,
        )

    def function(self) -> tuple[bool, Func]:
        """Read one function; the first item tells whether it is public."""
        start = self.at
        late: dict[str, Type] = {}
        while True:
            self.scope = Scope(late)
            try:
                found = self._function()
            except ScopeError as fault:
                raise self.fail(str(fault), fault.line) from None
            if self.scope.late == late:
                return found
            late, self.at = self.scope.late, start

    def _function(self) -> tuple[bool, Func]:
        self.expect("tt.func")
        public = not (self.accept("private") or self.accept("nested"))
        if public:
            self.accept("public")
        name = self.take("symbol", "a function's name")[1:]
        self.scope.enter()
        args: list[tuple[str, Type]] = []
        arg_attrs: dict[str, dict[str, object]] = {}
        self.expect("(")
        while not self.accept(")"):
            if args:
                self.expect(",")
            args.append(self.argument())
            if self.texts[self.at] == "{":
                arg_attrs[args[-1][0]] = self.dictionary()
            self.skip_location()
        results = self.types()[0] if self.accept("->") else []
        attrs = self.dictionary() if self.accept("attributes") else {}
        body = self.region([]) if self.texts[self.at] == "{" else Region()
        self.skip_location()
        if (open_block := unfinished(body)) is not None:
            raise self.fail(f"nothing ends block {open_block.label}", self.lines[self.at - 1])
        self.scope.leave()
        return public, Func(name, tuple(args), tuple(results), body, arg_attrs, attrs)
