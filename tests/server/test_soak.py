"""A short walk: as many steps as fit in about a minute, bounded by their number and no clock."""

from __future__ import annotations

import os

import pytest

from postgres import PostgreSQL
from soak.machine import STEPS, Soak
from soak.state import STORED

STEPS_IN_CI = int(os.environ.get("HUSHPOLL_SOAK_STEPS", "45"))
# In its steps nearly every kind comes, and a reader is shown groups in clear.
SEED = 3139


def walked(tmp_path, seed, steps):
    said = []
    with PostgreSQL() as server:
        soak = Soak(tmp_path, server.create("soak"), seed=seed, say=said.append)
        try:
            for _ in range(steps):
                soak.step()
        except BaseException as error:
            error.add_note(f"again: scripts/soak --seed {seed} --steps {soak.number}")
            raise
        finally:
            soak.close()
    return soak, said


def test_walk_loses_and_repeats_nothing(tmp_path):
    soak, said = walked(tmp_path, SEED, STEPS_IN_CI)
    assert len(said) == STEPS_IN_CI
    assert {"publish", "answer", "withdraw", "race"} <= soak.done.keys() <= STEPS.keys()
    assert any(survey.of(STORED) for survey in soak.surveys)
    assert soak.looks or STEPS_IN_CI < 45


@pytest.mark.slow
def test_long_walk_takes_every_step(tmp_path):
    soak, _ = walked(tmp_path, 11, 400)
    assert soak.done.keys() == STEPS.keys()
