"""Runs of `kvproof check` with a checker that answers from a table, for tests of its reports."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kvproof.cli import checking, user
from kvproof.cli.main import app
from typer.testing import CliRunner

from .fake_check import FakeChecker, half, report, result

ZERO_ROPE = "examples/zero_rope.py"
_ROOT = Path(__file__).parent.parent


@pytest.fixture
def run(monkeypatch, tmp_path, tmp_path_factory):
    """Return a function that runs `kvproof check` with a checker that answers from a table.

    The bundled writers are in a repository of their own, beside the working folder.
    """
    repository = tmp_path_factory.mktemp("repository")
    for folder in (".git", "examples"):
        (repository / folder).mkdir()
    shutil.copy(_ROOT / ZERO_ROPE, repository / ZERO_ROPE)
    monkeypatch.setattr(user, "_BUNDLED_FILE", repository / ZERO_ROPE)
    monkeypatch.chdir(tmp_path)

    def call(*args, answer=half):
        fake = FakeChecker(answer)
        monkeypatch.setattr(checking, "open_checker", lambda *_, **__: fake)
        got = CliRunner().invoke(app, ["check", *args])
        got.fake = fake
        return got

    return call


def of(verdict, **more):
    """Return answers of that verdict on W6, for every job."""

    def answer(job):
        return report(job, result(job, "W6", verdict, **more))

    return answer
