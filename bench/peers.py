"""kvproof and other checkers over the zoo's Triton pairs, side by side in one run.

    python bench/peers.py                                   # whatever is installed
    python bench/peers.py --install                         # make the environments first
    python bench/peers.py --install ttsem --python-for ttsem=/path/to/python3.12
    python bench/peers.py --only ttsem --pair A4 C2         # one peer, some pairs

The peers are ttsem 0.1.0, triton-viz 3.0 (and TileLens 3.1.1, its later name) and gpucheck 0.1.0,
each in an environment of its own (in `peers` under kvproof's cache; --envs names another folder).
docs/peers.md says what each is given and how it is driven. One that is not installed has words in
its line and no number. A timeout, a crash and a refusal are undecided: never found, never clean.
Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peers_child import PARTS
from peers_envs import PEERS, Absent, Peer, Process, default_folder, install, own_python, process_of
from peers_jobs import Twins, jobs_of, triton_pairs
from peers_own import Own
from peers_tally import (
    COLUMNS,
    HEAD,
    Row,
    Seen,
    Verdict,
    absent,
    columns,
    line,
    lost,
    matrix,
    reasons,
)
from throughput import machine

#: Column -> pair -> verdict.
Found = dict[tuple[str, str], dict[str, Verdict]]
_REFERENCE = {"alone": "without", "compared": "with"}


def verdicts(
    process: Process, twins: Twins, telling: Sequence[Any], options: argparse.Namespace
) -> dict[tuple[str, str], Verdict]:
    """Return what a peer says of a pair in each column."""
    said: list[Mapping[tuple[str, str], Seen]] = []
    for function in (twins.pair.right, twins.pair.wrong):
        job, plain, left_out = jobs_of(twins, function, telling)
        job |= {"seconds": options.seconds, "memory": int(options.memory * (1 << 30))}
        begun = time.perf_counter()
        answer = process.ask(job, options.seconds * len(job["cases"]) + 60)
        if answer is None:
            said.append(lost("crash", "its process ended", time.perf_counter() - begun))
        else:
            said.append(columns(answer, plain, left_out))
    name = twins.pair.name
    return {column: Verdict(name, said[0][column], said[1][column]) for column in COLUMNS}


def run_peer(
    peer: Peer,
    chosen: Sequence[Twins],
    telling: Mapping[str, Sequence[Any]],
    options: argparse.Namespace,
) -> tuple[Found, dict[str, str]]:
    """Run one peer over every pair; return what it says and its versions.

    Raises Absent where it cannot run.
    """
    found: Found = {column: {} for column in COLUMNS}
    process = process_of(options.envs, peer)
    try:
        for number, twins in enumerate(chosen, 1):
            name = twins.pair.name
            begun = time.perf_counter()
            for column, verdict in verdicts(process, twins, telling.get(name, ()), options).items():
                found[column][name] = verdict
            last = found[COLUMNS[-1]][name]
            took = time.perf_counter() - begun
            progress(peer.name, number, chosen, f"{name}: {last.wrong.status}, {took:.1f} s")
    finally:
        process.close()
    return found, {**process.versions, "ready after": f"{process.seconds:.1f} s"}


def run_own(chosen: Sequence[Twins]) -> tuple[dict[str, Verdict], dict[str, Sequence[Any]]]:
    """Run kvproof over every pair; return what it says and the cases that show the faults."""
    found: dict[str, Verdict] = {}
    telling: dict[str, Sequence[Any]] = {}
    own = Own()
    try:
        for number, twins in enumerate(chosen, 1):
            name = twins.pair.name
            found[name], telling[name] = own.judge(twins.pair)
            progress("kvproof", number, chosen, f"{name}: {found[name].wrong.status}")
    finally:
        own.close()
    return found, telling


def progress(tool: str, number: int, chosen: Sequence[Twins], text: str) -> None:
    """Say how far a tool is."""
    print(f"{tool} [{number}/{len(chosen)}] {text}", file=sys.stderr, flush=True)


def tallied(found: Mapping[str, Verdict]) -> Row:
    """Count what a tool said."""
    row = Row()
    for verdict in found.values():
        row.add(verdict)
    return row


def report(own: Mapping[str, Verdict], peers: Mapping[str, Found | str]) -> None:
    """Print the table, why tools were undecided, and each pair with its most telling column."""
    print(HEAD)
    rows = {"kvproof": tallied(own)}
    print(line("kvproof", "none", "contract", rows["kvproof"]))
    for name, found in peers.items():
        if isinstance(found, str):
            print(absent(name, found))
            continue
        for cases, part in COLUMNS:
            label = f"{name}, {cases}, {_REFERENCE[part]}"
            rows[label] = tallied(found[cases, part])
            print(line(name, cases, _REFERENCE[part], rows[label]))
    print("\nUndecided, and why:")
    for label, row in rows.items():
        if row.undecided:
            print(f"  {label}: {reasons(row)}")
    for part in PARTS:
        print(f"\nEach pair, telling cases, {_REFERENCE[part]} a reference:")
        shown: dict[str, Mapping[str, Verdict]] = {"kvproof": own}
        shown |= {
            name: found["telling", part]
            for name, found in peers.items()
            if not isinstance(found, str)
        }
        print("\n".join(matrix(list(own), shown)))


def plain(own: Mapping[str, Verdict], peers: Mapping[str, Found | str]) -> dict[str, Any]:
    """Return everything that was said, as JSON-able data."""

    def both(found: Mapping[str, Verdict]) -> dict[str, Any]:
        return {name: {"right": vars(v.right), "wrong": vars(v.wrong)} for name, v in found.items()}

    said: dict[str, Any] = {"kvproof": both(own)}
    for name, found in peers.items():
        said[name] = (
            found
            if isinstance(found, str)
            else {f"{cases}, {_REFERENCE[part]}": both(found[cases, part]) for cases, part in found}
        )
    return said


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    names = tuple(dict.fromkeys(peer.package for peer in PEERS))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="PEER")
    parser.add_argument("--pair", nargs="+", default=(), metavar="ID", help="corpus ids or names")
    parser.add_argument("--envs", type=Path, help="folder of the environments")
    parser.add_argument(
        "--install", nargs="*", choices=names, metavar="PEER", help="make environments with pip"
    )
    parser.add_argument(
        "--python-for", action="append", default=[], metavar="PEER=PATH", help="for --install"
    )
    parser.add_argument("--seconds", type=float, default=90.0, help="limit of a case")
    parser.add_argument("--memory", type=float, default=14.0, help="GiB that a case may take")
    parser.add_argument("--json", type=Path, help="write all that was said to this file")
    options = parser.parse_args(arguments)
    options.envs = options.envs or default_folder()
    pythons = dict(item.partition("=")[::2] for item in options.python_for)
    for name, path in pythons.items():
        if name not in names or not path:
            parser.error(f"--python-for takes PEER=PATH with one of {', '.join(names)}")
    options.python_for = pythons
    return options


def main() -> int:
    """Install where asked, run everything, print the table."""
    options = parsed()
    if options.install is not None:
        wanted = options.install or options.only
        for peer in {peer.package: peer for peer in PEERS if peer.package in wanted}.values():
            print(f"installing {peer.package}", file=sys.stderr, flush=True)
            python = options.python_for.get(peer.package, own_python())
            try:
                install(options.envs, peer, python)
            except Absent as why:
                print(f"peers: error: {peer.package} {why}", file=sys.stderr)
    chosen, others = triton_pairs(options.pair)
    if not chosen:
        print("peers: error: no such pair has a Triton kernel", file=sys.stderr)
        return 2
    print(machine())
    print(f"{len(chosen)} pairs; {len(others)} more hold no Triton kernel and are left out\n")
    own, telling = run_own(chosen)
    found: dict[str, Found | str] = {}
    said: dict[str, dict[str, str]] = {}
    for peer in PEERS:
        if peer.package not in options.only:
            continue
        try:
            found[peer.name], said[peer.name] = run_peer(peer, chosen, telling, options)
        except Absent as why:
            found[peer.name] = str(why)
    report(own, found)
    print()
    for name, versions in said.items():
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in versions.items()))
    if options.json:
        options.json.write_text(json.dumps(plain(own, found), indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
