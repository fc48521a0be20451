"""What a contract test asks for, as data. Imports nothing heavy: every test suite loads it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..spec.contract import WriterContract


@dataclass(eq=False, kw_only=True)
class ContractTest:
    """A contract test; pytest collects it from a module or class. Made by `contract_test`.

    Args:
        writer, contract, dims, dtypes, slots, ranks, bind, passing, stubs, switches, invariants,
            known: as for `contract_test`, unchecked; they are checked when pytest collects.
        file, line: where it was written.
        pytestmark: the marks above it.
    """

    writer: str | Callable[..., Any]
    contract: str | WriterContract
    dims: Mapping[str, int] | Sequence[Mapping[str, int]]
    dtypes: str | Sequence[str | Mapping[str, str]]
    slots: str | Sequence[str]
    ranks: Sequence[tuple[int, int]]
    bind: Mapping[str, str]
    passing: Mapping[str, Any]
    stubs: Sequence[str]
    switches: Mapping[str, tuple[str, Any]]
    invariants: str | Sequence[str]
    known: Mapping[str, str]
    file: str = ""
    line: int = 0
    pytestmark: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        """Take a name: pytest's marks attach to what has one."""
        self.__name__ = "contract_test"

    def __call__(self, function: Callable[[], None]) -> ContractTest:
        """Take the place of a decorated function, whose name and marks the test keeps."""
        self.line = function.__code__.co_firstlineno
        self.pytestmark += getattr(function, "pytestmark", ())
        return self


def contract_test(
    writer: str | Callable[..., Any],
    contract: str | WriterContract,
    *,
    dims: Mapping[str, int] | Sequence[Mapping[str, int]] = (),
    dtypes: str | Sequence[str | Mapping[str, str]] = (),
    slots: str | Sequence[str] = (),
    ranks: Sequence[tuple[int, int]] = (),
    bind: Mapping[str, str] | None = None,
    passing: Mapping[str, float | str | bool | tuple[str, str] | None] | None = None,
    stubs: Sequence[str] = (),
    switches: Mapping[str, tuple[str, Any]] | None = None,
    invariants: str | Sequence[str] = (),
    known: Mapping[str, str] | None = None,
) -> ContractTest:
    """Return a decorator that makes one test per invariant and configuration of a writer.

    The decorated function only gives the tests their name; its body never runs. The writer runs in
    a child process, on CPU tensors, with its launches recorded: no GPU is needed.

    Args:
        writer: the host function that launches the kernel: "file.py::function", relative to the
            test's file, or the function itself.
        contract: name of a built-in contract (`kvproof list`), or a `WriterContract`.
        dims: widths and strides in elements, by the contract's symbols; several for several
            configurations. A built-in contract has a grid of its own, and packed strides.
        dtypes: short dtype names ("bf16", "f32", "u8") of cache and sources, or for each a mapping
            from argument to dtype. A contract that casts takes the dtype of the sources.
        slots: dtypes of the slot table; all that the contract allows when empty.
        ranks: (world size, rank) pairs of a sharded contract.
        bind: contract argument (or WORLD, RANK) -> parameter of the writer, where they differ.
        passing: parameter of the writer -> what it is passed, for those that the contract does
            not speak of: a number, text, bool, None, or ("dtype", "bf16") for a torch dtype.
        stubs: packages that stand-ins replace while the writer's file is imported.
        switches: what stands in for values of those packages: dotted path -> ("value", 3) or
            ("call", 3), a function that returns it; further forms in `kvproof.spec.call`.
        invariants: ids such as "W6"; all that a proof decides when empty.
        known: "W6", or "W6-bf16-i64" for one configuration -> reason and link. These tests must
            fail (xfail, strict): mended upstream, the test says so.

    Nothing is raised here: what does not fit becomes an error of the collection.
    """
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    return ContractTest(
        writer=writer,
        contract=contract,
        dims=dims,
        dtypes=dtypes,
        slots=slots,
        ranks=ranks,
        bind=bind or {},
        passing=passing or {},
        stubs=stubs,
        switches=switches or {},
        invariants=invariants,
        known=known or {},
        file=caller.f_code.co_filename if caller is not None else "",
        line=caller.f_lineno if caller is not None else 0,
    )
