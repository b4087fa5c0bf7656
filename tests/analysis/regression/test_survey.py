"""Regressions of a survey's records: questions alone, and blocks of several."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from hushpoll_analysis.cli.regress import of_records
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.regression.answers import Numbers
from hushpoll_analysis.regression.model import fit
from hushpoll_analysis.regression.survey import answers_of
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.batch import encode_many
from hushpoll_shared.wire.records_file import pack_records_header

N = 6000


@pytest.fixture(scope="module")
def survey():
    draft = {
        "name": "habits",
        "version": 1,
        "title": "Habits",
        "epsilon": "9",
        "split": {"weights": {"lives": 1, "smokes": 2}},
        "attributes": [
            {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"], "protocol": "GRR"},
            {"name": "drinks", "role": "sensitive", "categories": ["no", "yes"]},
            {"name": "gender", "role": "sensitive", "categories": ["f", "m"]},
            {"name": "age", "role": "plain", "range": [20, 29]},
        ],
        "together": [{"name": "lives", "attributes": ["drinks", "gender"], "protocol": "OUE"}],
    }
    published = Manifest.from_dict(draft).resolve()
    rng = np.random.default_rng(7)
    gender, age = rng.integers(0, 2, N), rng.integers(0, 10, N)
    drinks = (rng.random(N) < 1 / (1 + np.exp(-(gender - 0.5 + 0.1 * (age - 5))))).astype(int)
    smokes = (rng.random(N) < 1 / (1 + np.exp(-(1.5 * drinks - 1)))).astype(int)
    codes = {"smokes": smokes, "drinks": drinks, "gender": gender, "age": age}
    return Records(published, encode_many(published, codes, rng))


@pytest.mark.parametrize(
    ("formula", "truth"),
    [
        ("smokes ~ drinks + gender + age", [None, 1.5, 0.0, 0.0]),
        ("drinks ~ gender + age", [None, 1.0, 0.1]),
    ],
)
def test_slopes_of_blocks_are_near_the_truth(survey, formula, truth):
    answers = answers_of(survey, formula)
    assert isinstance(answers.clear["age"], Numbers)
    found = fit(formula, answers, effects=False)
    assert found.converged
    for one, wanted in zip(found.coefficients, truth, strict=True):
        if wanted is not None:
            assert abs(one.estimate - wanted) < 4 * one.standard_error
            assert one.standard_error < 0.5


def test_command_fits_a_file_of_records(survey, tmp_path):
    file = tmp_path / "habits.records"
    file.write_bytes(
        pack_records_header(survey.published, len(survey.rows)) + survey.rows.tobytes()
    )
    words = [str(file), "--formula", "smokes ~ C(age, ref='21') + drinks", "--json"]
    shown = CliRunner().invoke(of_records, words)
    assert shown.exit_code == 0, shown.output
    document = json.loads(shown.stdout)
    assert document["survey"] == "habits"
    assert document["perturbed"] == ["smokes", "drinks"]


def test_weights_of_another_number_are_refused(survey):
    with pytest.raises(InvalidParameter, match="2 weights and 6000 records"):
        answers_of(survey, "smokes ~ age", weights=np.ones(2))


def test_unknown_attribute_is_refused_by_its_name(survey):
    with pytest.raises(InvalidParameter, match="income"):
        answers_of(survey, "smokes ~ income")
