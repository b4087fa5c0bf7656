"""Intervals of audits cover the values of populations fitted to Adult and LSAC."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from hushpoll_shared.group_metrics import METRICS
from studies.audits import (
    DATA,
    EPSILONS,
    FURTHER,
    PROTOCOLS,
    RESPONDENTS,
    SURVEYS,
    fit_population,
    further,
    main,
    run_hard,
    run_study,
)

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def populations(data_dir):
    return {
        name: fit_population(data_dir / file, target, protected)
        for name, (file, target, protected) in DATA.items()
    }


def check(rows, surveys, least):
    """Each metric of each survey is covered often enough, give or take four standard errors."""
    allowed = 4 * (0.95 * 0.05 / surveys) ** 0.5
    for row in rows:
        coverage = row.coverage
        assert coverage.covered > least - allowed, row
        if coverage.truth == pytest.approx(METRICS[row.metric].fair, abs=1e-12):
            assert coverage.disparate < 0.05 + allowed, row


def test_populations_have_the_groups_of_their_data(populations):
    adult, lsac = populations["Adult"], populations["LSAC"]
    assert adult[0].sum() / adult.sum() == pytest.approx(0.325, abs=0.01)
    assert lsac[0].sum() / lsac.sum() == pytest.approx(0.06, abs=0.005)
    assert (adult > 0).all()
    assert (lsac > 0).all()


def test_300_surveys_of_each_are_covered_within_chance(populations):
    rows = run_study(populations, surveys=300)
    assert len(rows) == len(DATA) * len(EPSILONS) * len(PROTOCOLS) * 4
    check(rows, 300, 0.95)
    more = run_study({"LSAC": populations["LSAC"]}, surveys=300, names=FURTHER)
    check(more, 300, 0.95)
    assert len(further(more).splitlines()) == 2 + len(EPSILONS) * len(PROTOCOLS)
    check(run_hard(populations["Adult"], surveys=300), 300, 0.95)


@pytest.mark.slow
def test_5000_surveys_of_each_are_covered_in_94_percent_and_the_rule_of_before_was_not(populations):
    small = run_hard(populations["Adult"], surveys=SURVEYS)
    for row in [*run_study(populations, surveys=SURVEYS), *small]:
        assert row.coverage.covered >= 0.94, row
        if row.coverage.truth == pytest.approx(METRICS[row.metric].fair, abs=1e-12):
            assert row.coverage.disparate <= 0.055, row
    seldom = [row.coverage for row in small if 0 < row.coverage.earlier_answered < 0.2]
    assert min(coverage.earlier_covered for coverage in seldom) < 0.9


def test_the_check_notices_a_rule_that_answers_the_lucky_ones(populations):
    rows = run_hard(populations["Adult"], surveys=1000)
    before = [
        replace(row, coverage=replace(row.coverage, covered=row.coverage.earlier_covered))
        for row in rows
        if row.coverage.earlier_answered
    ]
    with pytest.raises(AssertionError):
        check(before, 1000, 0.95)


def test_the_command_prints_a_table_or_json(data_dir):
    options = ["--data", str(data_dir), "--surveys", "20"]
    table = CliRunner().invoke(main, options)
    assert table.exit_code == 0, table.output
    assert table.output.count("\n") == 2 + 16 + 3 + 16 + 3 + 9 + 3 + 5
    study = json.loads(CliRunner().invoke(main, [*options, "--json"]).output)
    assert (study["surveys"], study["respondents"]) == (20, RESPONDENTS)
    assert len(study["rows"]) == 64
    assert len(study["further"]) == 48
    assert len(study["small"]) == 36
    assert len(study["items"]) == 5
