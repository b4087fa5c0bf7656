"""The study of verdicts at a small size: far from where they turn, each verdict is right."""

import json

import pytest
from click.testing import CliRunner

from hushpoll_shared.qualifying.verdict import INFORMATIVE, TOO_NOISY
from studies import verdicts

TURNS = {INFORMATIVE: TOO_NOISY, TOO_NOISY: INFORMATIVE}


@pytest.fixture
def few(monkeypatch):
    """The example of ten questions, and a survey that tells; four of the parts."""
    titles = (
        "differences of shares, 2 x 2",
        "cells, 2 x 4",
        "independence, 2 x 4",
        "differences of means, 5 x 2",
    )
    parts = [part for part in verdicts.PARTS if part.title in titles]
    assert len(parts) == len(titles)
    monkeypatch.setattr(verdicts, "PARTS", tuple(parts))
    monkeypatch.setattr(verdicts, "SETTINGS", (verdicts.SETTINGS[0], (4, "GRR", "8", 2_000)))


def test_verdicts_are_right_without_an_effect_and_with_the_largest(few):
    rows = verdicts.run_study(surveys=12, seed=1)
    assert len(rows) == 2 * 4 * 2
    assert all(row.given == 1 and row.right for row in rows)
    assert [row.verdict for row in rows] == [TOO_NOISY] * 8 + [INFORMATIVE] * 8
    for row in rows:
        # the other verdict would be wrong: the study tells them apart
        turned = verdicts.is_right(
            TURNS[row.verdict], row.effect, row.reached, row.covered, row.found, row.surveys
        )
        assert turned == (row.reached is None and row.effect == "none")
    text = verdicts.markdown(rows)
    assert "| differences of shares, 2 x 2 | largest | too noisy to tell | 1, 1 |" in text
    assert "Wrong:" not in text


def test_wrong_verdicts_are_listed(few):
    row = verdicts.Row(
        "cells, 2 x 4", "s", "none", INFORMATIVE, 1.0, 1.2, 0.95, None, surveys=25, right=False
    )
    assert verdicts.markdown([row]).splitlines()[-1] == (
        "| cells, 2 x 4 | s | none | informative | 120 | 95 |  |"
    )
    assert not verdicts.is_right(INFORMATIVE, "none", 0.5, 0.7, None, 400)
    assert not verdicts.is_right(INFORMATIVE, "largest", 0.5, 0.95, 0.5, 400)
    assert not verdicts.is_right(INFORMATIVE, "none", 0.5, 0.95, 0.2, 400)


def test_command_gives_every_row_as_json(few, monkeypatch):
    monkeypatch.setattr(verdicts, "PARTS", verdicts.PARTS[:1])
    answer = CliRunner().invoke(verdicts.main, ["--surveys", "2", "--json"])
    assert answer.exit_code == 0, answer.output
    assert len(json.loads(answer.output)["rows"]) == 4
