"""bench/peers.py: what it counts, what it gives to peers, and what it makes of their ends."""

from __future__ import annotations

import base64
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from kvproof.spec.case import Case
from kvproof.spec.reference import accepted

BENCH = Path(__file__).resolve().parent.parent / "bench"
sys.path.insert(0, str(BENCH))
child = importlib.import_module("peers_child")
envs = importlib.import_module("peers_envs")
jobs = importlib.import_module("peers_jobs")
tally = importlib.import_module("peers_tally")
peers = importlib.import_module("peers")

NOTHING_SAID = ("timeout", "crash", "memory", "unsupported", "error")

ADAPTER = """
import os, signal, time

def absent():
    return os.environ.get("FAKE_ABSENT", "")

def prepare():
    print("a peer's chatter is no answer")
    return {"fake": "1.0"}

def run(file, function, case):
    alone, compared = case["do"]
    for what in (alone, compared):
        if what == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif what == "exit":
            os._exit(3)
        elif what == "timeout":
            time.sleep(60)
        elif what == "memory":
            held = b"x" * (400 << 20)
            time.sleep(60)
        elif what == "error":
            raise ValueError("no such\\nthing")
        yield what, f"{function} says {what}"
"""


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    folder = tmp_path_factory.mktemp("adapter")
    (folder / "fake_peer.py").write_text(ADAPTER, encoding="utf-8")
    command = [sys.executable, str(BENCH / "peers_child.py"), "fake_peer"]
    process = envs.Process(command, {"PYTHONPATH": str(folder)})
    yield process
    process.close()


def statuses(process: object, *does: tuple[str, str]) -> list[tuple[str, str]]:
    job = {"file": "-", "function": "writer", "cases": [{"do": do} for do in does]}
    answer = process.ask({**job, "seconds": 1.5, "memory": 200 << 20}, 60)
    return [(case["alone"]["status"], case["compared"]["status"]) for case in answer["cases"]]


def test_a_peer_answers_each_case_in_one_line(fake: object) -> None:
    assert fake.versions == {"fake": "1.0"}
    asked = [("clean", "clean"), ("clean", "flagged"), ("flagged", "flagged")]
    assert statuses(fake, *asked) == asked


@pytest.mark.parametrize(
    ("does", "told"),
    (
        ("crash", "crash"),
        ("exit", "crash"),
        ("timeout", "timeout"),
        ("memory", "memory"),
        ("error", "error"),
    ),
)
def test_a_case_that_ends_badly_is_named_and_the_next_one_runs(
    fake: object, does: str, told: str
) -> None:
    found = statuses(fake, ("flagged", does), ("clean", "clean"), (does, "clean"))
    assert found == [("flagged", told), ("clean", "clean"), (told, told)]


def test_a_process_that_ends_is_followed_by_a_fresh_one(tmp_path: Path) -> None:
    script = tmp_path / "peer.py"
    script.write_text(
        "import sys, json\n"
        'print(json.dumps({"versions": {}, "absent": "", "seconds": 0}), flush=True)\n'
        "job = json.loads(sys.stdin.readline())\n"
        'print(json.dumps({"cases": []}), flush=True) if job["end"] == "well" else sys.exit(1)\n',
        encoding="utf-8",
    )
    process = envs.Process([sys.executable, str(script)])
    assert process.ask({"end": "badly"}, 30) is None
    assert process.ask({"end": "well"}, 30) == {"cases": []}
    process.close()


def test_what_cannot_run_is_absent_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "fake_peer.py").write_text(ADAPTER, encoding="utf-8")
    command = [sys.executable, str(BENCH / "peers_child.py")]
    given = {"PYTHONPATH": str(tmp_path), "FAKE_ABSENT": "no GPU here"}
    with pytest.raises(envs.Absent, match=r"^no GPU here$"):
        envs.Process([*command, "fake_peer"], given)
    with pytest.raises(envs.Absent, match=r"does not start: .*no_such_adapter"):
        envs.Process([*command, "no_such_adapter"])
    with pytest.raises(envs.Absent, match=r"not installed: python bench/peers.py --install ttsem"):
        envs.process_of(tmp_path, envs.PEERS[0])


def test_a_peer_that_needs_a_newer_python_is_not_installed(tmp_path: Path) -> None:
    future = envs.Peer(name="f", package="f", adapter="f", needs=(), python=(99, 0))
    with pytest.raises(envs.Absent, match=r"needs Python 99.0 or newer: --python-for f=PATH"):
        envs.install(tmp_path, future, sys.executable)
    assert not list(tmp_path.iterdir())


def seen(status: str, seconds: float = 1.0) -> object:
    return tally.Seen(status, "", seconds)


def test_flagged_and_clean_are_counted_by_which_writer_it_is() -> None:
    row = tally.Row()
    row.add(tally.Verdict("a", seen("clean"), seen("flagged", 3)))
    row.add(tally.Verdict("b", seen("flagged"), seen("clean")))
    row.add(tally.Verdict("c", seen("clean"), seen("flagged", 1)))
    assert (row.found, row.missed, row.false, row.clean) == (2, 1, 1, 2)
    assert not row.undecided
    assert (row.median, sum(row.seconds)) == (2.0, 8.0)


@pytest.mark.parametrize("status", NOTHING_SAID)
def test_what_says_nothing_is_neither_found_nor_clean(status: str) -> None:
    row = tally.Row()
    row.add(tally.Verdict("a", seen(status), seen(status)))
    assert (row.found, row.missed, row.false, row.clean) == (0, 0, 0, 0)
    assert row.undecided == {status: 2}
    assert tally.reasons(row) == f"2 {status}"


def cases(*parts: tuple[str, str]) -> list[dict[str, dict[str, object]]]:
    return [
        {
            "alone": {"status": alone, "detail": alone, "seconds": 1.0},
            "compared": {"status": compared, "detail": compared, "seconds": 0.5},
        }
        for alone, compared in parts
    ]


@pytest.mark.parametrize("status", NOTHING_SAID)
def test_one_flagged_case_flags_and_clean_needs_every_case(status: str) -> None:
    assert tally.judged(cases(("clean", "clean")) * 2, "alone").status == "clean"
    assert tally.judged(cases(("clean", "clean"), (status, status)), "alone").status == status
    assert tally.judged(cases((status, status), ("flagged", "clean")), "alone").status == "flagged"
    assert tally.judged(cases(("clean", "clean")), "alone", 1).status == "memory"
    assert tally.judged([], "alone").status == "memory"


def test_columns_keep_case_sets_and_references_apart() -> None:
    answer = {"cases": cases(("clean", "flagged"), ("flagged", "flagged"))}
    found = tally.columns(answer, [0], 0)
    assert {column: one.status for column, one in found.items()} == {
        ("plain", "alone"): "clean",
        ("plain", "compared"): "flagged",
        ("telling", "alone"): "flagged",
        ("telling", "compared"): "flagged",
    }
    assert found["plain", "alone"].seconds == 1.0
    assert found["telling", "compared"].seconds == 3.0


def test_a_peer_that_did_not_run_has_words_and_no_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = {"A4:x": tally.Verdict("A4:x", seen("clean"), seen("flagged"))}
    peers.report(own, {"a peer": "not installed: how to mend it"})
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("a peer")]
    assert line.split(None, 2)[2] == "not installed: how to mend it"
    assert not any(sign.isdigit() for sign in line)
    assert lines[1].split()[:5] == ["kvproof", "none", "contract", "1", "0"]


def test_a_path_for_an_unknown_peer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert peers.parsed(["--python-for", "ttsem=/a"]).python_for == {"ttsem": "/a"}
    with pytest.raises(SystemExit):
        peers.parsed(["--python-for", "/a"])
    assert "--python-for takes PEER=PATH" in capsys.readouterr().err


# --- what peers are given ------------------------------------------------------------------


def pair(name: str) -> object:
    ((found,), _) = jobs.triton_pairs([name])
    return found


def stored(memory: object, slots: list[int], *, skip: int | None) -> object:
    """Store rows as a right writer of plain rows does, and return the memory."""
    source, cache = memory.arguments["cache_k_nope"], memory.arguments["kv_buffer"]
    for row, slot in enumerate(slots):
        if slot != skip:
            cache[slot] = source[row]
    return memory


def test_only_triton_pairs_are_given() -> None:
    chosen, others = jobs.triton_pairs()
    assert "A4:skips_minus_one_only" in {twins.pair.name for twins in chosen}
    assert not {twins.pair.file for twins in chosen} & {other.file for other in others}
    assert jobs.triton_pairs(["no such pair"]) == ([], [])


def test_plain_cases_are_calls_whose_rows_are_all_stored() -> None:
    twins = pair("A4:skips_minus_one_only")
    instance = twins.pair.job(twins.pair.right).instance
    assert [case.rows for case in twins.plain] == list(jobs.ROWS)
    for case in twins.plain:
        assert len(set(case.slots)) == case.rows
        assert all(accepted(instance, case, row) for row in range(case.rows))


@pytest.mark.parametrize("guard", (0, 4096))
def test_memory_agrees_after_a_right_writer_and_differs_after_a_wrong_one(guard: int) -> None:
    twins = pair("A4:skips_minus_one_only")
    padded = Case(dims=twins.plain[0].dims, pool=5, slots=(3, 0, 1))
    job, plain, left_out = jobs.jobs_of(twins, twins.pair.right, [padded])
    assert (plain, left_out) == (list(range(len(jobs.ROWS))), 0)
    data = job["cases"][-1]
    assert not stored(child.Memory(data, guard=guard), [3, 0, 1], skip=0).difference()
    for wrong in (
        stored(child.Memory(data, guard=guard), [3, 0, 1], skip=None),
        stored(child.Memory(data, guard=guard), [3, 0], skip=0),
        child.Memory(data, guard=guard),
    ):
        assert "kv_buffer differs from the reference" in wrong.difference()


def test_a_tensor_ends_with_its_last_element_unless_it_is_guarded() -> None:
    twins = pair("E1:v_read_at_the_pitch_of_k")
    data = jobs.plain_data(twins.pair, "both", twins.plain[1])
    for tensor in data["tensors"]:
        steps = zip(tensor["shape"], tensor["strides"], strict=True)
        last = 1 + sum((count - 1) * step for count, step in steps)
        size = getattr(torch, tensor["dtype"]).itemsize
        memory = child.Memory(data)
        assert len(memory.storages[tensor["name"]]) == last * size
        assert len(child.Memory(data, guard=64).storages[tensor["name"]]) == last * size + 128


@pytest.mark.parametrize(("name", "width"), (("C1:pages_packed", 16), ("C2:heads_in_one_run", 24)))
def test_views_reach_every_element_that_the_contract_stores(name: str, width: int) -> None:
    twins = pair(name)
    for case in twins.plain:
        data = jobs.plain_data(twins.pair, twins.pair.right, case)
        (cache,) = [one for one in data["tensors"] if one["name"] == "cache"]
        runs = [(at, len(base64.b64decode(run))) for at, run in data["expected"]["cache"]]
        assert sum(size for _, size in runs) == case.rows * width * 4
        assert max(at + size for at, size in runs) <= cache["extent"] * 4


def test_a_shape_that_the_contract_states_is_kept() -> None:
    twins = pair("C2:heads_side_by_side")
    job = twins.pair.job(twins.pair.right)
    for case in twins.plain:
        env = {**case.dims, "POOL": case.pool, "ROWS": case.rows}
        data = jobs.plain_data(twins.pair, twins.pair.right, case)
        given = {tensor["name"]: tensor for tensor in data["tensors"]}
        for stated in job.instance.contract.shapes:
            tensor = given[job.binding.keyword(stated.arg)]
            assert (tuple(tensor["shape"]), tuple(tensor["strides"])) == stated.at(env)


def test_a_case_too_large_for_memory_is_given_at_one_byte_or_not_at_all() -> None:
    twins = pair("B1:narrow_slot")
    job = twins.pair.job(twins.pair.wrong)
    small = twins.plain[0]
    large = Case(dims=small.dims, pool=3_728_272, slots=(3_728_271,))
    assert jobs.thinned(job, small) is job
    assert set(jobs.thinned(job, large).instance.dtypes.values()) == {"u8", "i32"}
    assert jobs.thinned(job, Case(dims=small.dims, pool=1 << 27, slots=(1,))) is None
    _, plain, left_out = jobs.jobs_of(
        twins, twins.pair.wrong, [Case(dims=small.dims, pool=1 << 27, slots=(1,))]
    )
    assert (len(plain), left_out) == (len(twins.plain), 1)
