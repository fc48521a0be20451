"""The outermost layer: every fault becomes one line and exit code 2."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from ..spec.errors import KvproofError
from .outcome import USAGE


class FrontDoor(TyperGroup):
    """A command group that tells faults in one line instead of a traceback or a page."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - the base class's signature
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002 - as above
        **extra: Any,
    ) -> Any:
        """Run the command line and end the process with its exit code."""
        call: dict[str, Any] = {
            "args": args,
            "prog_name": prog_name,
            "complete_var": complete_var,
            "windows_expand_args": windows_expand_args,
            **extra,
        }
        if not standalone_mode:
            return super().main(standalone_mode=False, **call)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        try:
            code = super().main(standalone_mode=False, **call)
        except KvproofError as fault:
            code = _say(str(fault))
        except BrokenPipeError:
            _silence()
            code = 0
        except typer.Abort:
            code = _say("aborted")
        except Exception as fault:  # noqa: BLE001 - a crash must not end with 1, which says broken
            # typer carries its own copy of click, so its usage errors have no public class.
            told = getattr(fault, "format_message", None)
            if told is None:
                traceback.print_exc()
                code = _say(f"internal error: {type(fault).__name__} - please report it")
            else:
                code = _say(_usage(told(), getattr(fault, "ctx", None)))
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command. Raises KvproofError on Ctrl-C, which becomes one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise KvproofError("interrupted") from None


def _say(line: str) -> int:
    print(f"kvproof: {line}", file=sys.stderr)  # noqa: T201 - rich may be what failed
    return USAGE


def _usage(message: str, ctx: Any) -> str:
    path = getattr(ctx, "command_path", None) or "kvproof"
    return f"{' '.join(message.split())} - see `{path} --help`"


def _silence() -> None:
    with open(os.devnull, "w") as nothing:  # noqa: PTH123 - a device, not a file
        os.dup2(nothing.fileno(), sys.stdout.fileno())
