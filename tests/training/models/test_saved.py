"""A saved model is the same model; a directory is never used for two things."""

import hashlib
import json

import lightgbm
import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter, ManifestRefused
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.model import fit_clear, fit_records
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.saved import check_directory, load_model, save_model

PARAMETERS = {"n_estimators": 15, "min_child_samples": 30}
RUN = {"seed": 3}


@pytest.fixture(scope="module")
def model(survey, people, perturbed):
    published = survey(epsilon="3", target={"protocol": "GRR"})
    return fit_records(
        Records(published, perturbed(published, people(4000))), Recipe.of(PARAMETERS), FitOptions(3)
    )


@pytest.fixture
def saved(model, tmp_path):
    save_model(model, tmp_path / "model", RUN)
    return tmp_path / "model"


def rewrite(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_scores_are_identical_after_saving_and_loading(model, saved, people):
    rows = people(2000, seed=6)
    again = load_model(saved)
    assert np.unique(model.scores(rows)).size > 20
    assert again.scores(rows).tolist() == model.scores(rows).tolist()
    assert again.predict(rows).tolist() == model.predict(rows).tolist()
    assert again.published.digest == model.published.digest
    assert again.target == model.target
    assert again.target.perturbed
    assert again.rows == 4000


def test_the_files_are_lightgbms_text_and_two_documents(model, saved, people):
    assert sorted(path.name for path in saved.iterdir()) == ["model.json", "model.txt", "run.json"]
    plain = lightgbm.Booster(model_file=str(saved / "model.txt"))
    rows = people(50, seed=6)
    matrix = model.features.from_codes(rows).toarray()
    assert plain.predict(matrix).tolist() == model.raw_scores(rows).tolist()
    meaning = json.loads((saved / "model.json").read_text())
    assert meaning["features"] == list(model.features.names)
    assert meaning["target"] == model.target.to_json()
    assert meaning["target"]["positive"] == "high"
    assert meaning["manifest"] == model.published.to_dict()
    assert meaning["encoding"] == "indicator"
    assert json.loads((saved / "run.json").read_text()) == RUN


def test_saving_and_loading_again_changes_no_byte(saved, tmp_path):
    save_model(load_model(saved), tmp_path / "again", RUN)
    for path in saved.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_a_posterior_model_keeps_its_priors(survey, people, perturbed, tmp_path):
    published = survey(epsilon="3", protocol="OUE")
    records = perturbed(published, people(2000))
    model = fit_records(
        Records(published, records), Recipe.of(PARAMETERS, encoding="posterior"), FitOptions(3)
    )
    save_model(model, tmp_path / "model", RUN)
    again = load_model(tmp_path / "model")
    assert again.features == model.features
    assert again.features.encoding.name == "posterior"
    assert set(again.features.priors) == {"gender", "age"}
    rows = people(500, seed=6)
    assert again.scores(rows).tolist() == model.scores(rows).tolist()
    ours, theirs = (
        one.features.from_records(Records(published, records)) for one in (model, again)
    )
    assert (ours != theirs).nnz == 0


def test_a_model_is_replaced_only_if_asked(model, saved):
    with pytest.raises(InvalidParameter, match="holds a model already; give another") as caught:
        save_model(model, saved, {"seed": 4})
    assert caught.value.field == "out"
    assert json.loads((saved / "run.json").read_text()) == RUN
    save_model(model, saved, {"seed": 4}, overwrite=True)
    assert json.loads((saved / "run.json").read_text()) == {"seed": 4}


def test_a_directory_of_other_things_is_never_written_to(model, saved):
    (saved / "thesis.tex").write_text("years of work")
    for overwrite in (False, True):
        with pytest.raises(InvalidParameter, match=r"holds 'thesis.tex', which is no part"):
            check_directory(saved, overwrite=overwrite)
    file = saved / "thesis.tex"
    with pytest.raises(FileExistsError):
        check_directory(file)


def test_missing_parents_are_made_and_an_empty_directory_is_used(model, tmp_path):
    save_model(model, tmp_path / "a" / "b", RUN)
    (tmp_path / "c").mkdir()
    save_model(model, tmp_path / "c", RUN)
    assert load_model(tmp_path / "c").rows == load_model(tmp_path / "a" / "b").rows


def test_a_directory_without_a_model_is_refused(tmp_path):
    for directory in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InvalidParameter, match=r"has no model\.json; give a directory"):
            load_model(directory)


def test_model_without_its_trees_is_refused_with_a_remedy(saved):
    """Guards: the message was "No such file or directory"."""
    (saved / "model.txt").unlink()
    with pytest.raises(InvalidParameter, match=r"has no model\.txt; give a directory"):
        load_model(saved)


@pytest.mark.parametrize("run", [None, "{", "[1]", '{"kind": "training run"}'])
def test_model_of_the_first_format_is_read_whatever_its_record(saved, model, people, run):
    """Guards: a damaged run.json, which no prediction needs, ended the reading."""
    meaning = json.loads((saved / "model.json").read_text())
    trees = {"sha256": meaning["files"]["model.txt"]}
    kept = {key: meaning[key] for key in meaning if key not in ("learner", "parameters", "files")}
    (saved / "model.json").write_text(json.dumps(kept | {"format": 1, "trees": trees}))
    (saved / "run.json").unlink()
    if run is not None:
        (saved / "run.json").write_text(run)
    rows = people(100, seed=6)
    assert load_model(saved).scores(rows).tolist() == model.scores(rows).tolist()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 3}, "has format 3; this version reads 1 to 2"),
        ({"format": "1"}, "must hold format"),
        ({"encoding": "posterior"}, "must hold the priors of gender, age"),
        ({"encoding": "one-hot"}, "has another encoding"),
        (
            {"encoding": "posterior", "priors": {"gender": [0.5, 0.25, 0.5], "age": [1, 0]}},
            "prior of gender that is not 3 chances",
        ),
        (
            {"encoding": "posterior", "priors": {"gender": [0.5, True, 0], "age": [1]}},
            "prior of gender that is not 3 chances",
        ),
        ({"features": ["gender=Male"]}, "has features that are not its manifest's"),
        ({"target": {"name": "income"}}, "has a target that is not its manifest's"),
        ({"rows": None}, "must hold"),
        ({"files": {}}, "is not the file that model.json describes"),
        ({"files": {"model.txt": "0" * 64}}, "is not the file that model.json describes"),
        ({"learner": "oracle"}, "has another learner"),
        ({"parameters": {"n_estimators": 0}}, "has another learner"),
        ({"format": 1}, "must hold the SHA-256 of the trees"),
    ],
)
def test_a_model_that_contradicts_itself_is_refused(saved, changes, words):
    rewrite(saved / "model.json", **changes)
    with pytest.raises(InvalidParameter, match=words) as caught:
        load_model(saved)
    assert str(saved) in str(caught.value)


def test_another_surveys_trees_are_refused(saved, survey, draft, people):
    codes = people(500)
    attributes = [one for one in draft()["attributes"] if one["name"] != "job"]
    other = survey(attributes=attributes)
    trees = (
        fit_clear(other, codes, LightGBM(PARAMETERS), FitOptions(3))
        .fitted.booster.model_to_string()
        .encode()
    )
    (saved / "model.txt").write_bytes(trees)
    rewrite(saved / "model.json", files={"model.txt": hashlib.sha256(trees).hexdigest()})
    with pytest.raises(InvalidParameter, match=r"model\.txt has other columns than the manifest"):
        load_model(saved)


def test_a_manifest_that_lies_is_refused(saved):
    manifest = json.loads((saved / "model.json").read_text())["manifest"]
    rewrite(saved / "model.json", manifest=manifest | {"epsilon": "2"})
    with pytest.raises(ManifestRefused, match="epsilons"):
        load_model(saved)


def test_damaged_files_are_refused(saved):
    (saved / "model.json").write_text("{")
    with pytest.raises(InvalidParameter, match=r"model\.json is no JSON"):
        load_model(saved)
