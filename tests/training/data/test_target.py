"""Labels of reports, their law, and the line that leads back from reports to the truth."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.data.target import Target
from hushpoll_training.evaluation.evaluation import evaluate
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import fit_records
from hushpoll_training.models.recipe import Recipe
from studies import blocks


def test_in_clear_the_label_is_the_answer(survey):
    target = Target.of(survey())
    assert (target.name, target.positive, target.negative) == ("income", "high", "low")
    assert (target.p, target.q, target.perturbed) == (1.0, 0.0, False)
    label, answered = target.labels(np.array([0, 1, 1]))
    assert label.tolist() == [0, 1, 1]
    assert answered.all()
    score = np.array([0.0, 0.3, 1.0])
    assert target.correct(score) is score


def test_a_missing_answer_is_no_label(survey):
    target = Target.of(survey(target={"missing": "?"}))
    label, answered = target.labels(np.array([0, 1, 2]))
    assert answered.tolist() == [True, True, False]
    assert label[answered].tolist() == [0, 1]


def test_several_other_categories_are_not_the_positive_one(survey):
    target = Target.of(survey(target={"categories": ["low", "middle", "high"]}))
    assert target.negative == "not high"
    assert target.labels(np.array([0, 1, 2]))[0].tolist() == [0, 0, 1]


@pytest.mark.parametrize("missing", [{}, {"missing": "?"}])
@pytest.mark.parametrize("protocol", ["GRR", "SS"])
def test_reports_of_an_answer_follow_grr_over_the_answers(survey, missing, protocol):
    # three attributes share epsilon 3; SS keeps one category at this size
    published = survey(epsilon="3", target={"protocol": protocol, **missing})
    target = Target.of(published)
    oracle = published.attribute("income").oracle
    assert oracle.parameters.get("omega", 1) == 1
    assert target.p + target.q == pytest.approx(1, abs=1e-15)
    assert target.p / target.q == pytest.approx(math.e, rel=1e-12)
    assert target.perturbed


def test_reports_of_an_answer_in_a_block_with_follow_ups_are_those_of_its_combinations():
    published = blocks.survey("GRR")
    target, block = Target.of(published), published.block_of("smokes")
    of_value = np.frombuffer(block.codes_of("smokes"), np.uint16)
    assert np.bincount(of_value).tolist() == [2, 12]
    for label, expected in ((1, target.p), (0, target.q)):
        truth = int(np.flatnonzero(of_value == label)[0])
        reports = [
            float(block.oracle.probability(bytes([value]), truth)) for value in range(block.k)
        ]
        assert expected == pytest.approx(np.array(reports)[of_value == 1].sum())


def test_correction_undoes_the_law_and_stays_a_probability(survey):
    target = replace(Target.of(survey()), p=0.75, q=0.25)
    truth = np.array([0.0, 0.25, 0.5, 1.0])
    assert target.correct(0.25 + 0.5 * truth).tolist() == truth.tolist()
    assert target.correct(np.array([0.1, 0.9])).tolist() == [0.0, 1.0]


def test_scores_of_a_perturbed_target_are_about_the_truth(survey, people, perturbed):
    # epsilon 1 for the target: a report is true with chance 0.73, and a report's base rate is
    # 0.27 + 0.46 f, which is far from the truth's f
    published = survey(epsilon="3", target={"protocol": "GRR"})
    codes = people(40_000)
    parameters = {"n_estimators": 40, "min_child_samples": 500}
    model = fit_records(
        Records(published, perturbed(published, codes)), Recipe.of(parameters), FitOptions(1)
    )
    other = people(20_000, seed=2)
    f = other["income"].mean()
    p, q = math.e / (1 + math.e), 1 / (1 + math.e)
    assert model.raw_scores(other).mean() == pytest.approx(q + (p - q) * f, abs=0.01)
    assert model.scores(other).mean() == pytest.approx(f, abs=0.025)
    assert evaluate(model, other).metrics["roc_auc"].number() > 0.65


@pytest.mark.parametrize("protocol", ["BLH", "OLH", "RAPPOR", "OUE", "THE"])
def test_a_protocol_that_reports_no_category_gives_no_label(survey, protocol):
    published = survey(epsilon="3", target={"protocol": protocol})
    with pytest.raises(InvalidParameter, match=f"collected with {protocol}.*with GRR") as caught:
        Target.of(published)
    assert caught.value.field == "target"
    assert Target.clear(published).p == 1.0  # rows in clear still have labels


def test_a_survey_without_a_target_or_a_positive_category_is_refused(survey, draft):
    attributes = draft()["attributes"]
    with pytest.raises(InvalidParameter, match="has no target"):
        Target.of(survey(attributes=attributes[:3]))
    del attributes[3]["positive"]
    with pytest.raises(InvalidParameter, match="positive as one of low, high"):
        Target.of(survey(attributes=attributes))
