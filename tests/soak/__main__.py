"""Walk for some minutes, or a number of steps: ``python -m soak --minutes N --seed S``."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from postgres import PostgreSQL
from soak.machine import Soak

# A longer run in which no group in clear is shown has not checked what it should.
MINUTES_WITHOUT_A_LOOK = 20


def main() -> int:
    """Walk until the time is over; a failure names the seed and the steps that bring it again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--steps", type=int, help="end after so many steps")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    over = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory() as folder, PostgreSQL() as server:
        soak = Soak(
            Path(folder),
            server.create("soak"),
            seed=given.seed,
            say=lambda line: print(line, flush=True),
        )
        try:
            while time.monotonic() < over and soak.number != given.steps:
                soak.step()
        except BaseException:
            again = f"scripts/soak --seed {given.seed} --steps {soak.number}"
            print(f"failed at step {soak.number}; again: {again}", flush=True)
            print(soak.server.log[-4000:], flush=True)
            raise
        finally:
            soak.close()
    states = {
        state: sum(len(survey.of(state)) for survey in soak.surveys)
        for state in ("stored", "deleted", "unsure", "never")
    }
    print(f"{soak.number} steps, {len(soak.surveys)} surveys, reports: {states}")
    of = sum(bool(survey.shown) for survey in soak.surveys)
    print(f"groups in clear were shown to a reader {soak.looks} times, of {of} surveys")
    for kind in ("ingest", "web"):
        grown = soak.grown[kind] / 2**20
        print(f"{kind}: grew by {grown:.0f} MiB once warm; {soak.descriptors[kind]} descriptors")
    print(", ".join(f"{name} {count}" for name, count in soak.done.most_common()))
    if given.minutes > MINUTES_WITHOUT_A_LOOK and not soak.looks:
        print("no group in clear was shown, so this run says nothing about small groups")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
