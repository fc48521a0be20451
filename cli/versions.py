"""Versions of everything that a verdict depends on, found without importing any of it."""

from __future__ import annotations

import platform
from importlib import metadata

_DISTRIBUTIONS = {
    "kvproof": "kvproof",
    "triton": "triton",
    "z3": "z3-solver",
    "torch": "torch",
}


def versions() -> dict[str, str]:
    """Return the versions by name; "unknown" for what is not installed as a distribution."""
    found = {name: _version(distribution) for name, distribution in _DISTRIBUTIONS.items()}
    return {**found, "python": platform.python_version()}


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"
