"""The dashboard's pages of models and curves, without a browser."""

from __future__ import annotations

import io
import json
import re

import pytest

from hushpoll_server.errors import Refused
from hushpoll_server.services.results.curves import MOST_BYTES, read_curves
from sample_survey import make_report

pytestmark = pytest.mark.sqlite
MODELS = "/surveys/work/versions/1/models"
TRAINING = {"what": "train", "learner": "lightgbm", "encoding": "indicator", "seed": "3"}
FEW_TREES = {"parameter-n_estimators": "3", "folds": "2"}
RESULTS = """protocol,split,epsilon,seed,accuracy,SPD
GRR,uniform,1,0,0.7,-0.2
GRR,uniform,1,1,0.72,-0.1
GRR,uniform,4,0,0.8,-0.1
OUE,uniform,1,0,0.75,
NonDP,none,inf,0,0.9,-0.05
"""


@pytest.fixture
def filled(site):
    for name in ("work", "home"):
        published = site.publish(name=name, title=f"Title of {name}")
        incomes = ["poor", "rich"] * 40
        site.send_batch(published, [make_report(published, income=income) for income in incomes])
    return site


def copied(site, job, **changes):
    """Another model, whose card differs in some parameters."""
    store = site.services.job_store
    card = json.loads(site.services.models._store.cards([job])[job])
    card["model"]["parameters"] |= changes
    other = site.add_job("train", {"seed": 4})
    assert store.claim("worker", now=0, lease=9, attempts=3, running=9) == other
    assert store.finish(
        other, "worker", attempt=1, now=9, media_type="application/zip", file_name="m.zip",
        parts=[b"PK"], card=json.dumps(card),
    )  # fmt: skip
    return other


def test_analyst_trains_measures_compares_reads_the_card_and_deletes(filled, visit, monkeypatch):
    analyst, reader = visit("ada", work="analyst"), visit("eve", work="reader")
    stranger = visit("bob", home="admin")
    assert "There is no model yet" in reader.get(MODELS).text
    asked = analyst.send(MODELS, MODELS, **TRAINING, **FEW_TREES)
    assert (asked.status_code, asked.headers["Location"]) == (303, f"/dashboard{MODELS}")
    page = analyst.get(MODELS)
    assert "1 of these jobs waits or runs" in page.text
    assert "dashboard/live.js" in page.text
    filled.run_jobs()
    (run,) = filled.get(f"/api/v1{MODELS}").json["runs"]
    job = run["job"]["id"]
    assert run["job"]["state"] == "done", run
    assert run["job"]["parameters"]["parameters"] == {"n_estimators": 3}
    other = copied(filled, job, n_estimators=5)
    for visitor in (analyst, reader):
        page = visitor.get(MODELS).text
        assert page.count('type="checkbox"') == 2
        assert ("Start the training" in page) == (visitor is analyst)
    compared = f"{MODELS}/compare?model={job}&model={other}"
    page = reader.get(compared).text
    differ, _, same = page.partition("settings that are the same</summary>")
    assert re.search(r"n_estimators</th><td[^>]*>3</td><td[^>]*>5</td></tr>", differ)
    assert "num_leaves</th>" in same
    assert "num_leaves" not in differ
    assert "No difference in accuracy is shown</h2>" in page
    assert "+0.000<br>" in page
    assert "so this order may be chance" in page
    with monkeypatch.context() as patch:  # a model stays comparable when it is no longer listed
        patch.setattr("hushpoll_server.services.results.jobs.MOST_LISTED", 1)
        assert reader.get(MODELS).text.count('type="checkbox"') == 1
        assert reader.get(compared).status_code == 200
    for visitor, metrics in ((analyst, 5), (reader, 1)):  # of groups in clear of a running survey
        table = visitor.get(compared.replace("compare", "compare.csv", 1)).text.splitlines()
        assert table[0] == '"model","metric","value","lower","upper"'
        assert len(table) == 1 + 2 * metrics
    assert reader.get(f"{MODELS}/compare?model={job}").status_code == 422
    assert reader.get(f"{MODELS}/compare?model={job}&model={'0' * 32}").status_code == 404
    card = reader.get(f"{MODELS}/{job}").text
    assert "Fairness is not shown: <bdi>this result is about groups by income" in card
    # three trees of a few records know no more than the shares of the classes, and pages say so
    verdict = run["model"]["on_records"]["verdict"]
    assert verdict == "not shown to be better than always the more frequent class"
    assert f"<strong>{verdict}</strong>" in reader.get(MODELS).text
    assert f"This learner is {verdict}, on perturbed records" in card
    assert "everybody, the server included" in card
    whole = analyst.get(f"{MODELS}/{job}").text
    assert "are those of <bdi>gender</bdi>: <bdi>Female</bdi> beside <bdi>Male</bdi>" in whole
    assert "equal opportunity difference, EOD (fair at 0)" in whole
    assert "--panel panel.csv --learner lightgbm --encoding indicator" in card
    assert "Delete this model" not in card
    delete = f"{MODELS}/{job}/delete"
    assert reader.send(delete, MODELS.removesuffix("/models")).status_code == 403
    for path in (MODELS, compared, f"{MODELS}/{job}"):
        assert stranger.get(path).status_code == 404
    across = f"/surveys/home/versions/1/models/{job}"
    assert stranger.get(across).status_code == 404
    assert stranger.send(f"{across}/delete", "/").status_code == 404
    assert analyst.send(delete, f"{MODELS}/{job}").status_code == 303
    assert analyst.get(f"{MODELS}/{job}").status_code == 404
    acts = {(line.actor, line.act) for line in filled.services.actions.newest(20)}
    assert {("user:ada", "asked-for-train"), ("user:ada", "deleted-model")} <= acts


def test_trainings_of_another_version_push_none_out_of_the_list(filled, visit, monkeypatch):
    monkeypatch.setattr("hushpoll_server.services.results.jobs.MOST_LISTED", 2)
    training, search = filled.add_job("train", {"seed": 3}), filled.add_job("tune", {"seed": 3})
    later = filled.services.surveys.version(filled.publish(version=2).name, 2)
    for place in range(4):
        filled.services.job_store.add(
            job_id=f"{place:032x}", version_id=later.id, kind=("train", "tune")[place % 2],
            parameters="{}", token_id="t", now=filled.services.surveys.now() + 9, most=9,
        )  # fmt: skip
    analyst = visit("ada", work="analyst")
    page = analyst.get(MODELS).text
    assert training in page
    assert search in page
    (run,) = filled.get(f"/api/v1{MODELS}").json["runs"]
    assert run["job"]["id"] == training


def test_training_that_cannot_be_done_is_refused_in_words(filled, visit):
    analyst, reader = visit("ada", work="analyst"), visit("eve", work="reader")
    on = MODELS.removesuffix("/models")
    assert reader.send(MODELS, on, **TRAINING).status_code == 403
    for changes, words in (
        ({"parameter-n_estimators": "many"}, "_estimators is &#39;many&#39;; give a whole number"),
        ({"parameter-n_estimators": "0"}, "_estimators is 0; it must be a whole number in"),
        ({"folds": "1"}, "olds is 1; give at least 2"),
        ({"learner": "lightgbm-parity"}, "rows in clear"),
        ({"learner": "forest"}, "it must be one of lightgbm"),
    ):
        answer = analyst.send(MODELS, MODELS, **TRAINING | changes)
        assert answer.status_code == 422
        assert words in answer.text
    assert analyst.get(f"{MODELS}?learner=lightgbm-parity").status_code == 422
    assert filled.services.jobs.newest(lambda _: True) == []


def test_survey_without_a_target_promises_no_form_below(site, visit):
    attributes = [{"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]}]
    site.publish(attributes=attributes, protected=None)
    analyst = visit("ada", work="analyst")
    for path, words in (
        (MODELS, "Nothing can be trained"),
        (MODELS.replace("models", "fairness"), "Nothing can be audited"),
    ):
        page = analyst.get(path).text
        assert words in page
        assert "below." not in page


def test_form_says_each_learner_s_intervals_and_which_cannot_run(filled, visit):
    analyst = visit("ada", work="analyst")
    page = analyst.get(MODELS).text
    assert "whole number in [1, 10000]" in page
    assert "no row in clear ever reaches this server" in page
    assert "lightgbm-parity: the learner lightgbm-parity measures rates on rows in clear" in page
    private = analyst.get(f"{MODELS}?learner=functional-mechanism").text
    assert "It adds central differential privacy" in private
    assert 'name="folds"' not in private
    asked = analyst.send(MODELS, MODELS, what="tune", learner="lightgbm", trials="7", folds="3")
    assert asked.status_code == 303
    (search,) = filled.services.jobs.newest(lambda _: True, kind="tune")
    assert json.loads(search.parameters) == {
        "learner": "lightgbm", "seed": 0, "trials": 7, "folds": 3,
    }  # fmt: skip
    assert "7 trials, 3 folds" in analyst.get(MODELS).text


def draw(visitor, body):
    file = (io.BytesIO(body), "results.csv")
    return visitor.send("/curve", "/curve", results=file)


def test_curves_of_results_are_drawn_and_not_kept(filled, visit):
    visitor = visit("ada", work="reader")
    answer = draw(visitor, RESULTS.encode())
    assert answer.status_code == 200
    assert answer.text.count("<svg role") == 2
    assert "At epsilon 4 the mean accuracy lies between 0.800 (GRR) and 0.800 (GRR)" in answer.text
    assert "Without privacy (NonDP, the dashed line) it is 0.900" in answer.text
    # Student's t of two runs: 0.71 plus or minus 12.706 * 0.01.
    assert "0.5829 to 0.8371" in answer.text
    assert answer.text.count('download="curves-accuracy.') == 5
    assert "(GRR)" not in visitor.get("/curve").text  # a form's token may hold three letters
    methods = RESULTS.replace("protocol,", "method,")
    assert draw(visitor, methods.encode()).status_code == 200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"\xff\xfe", "results.csv is no UTF-8 text, but text in UTF-16 (byte 0 is 0xff)"),
        (b"a,b\n1,2\n", "no column epsilon"),
        (b"epsilon,seed,accuracy\n", "no rows"),
        (
            b"epsilon,seed,accuracy\n1,0\n",
            "row 1 (line 2) has 2 values, and the header names 3 columns",
        ),
        (b"epsilon,seed,accuracy\n0,0,1\n", "not above 0"),
        (
            b"epsilon,seed,accuracy\n1,0,=1+1\n",
            "row 1 (line 2), column accuracy: &#39;=1+1&#39; is no number",
        ),
        (b"epsilon,seed,accuracy\ninf,0,1\n", "0 lines to draw"),
        (b"epsilon,seed,accuracy\n1,0,1e308\n1,1,1e308\n", "row 1 (line 2) has 1e+308 in accuracy"),
        (b"epsilon,seed,accuracy\n1,0,1\n1,1,-1000001\n", "a metric is in [-1e+06, 1e+06]"),
        (
            b"epsilon,seed,accuracy,SPD\n" + b"".join(b"%d,0,1,1\n" % e for e in range(1, 502)),
            "1002 points to draw, one for each epsilon of a line and of a metric; draw at most",
        ),
    ],
)
def test_file_of_another_form_is_refused_in_words(filled, visit, body, words):
    answer = draw(visit("ada", work="reader"), body)
    assert answer.status_code == 422
    assert words in answer.text


def test_markup_in_results_is_shown_as_it_is(filled, visit):
    body = RESULTS.replace("GRR", "<b>x</b>").encode()
    page = draw(visit("ada", work="reader"), body).text
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "<b>x" not in page


def test_intervals_of_shares_lie_within_nought_and_one():
    curves = read_curves(b"epsilon,seed,accuracy,SPD\n1,0,0.99,0.01\n1,1,0.79,-0.31\n")
    ends = {point["metric"]: (point["lower"], point["upper"]) for point in curves.points}
    assert ends == {"accuracy": (0.0, 1.0), "gap": (0.0, 1.0)}


def test_mark_before_results_changes_no_line():
    rows = [f"{name},uniform,{epsilon},{seed},0.7,0.1" for name in ("GRR", "OUE")
            for epsilon in (1, 4) for seed in (0, 1)]  # fmt: skip
    body = "\n".join(["protocol,split,epsilon,seed,accuracy,SPD", *rows]).encode()
    curves = read_curves(b"\xef\xbb\xbf" + body)
    assert curves == read_curves(body)
    assert {point["line"] for point in curves.points} == {"GRR", "OUE"}


def test_form_with_too_many_parts_is_told_so(filled, visit):
    parts = {f"part-{place}": "" for place in range(1000)}
    file = (io.BytesIO(RESULTS.encode()), "results.csv")
    answer = visit("ada", work="reader").send("/curve", "/curve", results=file, **parts)
    assert answer.status_code == 413
    assert "This is too large" in answer.text
    assert "This form is too large, in one of its fields or with more parts" in answer.text
    assert "at most 10485760 bytes in all: go back and send a smaller file" in answer.text


def test_file_that_is_too_large_is_refused():
    with pytest.raises(Refused, match="more than 2097152 bytes") as refused:
        read_curves(b"x" * (MOST_BYTES + 1))
    assert refused.value.code == "payload-too-large"
