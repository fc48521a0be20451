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

from ..spec.errors import KvproofError
from . import known, testoptions
from .contracttest import ContractTest, contract_test
from .testreports import Broken, Checks, Undecided, told

if TYPE_CHECKING:
    from ..spec.job import Job

__all__ = ["ContractTest", "contract_test"]

_PROPERTY = "kvproof_verdict"
_KNOWN = "kvproof_known"
_CHECKS = pytest.StashKey[Checks]()


class ContractItem(pytest.Item):
    """One invariant of a writer in one configuration.

    Args:
        test: the contract test.
        base: its name.
        job: the job.
        configuration: what names it among those of the test.
        invariant: the id of the invariant, or "runs".
        others: pytest's own.
    """

    def __init__(
        self,
        *,
        test: ContractTest,
        base: str,
        job: Job,
        configuration: str,
        invariant: str,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.test = test
        self.base = base
        self.job = job
        self.configuration = configuration
        self.invariant = invariant
        #: Why the test is expected to fail; empty when it is not.
        self.known = ""
        for mark in test.pytestmark:
            self.add_marker(getattr(pytest.mark, mark.name).with_args(*mark.args, **mark.kwargs))

    def runtest(self) -> None:
        """Check the job, or take its report, and judge this invariant."""
        from ..spec.verdict import Verdict, worst
        from .outcome import is_claim
        from .spot import spot_of

        checks = self.config.stash[_CHECKS]
        report = checks.report(self.contract_test, self.configuration, self.job)
        mine = [
            result
            for result in report.results
            if result.invariant == self.invariant and not is_claim(self.job, result)
        ]
        verdict = worst([result.verdict for result in mine]) if mine else None
        # W15 orders loads after a wait: a kernel that does not wait has nothing to order.
        silent = "PROVED" if self.invariant == "W15" and not report.error else "UNKNOWN"
        spot = str(spot_of(self.job, mine[0].source)) if mine else ""
        self.tell(verdict.value if verdict else silent, spot)
        if report.error or (not mine and self.invariant != "W15"):
            raise Undecided(report.error or f"the check says nothing of {self.invariant}")
        if verdict is not None and verdict is not Verdict.PROVED:
            text = told(self.job, mine, self.name, self.nodeid)
            raise (Broken if verdict is Verdict.REFUTED else Undecided)(text)

    @property
    def contract_test(self) -> str:
        """The node id of the contract test, without parameters."""
        assert self.parent is not None
        return f"{self.parent.nodeid}::{self.base}"

    def tell(self, verdict: str, source: str = "") -> None:
        """Put what a reviewer asks for into JUnit files and reports, as properties of the test.

        Args:
            verdict: a verdict, or "RUN".
            source: "file.py:line" of the kernel's statement.
        """
        self.user_properties += [
            (_PROPERTY, verdict),
            ("kvproof_writer", self.job.target),
            ("kvproof_contract", self.job.instance.contract.name),
            ("kvproof_configuration", self.job.label),
        ]
        self.user_properties += [("kvproof_source", source)] if source else []
        self.user_properties += [(_KNOWN, self.known)] if self.known else []

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the findings as `kvproof check` prints them, without any frame."""
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
        self.tell("RUN")
        checks = self.config.stash[_CHECKS]
        plain = re.sub(r"[^A-Za-z0-9._=]+", "-", self.nodeid).strip("-.")
        device = "" if checks.options.device == "cpu" else f"-{checks.options.device}"
        folder = self.config.rootpath / ".kvproof" / f"pytest-{plain}{device}"
        checks.run(self.contract_test, self.configuration, self.job, folder)


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
    """Add the options."""
    testoptions.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Start nothing; refuse a report that could not be written, a device that is not there."""
    config.addinivalue_line("markers", known.ABOUT)
    config.stash[_CHECKS] = Checks(testoptions.read_options(config))


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
    told = dict(report.user_properties)
    if _PROPERTY in told and report.when == "call":
        expected = hasattr(report, "wasxfail") and report.skipped
        _OUTCOMES[report.nodeid] = {
            "id": report.nodeid,
            "verdict": told[_PROPERTY],
            "outcome": "xfailed" if expected else report.outcome,
            "known": told.get(_KNOWN),
        }


#: Outcomes by node id; the hook that hears of them is not told the configuration.
_OUTCOMES: dict[str, dict[str, Any]] = {}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the records of a worker of pytest-xdist."""
    text = getattr(node, "workeroutput", {}).get("kvproof")
    if text:
        checks, found = node.config.stash[_CHECKS], json.loads(text)
        checks.records += found["records"]
        checks.runs += found["runs"]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Hand the records to the controller, or write them; a run that was cut short writes none."""
    checks = session.config.stash[_CHECKS]
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["kvproof"] = json.dumps({"records": checks.records, "runs": checks.runs})
        return
    options = checks.options
    if options.json or options.sarif or options.markdown:
        if exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR):
            checks.fault = "interrupted: no report was written"
        else:
            from .testdocuments import write_documents

            try:
                write_documents(options, _OUTCOMES, checks.records, checks.runs)
            except KvproofError as problem:
                checks.fault = str(problem)
                session.exitstatus = pytest.ExitCode.USAGE_ERROR
    _OUTCOMES.clear()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say why a report was not written."""
    if config.stash[_CHECKS].fault:
        terminalreporter.write_line(f"kvproof: {config.stash[_CHECKS].fault}", red=True)


def _items(collector: pytest.Collector, name: str, test: ContractTest) -> list[ContractItem]:
    from .configuring import configurations, invariants_of, reasons
    from .gpuneed import refuse_gpu

    checks = collector.config.stash[_CHECKS]
    asked = [
        (what, label, job)
        for label, job in configurations(test)
        for what in (*invariants_of(test, job), "runs")
    ]
    names = [f"{what}-{label}" for what, label, _ in asked]
    test.known = known.known_of(test, names, collector.iter_markers(known.MARK))
    expected = reasons(test, names)
    refuse_gpu(checks.child, asked[0][2])
    items: list[ContractItem] = []
    for what, label, job in asked:
        if what == "runs" and checks.options.profile == "ci":
            continue
        item = (RunsItem if what == "runs" else ContractItem).from_parent(
            collector,
            name=f"{name}[{what}-{label}]",
            test=test,
            base=name,
            job=job,
            configuration=label,
            invariant=what,
        )
        item.known = expected.get(f"{what}-{label}", "")
        if item.known:
            item.add_marker(pytest.mark.xfail(reason=item.known, strict=True, raises=Broken))
        items.append(item)
    return items
