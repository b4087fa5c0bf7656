"""``hushpoll train`` and ``predict``: what they print, what they write, how they refuse."""

import json
import subprocess
import sys

import pandas as pd
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from hushpoll_analysis import Records
from hushpoll_training.cli.fairness import predictions
from hushpoll_training.cli.fairness import records as audit
from hushpoll_training.cli.train import predict, train
from hushpoll_training.cli.tune import tune_command
from hushpoll_training.evaluation.metrics import METRICS
from hushpoll_training.runs.saved import load_model
from waiting import LONGEST_SECONDS

FAST = ("--params", "n_estimators=10", "--params", "min_child_samples=30")


@pytest.fixture(scope="module")
def files(tmp_path_factory, survey, draft, people, perturbed, write_rows, write_records):
    folder = tmp_path_factory.mktemp("files")
    published = survey(epsilon="4")
    codes = people(3000)
    write_records(folder / "small.records", published, perturbed(published, codes))
    write_rows(folder / "answers.csv", published, codes)
    write_rows(folder / "panel.csv", published, people(1500, seed=5))
    write_rows(folder / "features.csv", published, people(40, seed=6), without=("income",))
    (folder / "small.json").write_text(json.dumps(draft(epsilon="4")))
    lines = [f"{i % 2},{i % 5},{(i * 7 // 3) % 2}" for i in range(400)]
    (folder / "codes.csv").write_text("\n".join(["Sex,age,HIRED", *lines]))
    other = survey(epsilon="4", target={"protocol": "OUE"})
    write_records(folder / "oue.records", other, perturbed(other, people(100)))
    write_records(folder / "empty.records", published, perturbed(published, people(1))[:0])
    return folder


@pytest.fixture
def run(files, monkeypatch):
    monkeypatch.chdir(files)

    def invoke(command, *arguments):
        found = CliRunner().invoke(command, [str(one) for one in arguments])
        if found.exception is not None and not isinstance(found.exception, SystemExit):
            raise found.exception
        return found.exit_code, found.stdout, found.stderr

    return invoke


@pytest.fixture(scope="module")
def trained(files):
    arguments = [
        *("train", "--records", "small.records", "--panel", "panel.csv"),
        *("--baseline", "answers.csv", "--out", "model", "--seed", "1", "--json", *FAST),
    ]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "hushpoll_client", *arguments],
        cwd=files,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_real_process_prints_one_document_and_saves_it(trained, files):
    assert tuple(trained["ldp"]) == tuple(trained["baseline"]) == METRICS
    assert trained["mode"] == "records"
    assert trained["seed"] == 1
    assert trained["inputs"] == {
        "records": "small.records",
        "panel": "panel.csv",
        "baseline": "answers.csv",
    }
    assert trained["rows"]["tested"] == 1500
    assert json.loads((files / "model" / "run.json").read_text()) == trained
    assert load_model(files / "model").published.digest == trained["survey"]["digest"]


def test_training_again_gives_the_same_model_and_metrics(trained, run, files):
    code, out, _ = run(
        *(train, "--records", "small.records", "--panel", "panel.csv", "--baseline"),
        *("answers.csv", "--seed", 1, "--json", "--out", "again", *FAST),
    )
    assert code == 0
    again = json.loads(out)
    assert {**again, "finished": 0, "timings": 0} == {**trained, "finished": 0, "timings": 0}
    for name in ("model.txt", "model.json"):
        assert (files / "again" / name).read_bytes() == (files / "model" / name).read_bytes()


def test_text_shows_both_models_and_where_they_are(run, files):
    code, out, _ = run(
        *(train, "--records", "small.records", "--panel", "panel.csv", "--out", "text"),
        *("--confidence", "0.8", *FAST),
    )
    assert code == 0
    assert "80 % of LDP" in out
    assert "NonDP is 5-fold cross-validated on the panel" in " ".join(out.split())
    for word in (
        "NonDP",
        "LDP",
        "ROC AUC",
        "SPD = P1-P0",
        "TPR0",
        "Model, record and model card are in text.",
    ):
        assert word in out


def test_a_posterior_model_is_trained_saved_carded_and_used(run, files):
    code, out, _ = run(
        *(train, "--records", "small.records", "--panel", "panel.csv", "--encoding", "posterior"),
        *("--groups", "gender,job", "--out", "posterior", "--json", *FAST),
    )
    assert code == 0
    found = json.loads(out)
    assert found["encoding"] == "posterior"
    reports = found["fairness"]["ldp"]
    assert [one["attributes"] for one in reports] == [["gender"], ["gender", "job"]]
    assert len(reports[1]["groups"]) == 9
    assert load_model(files / "posterior").features.encoding.name == "posterior"
    assert (files / "posterior" / "card.html").is_file()
    code, out, _ = run(predict, "--model", "posterior", "--data", "panel.csv", "--json")
    assert code == 0
    assert json.loads(out)["evaluation"]["metrics"] == found["ldp"]


def test_private_learner_says_its_claim_in_text_run_and_card_and_is_fitted_once(run, files):
    private = ("--learner", "output-perturbation", "--params", "epsilon=2")
    source = ("--records", "small.records")
    code, text, _ = run(train, *source, *private, "--out", "private")
    assert code == 0
    assert "epsilon 2 and delta 1e-05 of central differential privacy" in " ".join(text.split())
    claim = json.loads((files / "private" / "run.json").read_text())["privacy"]
    assert (claim["kind"], claim["epsilon"], claim["delta"]) == ("central", 2, 1e-5)
    card = json.loads((files / "private" / "card.json").read_text())["model"]
    assert card["privacy"] == claim
    assert claim["accountant"] in (files / "private" / "card.html").read_text()
    code, printed, _ = run(predict, "--model", "private", "--data", "panel.csv", "--json")
    assert (code, json.loads(printed)["rows"]) == (0, 1500)
    repeated = [
        (tune_command, ("--data", "answers.csv", "--manifest", "small.json", "--out", "tuned")),
        (audit, ("small.records",)),
    ]
    for command, arguments in repeated:
        code, _, error = run(command, *arguments, *private[: 4 if command is audit else 2])
        assert code == 1
        assert "claim does not cover; use one that claims nothing" in error


def test_without_a_panel_it_says_that_nothing_is_measured(run):
    code, out, _ = run(train, "--records", "small.records", *FAST)
    assert code == 0
    assert "not measured: no panel was given" in " ".join(out.split())
    code, out, _ = run(train, "--records", "small.records", "--json", *FAST)
    assert json.loads(out)["ldp"] is None
    assert "no panel" in json.loads(out)["unmeasured"]


def test_a_simulation_with_a_manifest_takes_its_options(run):
    code, out, _ = run(
        *(train, "--data", "answers.csv", "--manifest", "small.json", "--protocol", "OUE"),
        *("--split", "k-based", "--epsilon", "9", "--test-size", "0.5", "--json", *FAST),
    )
    assert code == 0
    found = json.loads(out)
    assert (found["protocol"], found["split"], found["epsilon"]) == ("OUE", "k-based", "9")
    parts = [one.get("epsilon") for one in found["manifest"]["attributes"]]
    assert parts == ["3", "6", None, None]
    assert (found["mode"], found["test_size"], found["rows"]["tested"]) == ("simulation", 0.5, 1500)
    assert found["inputs"] == {"data": "answers.csv", "manifest": "small.json"}


def test_a_simulation_on_codes_needs_no_manifest(run):
    code, out, _ = run(
        *(train, "--data", "codes.csv", "--target", "HIRED", "--protected", "Sex"),
        *("--sensitive", "Sex, age", "--protocol", "GRR", "--epsilon", "4", "--json", *FAST),
    )
    assert code == 0
    found = json.loads(out)
    assert found["survey"]["name"] == "codes"
    assert found["split"] == "uniform"
    roles = {one["name"]: one["role"] for one in found["manifest"]["attributes"]}
    assert roles == {"sex": "sensitive", "age": "sensitive", "hired": "target"}
    assert found["rows"]["tested"] == 80


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "give either --records"),
        ("--records small.records --data codes.csv", "give either --records"),
        ("--records small.records --epsilon 3", "--epsilon does not go with --records"),
        ("--records small.records --test-size 0.3", "--test-size does not go with --records"),
        ("--records small.records --baseline answers.csv", "--baseline needs --panel"),
        ("--data answers.csv --manifest small.json --panel panel.csv", "--panel does not go with"),
        ("--data answers.csv --manifest small.json --target x", "--target is the manifest's"),
        ("--data codes.csv --protected sex", "a file of codes and needs --target"),
        ("--data codes.csv --target a --protected b --sensitive c", "needs --protocol"),
        ("--records nowhere.records", "'nowhere.records' does not exist"),
        ("--records small.records --seed -1", "-1 is not in the range"),
        ("--records small.records --threads 0", "0 is not in the range"),
        ("--data codes.csv --test-size 1", "is not in the range"),
        ("--data codes.csv --protocol XOR", "'XOR' is not one of 'GRR'"),
        ("--learner lightgbn", "'lightgbn' is no learner; did you mean lightgbm?"),
        ("--learner fairpd", "did you mean fairdp?"),
        ("--learner none", "'none' is no learner; give one of lightgbm, "),
    ],
)
def test_wrong_usage_ends_with_2(run, arguments, words):
    code, out, err = run(train, *arguments.split())
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--records answers.csv", "answers.csv: this is no file of records: it must start with"),
        ("--records torn.records", "torn.records: the file of records ends"),
        ("--records empty.records", "there are 0 records"),
        ("--records oue.records", "was collected with OUE"),
        ("--records small.records --panel small.records", "small.records is no UTF-8 text"),
        ("--records small.records --panel codes.csv", "column 'Sex', which small does not ask"),
        ("--records small.records --panel features.csv", "features.csv has no column income"),
        ("--records small.records --panel few.csv", "the panel has"),
        ("--records small.records --panel panel.csv --baseline few.csv", "of one class"),
        ("--records small.records --groups gender,sex", "sex"),
        ("--records small.records --params max_dept=3", "'max_dept' is no parameter"),
        ("--records small.records --params nowhere.json", "nowhere.json' cannot be read"),
        ("--records small.records --out .", "which is no part of a model"),
        ("--records small.records --ignore age --panel panel.csv", "ignore names 'age'"),
        ("--data answers.csv --manifest panel.csv", "must end in .json"),
        ("--data answers.csv --manifest small.json --epsilon 65", "epsilon"),
        ("--data codes.csv --manifest small.json", "column 'Sex', which small does not ask"),
        (
            "--data answers.csv --target income --protected gender --sensitive gender "
            "--protocol GRR --epsilon 1",
            "answers.csv row 1 (line 2), column gender: ",
        ),
        (
            "--data codes.csv --target hired --protected sex --sensitive sexx "
            "--protocol GRR --epsilon 1",
            "sensitive names 'sexx', which is no column",
        ),
    ],
)
def test_a_mistake_ends_with_1_and_one_line(run, files, arguments, words):
    (files / "torn.records").write_bytes((files / "small.records").read_bytes()[:-1])
    lines = (files / "panel.csv").read_text().splitlines()
    few = [line for line in lines if line.endswith("low")][:3]
    (files / "few.csv").write_text("\n".join([lines[0], *few]))
    code, out, err = run(train, *arguments.split())
    assert (code, out) == (1, "")
    assert words in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_a_model_is_replaced_only_with_overwrite(trained, run, files):
    code, _, err = run(train, "--records", "small.records", "--out", "model", *FAST)
    assert code == 1
    assert "holds a model already" in err
    before = (files / "model" / "model.txt").read_text()
    (files / "copy").mkdir()
    for path in (files / "model").iterdir():
        (files / "copy" / path.name).write_bytes(path.read_bytes())
    arguments = ("--records", "small.records", "--out", "copy", "--seed", 2, "--overwrite")
    code, _, _ = run(
        train, *arguments, *FAST, "--params", "subsample=0.5", "--params", "subsample_freq=1"
    )
    assert code == 0
    assert (files / "copy" / "model.txt").read_text() != before
    assert (files / "model" / "model.txt").read_text() == before


def test_predictions_are_printed_as_csv(trained, run, files):
    code, out, err = run(predict, "--model", "model", "--data", "features.csv")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "row,score,predicted"
    assert len(lines) == 41
    for number, line in enumerate(lines[1:], start=1):
        row, score, category = line.split(",")
        assert int(row) == number
        assert category == ("high" if float(score) > 0.5 else "low")


def test_fairness_takes_predictions_beside_the_rows_that_were_predicted(trained, run, files):
    told = run(predict, "--model", "model", "--data", "panel.csv", "--out", "predicted.csv")
    assert told[0] == 0
    asked = ("predicted.csv", "--label", "income", "--positive", "high", "--groups", "gender")
    code, out, err = run(predictions, *asked, "--data", "panel.csv", "--resamples", 0, "--json")
    assert code == 0, err
    (report,) = json.loads(out)["reports"]
    assert report["n"] == 1500
    code, _, err = run(predictions, *asked)
    assert (code, "has no column 'income'" in err) == (1, True)
    assert "give the rows that were predicted with --data" in err
    run(predict, "--model", "model", "--data", "features.csv", "--out", "few.csv")
    code, _, err = run(predictions, "few.csv", *asked[1:], "--data", "panel.csv")
    assert (code, "panel.csv has 1500 rows, and few.csv has 40" in err) == (1, True)


def test_predictions_as_json_and_with_metrics_where_the_target_is_known(trained, run):
    code, out, _ = run(predict, "--model", "model", "--data", "features.csv", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["evaluation"] is None
    assert found["rows"] == len(found["predictions"]) == sum(found["predicted"].values()) == 40
    assert found["target"]["name"] == "income"
    assert found["survey"] == trained["survey"]
    code, out, _ = run(predict, "--model", "model", "--data", "panel.csv", "--json")
    assert json.loads(out)["evaluation"]["metrics"] == trained["ldp"]


def test_predictions_go_to_a_file(trained, run, files):
    arguments = ("--model", "model", "--data", "panel.csv", "--out", "predicted.csv")
    code, out, _ = run(predict, *arguments)
    assert code == 0
    assert out.startswith("1500 rows predicted (")
    assert "SPD = P1-P0" in out
    assert len((files / "predicted.csv").read_text().splitlines()) == 1501
    code, out, _ = run(predict, *arguments, "--json")
    found = json.loads(out)
    assert found["out"] == "predicted.csv"
    assert "predictions" not in found
    arguments = ("--model", "model", "--data", "features.csv", "--out", "predicted.csv")
    code, out, _ = run(predict, *arguments)
    assert code == 0
    assert out.startswith("40 rows predicted (")
    assert out.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("--model nowhere --data panel.csv", 1, "has no model.json"),
        ("--model . --data panel.csv", 1, "has no model.json"),
        ("--model model --data small.records", 1, "is no UTF-8 text"),
        ("--model model --data codes.csv", 1, "column 'Sex', which small does not ask"),
        ("--model model --data nowhere.csv", 2, "does not exist"),
        ("--model model --data panel.csv --out panel.csv", 2, "which would be lost"),
        ("--model model --data panel.csv --out no/where.csv", 1, "No such file or directory"),
        ("--model model", 2, "Missing option '--data'"),
    ],
)
def test_prediction_refuses_in_one_line(trained, run, arguments, code, words):
    found, out, err = run(predict, *arguments.split())
    assert (found, out) == (code, "")
    assert words in err
    assert "Traceback" not in err


def test_parquet_gives_what_csv_gives(trained, run, files, tmp_path):
    for name in ("features", "answers", "panel"):
        frame = pd.read_csv(files / f"{name}.csv")  # numbers where the categories are numbers
        frame.to_parquet(tmp_path / f"{name}.parquet")
    parquet.write_table(Records.read(files / "small.records").to_arrow(), tmp_path / "all.parquet")
    code, out, err = run(predict, "--model", "model", "--data", tmp_path / "features.parquet")
    assert code == 0, err
    assert out == run(predict, "--model", "model", "--data", "features.csv")[1]
    code, out, err = run(
        *(train, "--records", tmp_path / "all.parquet", "--panel", tmp_path / "panel.parquet"),
        *("--baseline", tmp_path / "answers.parquet", "--seed", 1, "--json", *FAST),
    )
    assert code == 0, err
    again = json.loads(out)
    assert again["inputs"]["records"] == "all.parquet"
    varying = {"finished": 0, "timings": 0, "inputs": 0}
    assert {**again, **varying} == {**trained, **varying}
    code, _, err = run(predict, "--model", "model", "--data", tmp_path / "all.parquet")
    assert (code, err.count("\n")) == (1, 1)
