"""Draws random programs with Hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from .program_steps import KINDS, build
from .programs import GRIDS, SHAPES, Program, Step

_PICK = st.integers(0, 7)


def _steps(*, gpu: bool, most: int) -> st.SearchStrategy[list[Step]]:
    step = st.tuples(st.integers(0, KINDS[gpu] - 1), st.integers(0, 255), _PICK, _PICK, _PICK)
    return st.lists(step, min_size=1, max_size=most)


@st.composite
def programs(draw: st.DrawFn, *, gpu: bool = False, most: int = 10) -> Program:
    """Draw a program.

    Args:
        draw: Hypothesis's.
        gpu: only ops that a GPU backend lowers.
        most: the largest number of steps.
    """
    steps: Sequence[Step] = draw(_steps(gpu=gpu, most=most))
    return build(
        steps,
        lanes=draw(st.sampled_from(SHAPES)),
        grid=draw(st.sampled_from(GRIDS)),
        seed=draw(st.integers(0, 1 << 20)),
        gpu=gpu,
    )
