"""A campaign as a process of its own, to be killed: python campaign_program.py DIR CASES."""

from __future__ import annotations

import sys
from pathlib import Path

from kvproof.diff.campaign import run


def main():
    # Collected by path, the tests are no package; run by hand, neither.
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.campaigns import own, plan

    jobs = (own("write"), own("write_all"))
    summary = run(plan(Path(sys.argv[1]), *jobs, budget=float(sys.argv[2])))
    sys.exit(summary.exit_code())


if __name__ == "__main__":
    main()
