"""Outcomes to make pages of: the bundled writers checked for real, and results from a table."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from kvproof.checkers.check import Checker, JobReport
from kvproof.cli.outcome import Outcome
from kvproof.cli.request import Request
from kvproof.spec.errors import KvproofError

from .fake_check import bundled


def checked() -> Outcome:
    """Return a real check of both bundled writers, each in its first configuration."""
    jobs = bundled()
    first = [next(job for job in jobs if job.writer == name) for name in NAMES]
    with Checker(workers=1) as checker:
        reports = checker.finish(list(checker.check_all(first)))
    return Outcome(Request(), tuple(reports))


NAMES = ("write_rows", "write_rows_without_skip")


def told(*results, job=None, error=None, notes=(), **changes) -> Outcome:
    """Return an outcome of one job with these results."""
    made = replace(job or bundled()[0], **changes)
    named = tuple(replace(one, writer=made.writer) for one in results)
    return Outcome(Request(target=made.target), (JobReport(made, named, notes, error=error),))


class NoChild:
    """A child process that answers nothing."""

    def capture(self, *_, **__):
        """Refuse."""
        raise KvproofError("no child here")


class Elements(HTMLParser):
    """Every element of a page, with its attributes and the text below it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Keep an element."""
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        """Keep the text."""
        self.text.append(data)

    def of(self, *tags: str) -> list[dict[str, str]]:
        """Return the attributes of every element of these kinds."""
        return [attrs for tag, attrs in self.found if tag in tags]

    def every(self, name: str) -> list[str]:
        """Return every value of an attribute."""
        return [attrs[name] for _, attrs in self.found if name in attrs]

    def words(self) -> str:
        """Return all text, with single spaces."""
        return " ".join(" ".join(self.text).split())
