"""``hushpoll fairness records`` and ``model``: table, JSON, and what they refuse."""

import json

import pytest
from click.testing import CliRunner

from hushpoll_shared.group_metrics import METRICS
from hushpoll_training.cli import fairness
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.model import fit_clear
from hushpoll_training.runs.saved import save_model

PARAMS = ("--params", "n_estimators=10", "--params", "num_leaves=7")


@pytest.fixture(scope="module")
def files(tmp_path_factory, survey, people, perturbed, write_records):
    folder = tmp_path_factory.mktemp("fairness")
    published = survey(epsilon="8")
    codes = people(6000, 3)
    records = perturbed(published, codes)
    model = fit_clear(published, people(500, 9), LightGBM({"n_estimators": 5}), FitOptions(1))
    save_model(model, folder / "model", {})
    return {
        "records": write_records(folder / "all.records", published, records),
        "few": write_records(folder / "few.records", published, records[:60]),
        "model": folder / "model",
    }


def run(*arguments):
    return CliRunner().invoke(fairness.records, [str(one) for one in arguments])


def audit_model(*arguments):
    return CliRunner().invoke(fairness.model, [str(one) for one in arguments])


def test_the_table_names_what_was_audited_and_every_number(files):
    result = run(files["records"], *PARAMS)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    for text in (
        "small version 1, 6,000 records",
        "gender (GRR, epsilon 4): 1, privileged, is Male; 0 is Female. The model is cross-fitted.",
        "Fairness as deployed on LDP records; gender was never seen in clear.",
        "DI = P0/P1,",
        "95 % interval",
        "TPR0",
        "share,",
    ):
        assert text in said
    assert "nan" not in result.output


def test_json_holds_the_same_and_what_it_depends_on(files):
    options = ("--folds", "3", "--seed", "5", "--confidence", "0.9", "--json")
    result = run(files["records"], *PARAMS, *options)
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert (found["folds"], found["seed"], found["confidence"]) == (3, 5, 0.9)
    assert found["parameters"]["n_estimators"] == 10
    assert found["inputs"] == {"records": "all.records"}
    assert found["protected_input"] == "dropped"
    assert list(found["metrics"]) == list(METRICS)
    for one in found["metrics"].values():
        assert one["lower"] < one["value"] < one["upper"]
    again = run(files["records"], *PARAMS, *options, "--threads", "2")
    assert json.loads(again.output) == found


def test_each_value_is_named_and_differs(files):
    dropped, each = (
        json.loads(run(files["records"], *PARAMS, "--protected-input", one, "--json")
                   .output)
        for one in ("dropped", "each-value")
    )  # fmt: skip
    assert each["setting"].endswith("with the protected attribute in clear")
    assert each["metrics"]["SPD"]["value"] > dropped["metrics"]["SPD"]["value"]


def test_every_category_of_another_attribute_is_compared(files):
    options = ("--groups", "age", "--reference", "6", "--encoding", "posterior")
    result = run(files["records"], *PARAMS, *options, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["kind"] == "fairness audit of several groups"
    assert [one["group"] for one in found["groups"]] == ["1", "2", "3", "4", "5"]
    # five groups of 4 metrics, 8 rates and 2 shares
    assert "of these 95 at 95 %, 4.8 are expected to miss" in found["intervals"]
    assert found["protected"]["attribute"] == "age"
    assert found["encoding"] == "posterior"
    text = run(files["few"], *PARAMS, *options)
    assert text.output.count("1, privileged, is 6") == 5
    assert "Largest disparity" not in text.output
    together = run(files["few"], *PARAMS, *options, "--together", "simultaneous")
    assert together.output.count("Largest disparity of any group: ") == 1
    assert "intervals of all groups hold together" in " ".join(together.output.split())
    each = run(
        files["records"],
        *PARAMS,
        *options,
        "--protected-input",
        "each-value",
        "--json",
    )
    assert each.exit_code == 0, each.output
    each = json.loads(each.output)
    assert each["setting"].endswith("with the protected attribute in clear")
    # income rises with age, which the model now sees
    spreads = [[one["metrics"]["SPD"]["value"] for one in one["groups"]] for one in (found, each)]
    assert spreads[1][0] > spreads[0][0] + 0.1


def test_too_few_records_are_said_to_be_too_few(files):
    result = run(files["few"], "--folds", "2", *PARAMS)
    assert result.exit_code == 0, result.output
    assert "cannot conclude" in result.output
    assert "no bound" in result.output


def test_an_external_model_is_audited_for_every_group_together(files):
    options = ("--protected-input", "each-value", "--unseen", "--groups", "age")
    arguments = (files["model"], files["few"], *options, "--reference", "6")
    result = audit_model(*arguments, "--together", "simultaneous", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert (found["origin"], found["model"]) == ("external", "model")
    assert [one["group"] for one in found["groups"]] == ["1", "2", "3", "4", "5"]
    assert found["protected"]["attribute"] == "age"
    assert set(found["largest"]) >= {"DI", "SPD", "EOD", "OAD", "FPRD", "PPD", "EODDS"}
    assert all("smallest_detectable" in one["metrics"]["SPD"] for one in found["groups"])
    result = audit_model(files["model"], files["few"], "--unseen", "--reference", "6")
    assert result.exit_code == 2
    assert "--reference needs --groups" in " ".join(result.output.split())


def test_an_external_model_is_audited_once_it_is_declared(files):
    arguments = (files["model"], files["records"], "--protected-input", "each-value")
    result = audit_model(*arguments, "--unseen", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert (found["origin"], found["model"]) == ("external", "model")
    assert "folds" not in found
    result = audit_model(*arguments)
    assert result.exit_code == 2
    assert "declare that with --unseen" in " ".join(result.output.split())
    result = audit_model(files["model"], files["records"], "--unseen")
    assert result.exit_code == 1
    assert "each-value" in result.output


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--unseen"], 2, "No such option"),
        (["--folds", "1"], 2, "folds"),
        (["--groups", "age"], 1, "give one as reference"),
        (["--together", "simultaneous"], 1, "groups names no attribute"),
        (["--reference", "6"], 2, "--reference needs --groups"),
        (["--confidence", "0.9999"], 2, "confidence"),
        (["--protected-input", "record"], 2, "dropped"),
        (["--params", "depth=3"], 1, "depth"),
    ],
)
def test_mistakes_end_in_one_line_and_the_right_code(files, arguments, code, text):
    result = run(files["records"], *arguments)
    assert result.exit_code == code, result.output
    assert text in result.output
    assert "Traceback" not in result.output
