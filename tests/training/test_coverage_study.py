"""Intervals of audits cover the values of populations fitted to Adult and LSAC."""

import json

import pytest
from click.testing import CliRunner

from hushpoll_analysis.fairness_coverage import LARGE_ENOUGH
from hushpoll_training.coverage_study import (
    DATA,
    EPSILONS,
    PROTOCOLS,
    RESPONDENTS,
    SURVEYS,
    fit_population,
    main,
    run_study,
)

pytestmark = pytest.mark.data

# Population, protocol and epsilon for which 20,000 respondents are too few, known beforehand:
# 6 % of them are in the group, and a record tells little of it
TOO_FEW = {("LSAC", protocol, "1") for protocol in ("OUE", "OLH", "BLH")}


@pytest.fixture(scope="module")
def populations(data_dir):
    return {
        name: fit_population(data_dir / file, target, protected)
        for name, (file, target, protected) in DATA.items()
    }


def check(rows, surveys, spare):
    """Hold each large enough group to 95 %, give or take four standard errors, and `spare`."""
    allowed = 4 * (0.95 * 0.05 / surveys) ** 0.5 + spare
    audited = [row for row in rows if row.coverage.auditable]
    assert {
        (row.population, row.protocol, row.epsilon) for row in rows if not row.coverage.auditable
    } == TOO_FEW
    for row in audited:
        print(row.population, row.protocol, row.epsilon, row.metric, row.coverage.covered)
        assert abs(row.coverage.covered - 0.95) < allowed, row
    pooled = sum(row.coverage.covered for row in audited) / len(audited)
    assert 0.94 < pooled < 0.96
    assert len(rows) == len(DATA) * len(EPSILONS) * len(PROTOCOLS) * 4


def test_populations_have_the_groups_of_their_data(populations):
    adult, lsac = populations["Adult"], populations["LSAC"]
    assert adult[0].sum() / adult.sum() == pytest.approx(0.325, abs=0.01)
    assert lsac[0].sum() / lsac.sum() == pytest.approx(0.06, abs=0.005)
    assert (adult > 0).all()
    assert (lsac > 0).all()


def test_300_surveys_of_each_are_covered_within_chance(populations):
    check(run_study(populations, surveys=300), 300, 0.002)


def test_5000_surveys_of_each_are_covered_in_94_to_96_percent(populations):
    rows = run_study(populations, surveys=SURVEYS)
    check(rows, SURVEYS, 0)
    for row in rows:
        if row.coverage.auditable:
            assert 0.94 <= row.coverage.covered <= 0.96, row
        else:
            # refusals are misses there, and what is answered is still covered
            assert row.coverage.strength < LARGE_ENOUGH
            assert row.coverage.covered_where_answered > 0.93


def test_the_command_prints_a_table_or_json(data_dir):
    options = ["--data", str(data_dir), "--surveys", "20"]
    table = CliRunner().invoke(main, options)
    assert table.exit_code == 0, table.output
    assert table.output.count("\n") == 2 + 16
    assert table.output.count("(") == 4 * len(TOO_FEW)
    found = json.loads(CliRunner().invoke(main, [*options, "--json"]).output)
    assert (found["surveys"], found["respondents"]) == (20, RESPONDENTS)
    assert len(found["rows"]) == 64
