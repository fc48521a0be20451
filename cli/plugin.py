"""The pytest plugin: contract tests become one test per invariant and configuration.

Loaded by every pytest run where kvproof is installed, so the solver, torch and the checkers are
imported by the first contract test that is collected or run, never here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .contracttest import ContractTest, contract_test
from .testreports import Broken, Checks, Undecided, run_cases, told

if TYPE_CHECKING:
    from ..spec.job import Job

__all__ = ["ContractTest", "contract_test"]

#: Schema of the file that `--kvproof-json` writes.
SCHEMA = "kvproof.pytest/1"
_PROFILES = ("ci", "dev", "campaign")
_PROPERTY = "kvproof_verdict"
_CHECKS = pytest.StashKey[Checks]()


class ContractItem(pytest.Item):
    """One invariant of a writer in one configuration.

    Args:
        test: the contract test.
        base: its name.
        job: the job.
        invariant: the id of the invariant, or "runs".
        others: pytest's own.
    """

    def __init__(
        self, *, test: ContractTest, base: str, job: Job, invariant: str, **others: Any
    ) -> None:
        super().__init__(**others)
        self.test = test
        self.base = base
        self.job = job
        self.invariant = invariant
        for mark in test.pytestmark:
            self.add_marker(getattr(pytest.mark, mark.name).with_args(*mark.args, **mark.kwargs))

    def runtest(self) -> None:
        """Check the job, or take its report, and judge this invariant."""
        from ..spec.verdict import Verdict, worst
        from .outcome import is_claim

        assert self.parent is not None
        report = self.config.stash[_CHECKS].report(f"{self.parent.nodeid}::{self.base}", self.job)
        mine = [
            result
            for result in report.results
            if result.invariant == self.invariant and not is_claim(self.job, result)
        ]
        verdict = worst([result.verdict for result in mine]) if mine else None
        # W15 orders loads after a wait: a kernel that does not wait has nothing to order.
        silent = "PROVED" if self.invariant == "W15" and not report.error else "UNKNOWN"
        self.user_properties.append((_PROPERTY, verdict.value if verdict else silent))
        if report.error or (not mine and self.invariant != "W15"):
            raise Undecided(report.error or f"the check says nothing of {self.invariant}")
        if verdict is not None and verdict is not Verdict.PROVED:
            text = told(self.job, mine, self.name, self.nodeid)
            raise (Broken if verdict is Verdict.REFUTED else Undecided)(text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the findings as `kvproof check` prints them, without any frame."""
        from ..spec.errors import KvproofError

        if isinstance(excinfo.value, (Broken, Undecided, KvproofError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the line of the decorator."""
        here = Path(self.test.file) == self.path
        return self.path, self.test.line - 1 if here else None, self.name


class RunsItem(ContractItem):
    """Runs of a writer in one configuration, beside the proofs: profiles dev and campaign."""

    def runtest(self) -> None:
        """Run cases; each configuration has a folder of its own, which a later run goes on from."""
        self.user_properties.append((_PROPERTY, "RUN"))
        plain = re.sub(r"[^A-Za-z0-9._=]+", "-", self.nodeid).strip("-.")
        folder = self.config.rootpath / ".kvproof" / f"pytest-{plain}"
        run_cases(self.job, self.config.stash[_CHECKS].profile, folder)


class BadContract(pytest.Collector):
    """A contract test that does not fit its writer: an error of the collection, in one line.

    Args:
        text: the line.
        others: pytest's own.
    """

    def __init__(self, *, text: str, **others: Any) -> None:
        super().__init__(**others)
        self.text = text

    def collect(self) -> Sequence[pytest.Item | pytest.Collector]:
        """Raise CollectError."""
        raise self.CollectError(self.text)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--kvproof-profile` and `--kvproof-json`."""
    group = parser.getgroup("kvproof", "contracts of KV-cache writers")
    group.addoption(
        "--kvproof-profile",
        choices=_PROFILES,
        default="ci",
        help="ci: proofs (default); dev: also 200 runs; campaign: 60 s of runs",
    )
    group.addoption("--kvproof-json", metavar="FILE", help="write what was found as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Start nothing; refuse a report that could not be written."""
    config.stash[_CHECKS] = Checks(str(config.getoption("--kvproof-profile")))
    file = config.getoption("--kvproof-json")
    if file and not Path(file).absolute().parent.is_dir():
        raise pytest.UsageError(f"--kvproof-json: there is no folder {Path(file).parent}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the child processes."""
    if _CHECKS in config.stash:
        config.stash[_CHECKS].close()


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Item | pytest.Collector] | None:
    """Collect a contract test, whatever its name."""
    if not isinstance(obj, ContractTest):
        return None
    from ..spec.errors import KvproofError

    try:
        return list(_items(collector, name, obj))
    except KvproofError as problem:
        text = f"{Path(obj.file).name}:{obj.line}: {name}: {problem}"
        return [BadContract.from_parent(collector, name=name, text=text)]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Tell a contract that contradicts itself in one line, not with frames of kvproof."""
    report = yield
    excinfo = report.call.excinfo if report.call is not None else None
    if excinfo is not None and type(excinfo.value).__module__ == "kvproof.spec.errors":
        own = [entry for entry in excinfo.traceback if Path(entry.path) == collector.path]
        line = f":{own[-1].lineno + 1}" if own else ""
        report.longrepr = f"{collector.path.name}{line}: {excinfo.value}"
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the outcome of a contract test; under xdist the controller hears of all of them."""
    verdict = dict(report.user_properties).get(_PROPERTY)
    if verdict is not None and report.when == "call":
        known = getattr(report, "wasxfail", None)
        _OUTCOMES[report.nodeid] = {
            "id": report.nodeid,
            "verdict": verdict,
            "outcome": "xfailed" if known is not None and report.skipped else report.outcome,
            "known": known,
        }


#: Outcomes by node id; the hook that hears of them is not told the configuration.
_OUTCOMES: dict[str, dict[str, Any]] = {}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the records of a worker of pytest-xdist."""
    text = getattr(node, "workeroutput", {}).get("kvproof")
    if text:
        node.config.stash[_CHECKS].records += json.loads(text)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the records to the controller, or write them."""
    checks = session.config.stash[_CHECKS]
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["kvproof"] = json.dumps(checks.records)
        return
    file = session.config.getoption("--kvproof-json")
    if file:
        from .versions import versions

        records = {(record["test"], record["label"]): record for record in checks.records}
        document = {
            "schema": SCHEMA,
            "profile": checks.profile,
            "versions": versions(),
            "tests": list(_OUTCOMES.values()),
            "configurations": list(records.values()),
        }
        Path(file).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    _OUTCOMES.clear()


def _items(collector: pytest.Collector, name: str, test: ContractTest) -> list[ContractItem]:
    from .configuring import configurations, invariants_of, reasons

    asked = [
        (f"{what}-{label}", job, what)
        for label, job in configurations(test)
        for what in (*invariants_of(test, job), "runs")
    ]
    known = reasons(test, [label for label, _, _ in asked])
    items: list[ContractItem] = []
    proofs_only = collector.config.stash[_CHECKS].profile == "ci"
    for label, job, what in asked:
        if what == "runs" and proofs_only:
            continue
        more: dict[str, Any] = {"test": test, "base": name, "job": job, "invariant": what}
        kind = RunsItem if what == "runs" else ContractItem
        item = kind.from_parent(collector, name=f"{name}[{label}]", **more)
        if label in known:
            item.add_marker(pytest.mark.xfail(reason=known[label], strict=True, raises=Broken))
        items.append(item)
    return items
