"""What is said of a second solver's answers."""

from __future__ import annotations

from rich.console import Console

from ..checkers.certify import Certificate
from .outcome import Outcome

#: Exit code when two solvers contradict each other: no other result of the run can be trusted.
CONTRADICTION = 4


def certificate(outcome: Outcome) -> Certificate | None:
    """Return what the second solver said in all; None when it was not asked."""
    found = [report.certificate for report in outcome.reports if report.certificate is not None]
    if not found:
        return None
    whole = Certificate()
    for part in found:
        whole = whole.plus(part)
    return whole


def print_certificate(console: Console, outcome: Outcome) -> int | None:
    """Say what the second solver said; return the exit code that it forces, or None."""
    found = certificate(outcome)
    if found is None:
        return None
    for line in found.disagreements:
        console.print(f"kvproof: error: the solvers disagree: {line}", markup=False, soft_wrap=True)
    open_ = f", {found.open} not answered ({found.reason})" if found.open else ""
    console.print(
        f"bitwuzla confirms {found.confirmed} of {found.asked} UNSAT answers of z3{open_}",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip
    return CONTRADICTION if found.disagreements else None
