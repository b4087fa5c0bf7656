"""What a run says about who is protected from whom, for records, panels and rates in clear."""

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.wire.batch import encode_many
from hushpoll_training import fit_records, run_record, train_collected, train_simulated
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import take
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.reports.card import model_card
from hushpoll_training.reports.pages import card_page
from hushpoll_training.reports.protection import EVERYBODY, NOBODY, READERS, protections
from hushpoll_training.reports.training_report import training_report

PARITY = {"n_estimators": 8, "min_child_samples": 30, "rate_epsilon": 1, "held_out": 0.5}

INCOME = {
    "name": "income", "role": "target", "categories": ["low", "high"], "positive": "high",
}  # fmt: skip


@pytest.fixture(scope="module")
def groups(people):
    """People who say their gender: parity is between two groups."""

    def drawn(n, seed=1):
        codes = people(n, seed=seed)
        return take(codes, codes["gender"] < 2)

    return drawn


@pytest.fixture(scope="module")
def townspeople(groups):
    """People of 300 towns, so that nearly each has a row, and with it a coin, of their own."""

    def drawn(n, seed=1):
        codes = groups(n, seed=seed)
        return codes | {"town": np.random.default_rng(seed).integers(0, 300, len(codes["job"]))}

    return drawn


@pytest.fixture(scope="module")
def with_rates(survey, townspeople, draft, perturbed):
    """A run whose rates were measured on a half of a panel, and whose records are perturbed."""
    towns = {"name": "town", "role": "plain", "range": [1, 300]}
    published = survey(
        epsilon="8", protocol="OUE", attributes=[*draft()["attributes"][:3], towns, INCOME]
    )
    records = Records(published, perturbed(published, townspeople(6000)))
    recipe = Recipe.of(PARITY, learner="lightgbm-parity")
    options = FitOptions(1, noise_seed=1)
    run = train_collected(records, recipe, options, panel=townspeople(4000, seed=2))
    return run, run_record(run, {})


def test_rates_are_measured_on_a_part_of_the_panel_and_the_rest_tests(with_rates, townspeople):
    run, record = with_rates
    people = len(townspeople(4000, seed=2)["gender"])
    assert run.rows["rates"] + run.rows["tested"] == people
    assert 0.4 < run.rows["rates"] / people < 0.6
    # the small survey's income depends on gender: NonDP's difference is what parity takes away
    assert run.baseline.metrics["SPD"].number() > 0.15
    assert abs(run.ldp.metrics["SPD"].number()) < 0.1
    assert record["calibration"]["epsilon"] == 2


def test_each_part_of_the_trust_is_named(with_rates):
    found = protections(with_rates[1])
    assert [item.from_whom for item in found] == [EVERYBODY, NOBODY, READERS, NOBODY, NOBODY]
    assert "answers to gender, age" in found[0].what
    assert "together spend epsilon 8 of local differential privacy" in found[0].how
    assert "answers to job, town, income" in found[1].what
    assert f"{with_rates[0].rows['rates']} people in clear on whom the two rates" in found[2].what
    assert "epsilon 2 of central differential privacy" in found[2].how
    assert found[3].what == "the gender of each person who is predicted"
    page = card_page(model_card(with_rates[1]))
    text = " ".join(training_report(with_rates[1]).split())
    for item in found:
        assert f"- {item.what}: from {item.from_whom}; {item.how}." in text
        assert item.from_whom in page
    assert "the person who runs the model sees it" in page


def test_questions_of_a_block_are_said_to_be_randomised_and_options_by_their_texts(survey):
    asked = {"name": "awake", "role": "sensitive", "categories": ["Work", "Money"], "select": {}}
    questions = [{"name": name, "role": "sensitive", "range": [1, 2]} for name in ("a", "b")]
    published = survey(
        epsilon="8",
        protocol="SS",
        attributes=[*questions, {**asked, "want": "pairs"}, INCOME],
        together=[{"name": "both", "attributes": ["a", "b"]}],
        protected=None,
    )
    codes = {one.name: np.arange(40) % 2 for one in published.attributes}
    records = Records(published, encode_many(published, codes, np.random.default_rng(1)))
    record = run_record(train_collected(records, Recipe.of({"n_estimators": 2}), FitOptions(1)), {})
    found = protections(record)
    assert found[0].what == "respondents' answers to a, b, awake: Work, awake: Money"
    assert found[1].what == "respondents' answers to income"
    table = {one["name"]: one["protocol"] for one in model_card(record)["survey"]["attributes"]}
    assert set(table.values()) == {"SS", None}
    assert [name for name, protocol in table.items() if protocol is None] == ["income"]


def test_central_claim_is_about_whole_records_and_readers(survey, people, perturbed):
    published = survey(epsilon="4")
    records = Records(published, perturbed(published, people(800)))
    recipe = Recipe.of({"epsilon": 2}, learner="output-perturbation")
    record = run_record(train_collected(records, recipe, FitOptions()), {})
    local, central = protections(record)
    assert (local.from_whom, central.from_whom) == (EVERYBODY, READERS)
    assert central.what == "the whole records that the model was fitted to"
    assert "epsilon 2 and delta 1e-05 of central differential privacy" in central.how
    assert "sees these records, job, income in clear" in central.how
    approximate = record | {"privacy": record["privacy"] | {"proven": False}}
    assert "an approximation that is no upper bound" in protections(approximate)[1].how


def test_card_shows_a_parameter_that_is_a_word(with_rates):
    """Guards: the page of a model with an accountant ended in a TypeError."""
    record = with_rates[1]
    named = record | {"parameters": record["parameters"] | {"accountant": "prv"}}
    assert ">prv</td>" in card_page(model_card(named))


def test_simulation_protects_nobody_since_its_noise_has_a_seed(survey, people):
    """Guards: the card of a simulation claimed differential privacy for the rows in clear."""
    recipe = Recipe.of({"epsilon": 2}, learner="output-perturbation")
    run = train_simulated(survey(epsilon="4"), people(800), recipe, FitOptions(7))
    record = run_record(run, {})
    first, *others = protections(record)
    assert first.what == "the rows in clear that the simulation read"
    assert first.from_whom == NOBODY
    assert "drawn from the seed 7" in first.how
    assert [item.from_whom for item in others] == [EVERYBODY, READERS, NOBODY]
    limits = " ".join(model_card(record)["limits"])
    assert "all noise of this simulation was drawn from its seed" in limits


def test_simulation_with_parity_keeps_the_rows_of_the_rates_in_clear(survey, groups):
    codes = groups(3000)
    recipe = Recipe.of(PARITY, learner="lightgbm-parity")
    run = train_simulated(survey(epsilon="8", protocol="SS"), codes, recipe, FitOptions(1))
    parts = [run.rows[name] for name in ("records", "rates", "tested")]
    assert sum(parts) == len(codes["gender"])
    assert run.rows["fitted"] == run.rows["records"]
    assert 0.3 < run.rows["rates"] / run.rows["records"] < 3


@pytest.mark.parametrize("protocol", ["GRR", "OUE"])
@pytest.mark.parametrize("learner", ["lightgbm-parity", "fairdp"])
def test_perturbed_groups_are_no_groups(survey, groups, perturbed, protocol, learner):
    """Guards: a record of GRR looks like an answer, and was taken for the true group."""
    published = survey(protocol=protocol)
    records = Records(published, perturbed(published, groups(300)))
    with pytest.raises(InvalidParameter, match="in clear"):
        fit_records(records, Recipe.of(learner=learner), FitOptions())


def test_parity_with_a_perturbed_target_is_refused(survey, groups, perturbed):
    published = survey(target={"protocol": "GRR"})
    records = Records(published, perturbed(published, groups(300)))
    with pytest.raises(InvalidParameter, match="collect the target in clear"):
        fit_records(
            records, Recipe.of(learner="lightgbm-parity"), FitOptions(), clear=groups(300, seed=2)
        )
