"""Shrunk priors rule few people out, where projected ones rule out up to four of five."""

import json

import pytest
from click.testing import CliRunner

from studies.priors import EPSILONS, FILE, PROTOCOLS, QUESTIONS, main, run_study

pytestmark = pytest.mark.data


def test_shrunk_priors_rule_out_no_more_than_three_percent_of_the_people(data_dir):
    rows = run_study(data_dir / FILE, surveys=3)
    assert len(rows) == 2 * len(QUESTIONS) * len(EPSILONS) * len(PROTOCOLS)
    for before, after in zip(rows[::2], rows[1::2], strict=True):
        assert (before.method, after.method) == ("projection", "shrinkage")
        assert before.zeros >= 3
        assert after.zeros == 0
        assert after.ruled_out < max(0.03, before.ruled_out / 10)
        assert after.distance < 1.4 * before.distance
    ages = [row for row in rows if row.question == "age" and row.epsilon == "0.25"]
    assert min(row.ruled_out for row in ages if row.method == "projection") > 0.3


def test_the_prior_study_prints_a_line_per_setting_or_json(data_dir):
    options = ["--data", str(data_dir), "--surveys", "1"]
    table = CliRunner().invoke(main, options)
    assert table.exit_code == 0, table.output
    assert table.output.count("\n") == 2 + 24
    study = json.loads(CliRunner().invoke(main, [*options, "--json"]).output)
    assert len(study["rows"]) == 48
