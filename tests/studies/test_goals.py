"""The study of what plans predict, at a small size: two protocols at one epsilon."""

import json

from click.testing import CliRunner

from studies import goals


def test_predictions_are_those_of_simulated_surveys(monkeypatch):
    monkeypatch.setattr(goals, "EPSILONS", ("2",))
    monkeypatch.setattr(goals, "METRICS", ("SPD",))
    rows = goals.run_study(surveys=300, seed=1, protocols=("OUE",))
    widths = [row for row in rows if row.is_width]
    powers = [row for row in rows if not row.is_width]
    assert (len(widths), len(powers)) == (3 + 3, 12 + 6)
    # four standard errors of the simulation: 1.4 % of a width at most, .03 of a power
    assert max(row.off for row in widths) < 0.02 + 0.014
    assert max(row.off for row in powers) < 0.03 + 4 * (0.25 / 300) ** 0.5
    assert len(goals.markdown(rows).splitlines()) == 2 + 3 + 4 + 3 + 3 + 4


def test_command_gives_every_row_as_json(monkeypatch):
    monkeypatch.setattr(goals, "EPSILONS", ())
    answer = CliRunner().invoke(goals.main, ["--surveys", "2", "--json"])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.output)["rows"] == []
