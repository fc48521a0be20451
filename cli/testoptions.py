"""The options of the pytest plugin, and what is refused before anything is collected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ..spec.errors import KvproofError
from .files import try_place

PROFILES = ("ci", "dev", "campaign")
_FILES = {
    "json": "write what was found as JSON",
    "sarif": "write the findings as SARIF 2.1.0, for a code host",
    "markdown": "write a summary in Markdown, for a pull request",
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked of the plugin.

    Args:
        profile: "ci", "dev" or "campaign".
        device: "cpu" or "cuda": what runs kernels in the profiles that run any.
        json, sarif, markdown: files to write; "" for none.
    """

    profile: str = "ci"
    device: str = "cpu"
    json: str = ""
    sarif: str = ""
    markdown: str = ""


def add_options(parser: pytest.Parser) -> None:
    """Add the options, each of which begins with `--kvproof-`."""
    group = parser.getgroup("kvproof", "contracts of KV-cache writers")
    group.addoption(
        "--kvproof-profile",
        choices=PROFILES,
        default="ci",
        help="ci: proofs (default); dev: also 200 runs; campaign: 60 s of runs",
    )
    group.addoption(
        "--kvproof-device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="what the runs of dev and campaign run on: cpu (default), or the compiled kernel",
    )
    for name, text in _FILES.items():
        group.addoption(f"--kvproof-{name}", metavar="FILE", help=text)


def read_options(config: pytest.Config) -> Options:
    """Return the options. Raises pytest.UsageError, in one line, for one that cannot be met."""
    values: dict[str, Any] = {
        name: str(config.getoption(f"--kvproof-{name}") or "")
        for name in ("profile", "device", *_FILES)
    }
    found = Options(**values)
    try:
        for name in _FILES:
            option = f"--kvproof-{name}"
            if config.getoption(option) is not None:
                _try(values[name], option)
        if found.device == "cuda":
            _need_gpu(found.profile)
    except KvproofError as problem:
        raise pytest.UsageError(str(problem)) from None
    return found


def _try(place: str, option: str) -> None:
    if not place:
        raise KvproofError("no file named", where=option, mend=f"write {option}=FILE")
    try_place(place, option)


def _need_gpu(profile: str) -> None:
    where = "--kvproof-device=cuda"
    if profile == "ci":
        raise KvproofError(
            "profile ci proves and runs no kernel",
            where=where,
            mend="add --kvproof-profile=dev or campaign",
        )
    import torch

    if not torch.cuda.is_available():
        raise KvproofError(
            f"torch {torch.__version__} finds no CUDA device",
            where=where,
            mend="leave it out: proofs and runs need no GPU",
        )
