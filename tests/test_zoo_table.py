"""The zoo's table: what it counts, how it ends, and a slice of it asked again of bitwuzla."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from kvproof.checkers import certify

from tests.zoo import table
from tests.zoo.registry import Pair, pairs

#: Wrap-around and W13 over integers, a value's bits, two caches; and one of runs.
SLICE = ("B7", "G3", "A2", "H2")


def told(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    out, progress = capsys.readouterr()
    return [" ".join(line.split()) for line in out.splitlines()], progress


def only(monkeypatch: pytest.MonkeyPatch, chosen: Iterable[Pair]) -> None:
    kept = list(chosen)
    monkeypatch.setattr(table, "pairs", lambda: kept)


def of(corpus: str) -> Pair:
    return next(pair for pair in pairs() if pair.corpus == corpus)


def test_a_slice_is_certified_without_a_contradiction(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("bitwuzla")
    assert table.main([*SLICE, "--certify"]) == 0
    lines, progress = told(capsys)
    assert [line.split()[0] for line in lines if line.endswith("1.000 1.000")] == [
        *("W1", "W4", "W6", "W10"),
        *("W2", "W4"),
    ]
    (said,) = [line for line in lines if line.startswith("bitwuzla:")]
    asked, confirmed = (int(said.split()[k]) for k in (1, 3))
    assert asked == confirmed > 50
    assert said.endswith("0 not answered, 0 contradictions")
    assert len(progress.splitlines()) == sum(pair.corpus in SLICE for pair in pairs())


def test_a_contradiction_ends_with_4(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("bitwuzla")
    monkeypatch.setattr(certify, "ask", lambda text, *, timeout: ("sat", ""))
    assert table.main(["G3", "--certify"]) == 4
    lines, _ = told(capsys)
    assert any(line.startswith("zoo: error: the solvers disagree: question") for line in lines)


@pytest.mark.parametrize("corpus", ("H2", "D3"))
def test_what_is_missed_and_what_is_flagged_is_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, corpus: str
) -> None:
    pair = of(corpus)
    name = max(pair.expected)
    only(monkeypatch, [pair])
    assert table.main([]) == 0
    lines, _ = told(capsys)
    assert next(line for line in lines if line.startswith(f"{name} ")).endswith("1.000 1.000")
    only(monkeypatch, [replace(pair, expected=frozenset({"W10"}))])
    assert table.main([]) == 1
    lines, progress = told(capsys)
    assert next(line for line in lines if line.startswith(f"{name} ")).split()[2:4] == ["0", "1"]
    assert next(line for line in lines if line.startswith("W10 ")).split()[1:3] == ["0", "1"]
    assert f"{pair.wrong}: W10 is missed" in progress
    only(monkeypatch, [replace(pair, right=pair.wrong, wrong=pair.right)])
    assert table.main([]) == 1


def test_an_unknown_id_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        table.main(["Z99"])
    assert "no pair of Z99" in told(capsys)[1]
