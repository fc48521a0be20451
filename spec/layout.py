"""Where the places of a cache lie: whether segments keep clear of each other, in numbers.

A check at construction, so that a contract that contradicts itself is told before anything runs.
The proof of W13 asks the same of every place of the pool by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .expr import Binary, Expr, steps_by_one
from .rules import Segment
from .shapes import TensorShape

#: Places of a page beyond which only the first of them are looked at.
_MOST = 1 << 12


@dataclass(frozen=True, order=True)
class Run:
    """Elements of one segment at one place of a cache.

    Args:
        begin: its first element, counted from the cache's first one.
        end: the element after its last.
        segment: the segment's name.
        place: the place, counted from the cache's first one.
    """

    begin: int
    end: int
    segment: str
    place: int


def page_of(segments: Sequence[Segment], env: Mapping[str, int]) -> int:
    """Return the places after which a layout repeats: the page size, or 1 for plain rows.

    Args:
        segments: segments of one cache.
        env: every dimension as a number.

    It is the least common multiple of what their places are divided by.
    """
    divisors = [
        int(divisor.evaluate(env))
        for segment in segments
        for divisor in _divisors(segment.at)
        if not divisor.symbols() - env.keys()
    ]
    return math.lcm(*(divisor for divisor in divisors if divisor > 0))


def clash(segments: Sequence[Segment], env: Mapping[str, int]) -> str:
    """Return how segments of one cache meet, in words; empty when they keep clear.

    Args:
        segments: segments of one cache, `at` in elements.
        env: every dimension as a number.

    Within a page every two runs are compared; pages keep clear of each other where one is no
    longer than the step to the next.
    """
    page = min(page_of(segments, env), _MOST)
    runs = sorted(_runs(segments, env, range(page)))
    for low, high in itertools.pairwise(runs):
        if low.end > high.begin and low.place == high.place and low.segment != high.segment:
            names = " and ".join(s.name for s in segments if s.name in (low.segment, high.segment))
            return f"segments {names} overlap at element {high.begin}"
        if low.end > high.begin:
            return (
                f"segment {low.segment} of place {low.place} ends at element {low.end - 1}, and "
                f"{high.segment} of place {high.place} begins at {high.begin}"
            )
    if not runs:
        return ""
    last = max(runs, key=lambda run: run.end)
    extent = last.end - runs[0].begin
    step = min(_begin(s, env, page) - _begin(s, env, 0) for s in segments)
    if extent <= step:
        return ""
    if page == 1:
        return (
            f"segment {last.segment} runs past the row's stride: a row holds {extent} elements, "
            f"and the next begins after {step}"
        )
    return (
        f"segment {last.segment} runs past the page's stride: a page of {page} places holds "
        f"{extent} elements, and the next begins after {step}"
    )


def reach(segments: Sequence[Segment], env: Mapping[str, int], pool: int) -> int:
    """Return the elements from a cache's first one to the last that its places store.

    Args:
        segments: segments of one cache.
        env: every dimension as a number.
        pool: places of the cache.
    """
    ends = [0]
    # Places of a page may lie in any order: the last page holds the end.
    for place in range(max(pool - page_of(segments, env), 0), pool):
        for segment in segments:
            last = max(int(segment.width.evaluate(env)) - 1, 0)
            ends.append(1 + _begin(segment, env, place, last))
    return max(ends)


def misfit(shape: TensorShape, segments: Sequence[Segment], env: Mapping[str, int]) -> str:
    """Return how a stated shape is too small for the segments of a contract; empty when it fits.

    Args:
        shape: the shape of a cache or of a source.
        segments: the contract's segments.
        env: every dimension as a number.

    A few places and rows are tried: shape and segments are stated each on their own, and a stride
    that differs between the two shows there.
    """
    mine = [segment for segment in segments if segment.into == shape.arg]
    count = 2 * page_of(mine, env) if mine else 3
    what = f"{count} places" if mine else f"{count} rows"
    needed = reach(mine, env, count)
    for segment in segments:
        if segment.source == shape.arg:
            col = max(int(segment.width.evaluate(env)) - 1, 0)
            end = int(segment.begin.evaluate({**env, "row": count - 1, "col": col}))
            needed = max(needed, end + 1)
    sizes, strides = shape.at({**env, "POOL": count, "ROWS": count})
    held = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    if needed <= held:
        return ""
    return f"{what} of {shape.arg} reach {needed} elements, and its stated shape holds {held}"


def _begin(segment: Segment, env: Mapping[str, int], place: int, col: int = 0) -> int:
    return int(segment.at.evaluate({**env, "place": place, "col": col}))


def _divisors(expr: Expr) -> Iterator[Expr]:
    """Yield what an expression divides the place by."""
    if not isinstance(expr, Binary):
        return
    if expr.op in ("//", "%") and "place" in expr.left.symbols():
        yield expr.right
    yield from _divisors(expr.left)
    yield from _divisors(expr.right)


def _runs(
    segments: Sequence[Segment], env: Mapping[str, int], places: Sequence[int]
) -> Iterator[Run]:
    """Yield the runs of a segment: one where its columns lie side by side, else one for each."""
    for segment in segments:
        width = int(segment.width.evaluate(env))
        whole = steps_by_one(segment.at, "col")
        for place in places if width else ():
            for col in (0,) if whole else range(width):
                begin = _begin(segment, env, place, col)
                yield Run(begin, begin + (width if whole else 1), segment.name, place)
