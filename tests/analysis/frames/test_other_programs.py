"""Shares and standard errors that svy and R's survey compute from our files are ours."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pyreadstat
import pytest
import svy

from hushpoll_analysis.estimates.frequencies import frequencies
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.records.source import OfRecords
from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_analysis.survey_design.estimation import weighted_shares
from hushpoll_analysis.survey_design.labelled_files import write_labelled
from hushpoll_analysis.survey_design.record_weights import RecordWeights
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.registry import PROTOCOLS
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.tables.table_files import csv_bytes
from hushpoll_shared.tidying import tidy_results
from hushpoll_shared.wire.batch import encode_many

ROOT = Path(__file__).resolve().parents[3]
N = 4000
REGION, SEX = ["North", "South", "West"], ["f", "m"]
OF_CELLS = {"North": {"f": 1, "m": 2}, "South": {"f": 1.5, "m": 3}, "West": {"f": 0.5, "m": 4}}
WEIGHTS = {"attributes": ["region", "sex"], "weights": OF_CELLS}
SIZES = {"North": 40_000, "South": 60_000, "West": 9_000}
ONE_OF_REGION = {"attributes": ["region"], "weights": {"North": 1, "South": 2, "West": 3}}
STRATA = {"attributes": ["region"], "sizes": {name: 10**6 * size for name, size in SIZES.items()}}
"""So large that drawing without replacement changes nothing."""
MARGINS = [
    {"attributes": ["region"], "shares": {"North": 0.5, "South": 0.3, "West": 0.2}},
    {"attributes": ["sex"], "shares": {"f": 0.52, "m": 0.48}},
]
EXACT = ("GRR", "SS")
"""Protocols whose standard error is that of the weights; the law of others is known, and taken."""


@pytest.fixture(scope="module")
def records():
    published = Manifest.from_dict(
        {
            "name": "out",
            "version": 1,
            "title": "Out",
            "epsilon": str(2 * len(PROTOCOLS)),
            "attributes": [
                {"name": "region", "role": "plain", "categories": REGION},
                {"name": "sex", "role": "plain", "categories": SEX},
                *(
                    {"name": name.lower(), "role": "sensitive", "protocol": name, "range": [1, 4]}
                    for name in PROTOCOLS
                ),
            ],
        }
    ).resolve()
    rng = np.random.default_rng(5)
    codes = {
        "region": rng.choice(3, N, p=[0.5, 0.3, 0.2]),
        "sex": rng.choice(2, N, p=[0.4, 0.6]),
    }
    codes |= {name.lower(): rng.choice(4, N, p=[0.4, 0.3, 0.2, 0.1]) for name in PROTOCOLS}
    return Records(published, encode_many(published, codes, rng))


def exported(records, path, design=None):
    """The file that an export writes, as svy and R get it."""
    weights = None
    if design is not None:
        parts = [records.take(rows) for rows in np.array_split(np.arange(len(records)), 3)]
        weights = RecordWeights.of(records.published, SurveyDesign.from_dict(design), parts)
    write_labelled(records, path, format="sav", content="debiased", weights=weights)
    frame, about = pyreadstat.read_sav(str(path))
    return pl.from_pandas(frame), about


def means(frame, names, **design):
    sample = svy.Sample(frame, svy.Design(**design))
    found = [sample.estimation.mean(name).estimates[0] for name in names]
    return np.array([one.est for one in found]), np.array([one.se for one in found])


def test_shares_and_standard_errors_of_svy_are_ours(records, tmp_path):
    frame, _ = exported(records, tmp_path / "out.sav")
    frame = frame.with_columns(pl.lit(1.0).alias("one"))
    for ours in frequencies(records):
        names = [f"{ours.name}_{code}" for code in range(len(ours.frequency))]
        shares, errors = means(frame, names, wgt="one")
        assert shares == pytest.approx(ours.frequency, abs=1e-6)
        factor = np.sqrt((N - 1) / N)
        if ours.protocol in (None, *EXACT):
            assert errors * factor == pytest.approx(ours.standard_error, rel=1e-6)
        else:  # the variance of the sample beside that of the law
            assert errors * factor == pytest.approx(ours.standard_error, rel=0.08)


@pytest.mark.parametrize("design", [{"weights": WEIGHTS}, {"strata": STRATA}])
def test_weighted_shares_and_standard_errors_of_svy_are_ours(records, tmp_path, design):
    frame, about = exported(records, tmp_path / "out.sav", design)
    given = {"wgt": "weight"}
    if "strata" in design:
        given |= {"stratum": "stratum"}
        assert about.variable_value_labels["stratum"] == dict(enumerate(REGION))
        sums = frame.group_by("stratum").agg(pl.col("weight").sum()).sort("stratum")
        assert sums["weight"].to_list() == pytest.approx(list(STRATA["sizes"].values()))
        assert set(frame["stratum_size"]) == set(STRATA["sizes"].values())
    for name in map(str.lower, PROTOCOLS):
        ours = weighted_shares(records, name, SurveyDesign.from_dict(design))
        names = [f"{name}_{code}" for code in range(4)]
        shares, errors = means(frame, names, **given)
        assert shares == pytest.approx(ours.shares.value, abs=1e-6)
        # weighted shares have the variance of n - 1, as svy and survey do; of a design with one
        # attribute they come from counts, and so does the variance of the law
        exact = "weights" in design or name.upper() in EXACT
        rel = 1e-6 if exact else 0.08
        assert errors == pytest.approx(ours.shares.standard_error, rel=rel)


def test_a_finite_population_makes_respondents_known_better_and_noise_not(records, tmp_path):
    """Their correction is of everything, ours of who was drawn: so the docs say to leave it out."""
    strata = {"strata": {"attributes": ["region"], "sizes": SIZES}}
    frame, _ = exported(records, tmp_path / "out.sav", strata)
    (ours,) = weighted_shares(records, "grr", SurveyDesign.from_dict(strata)).shares.standard_error[
        :1
    ]
    _, (without,) = means(frame, ["grr_0"], wgt="weight", stratum="stratum")
    _, (corrected,) = means(
        frame, ["grr_0"], wgt="weight", stratum="stratum", pop_size="stratum_size"
    )
    assert corrected < ours < without
    assert without / ours < 1.02


def test_shares_and_standard_errors_of_blocks_draws_and_follow_ups_are_ours(tmp_path):
    """Of a draw the cells of who was not drawn are empty, and n is the number who answered."""
    draft = {
        "name": "parts", "version": 1, "title": "P", "epsilon": "8", "protocol": "GRR",
        "attributes": [
            {"name": "region", "role": "plain", "categories": REGION},
            {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
            {"name": "daily", "role": "sensitive", "categories": ["few", "many"],
             "ask_if": {"smokes": ["yes"]}},
            *({"name": name, "role": "sensitive", "categories": ["a", "b", "c"]} for name in "uvw"),
        ],
        "together": [{"name": "smoking", "attributes": ["smokes", "daily"]}],
        "draws": [{"name": "some", "blocks": ["u", "v", "w"], "answer": 2}],
    }  # fmt: skip
    published = Manifest.from_dict(draft).resolve()
    rng = np.random.default_rng(7)
    codes = {name: rng.choice(3, N, p=[0.5, 0.3, 0.2]) for name in ("region", *"uvw")}
    codes["smokes"] = rng.integers(0, 2, N)
    codes["daily"] = np.where(codes["smokes"], rng.integers(0, 2, N), 2)
    records = Records(published, encode_many(published, codes, rng))
    frame, _ = exported(records, tmp_path / "parts.sav", {"weights": ONE_OF_REGION})
    equal = frame.with_columns(pl.lit(1.0).alias("one"))
    design = SurveyDesign.from_dict({"weights": ONE_OF_REGION})
    for name, k in (("smokes", 2), ("daily", 3), ("u", 3), ("w", 3)):
        names = [f"{name}_{code}" for code in range(k)]
        answered = equal.drop_nulls(names).filter(pl.col(names[0]).is_not_nan())
        n = len(answered)
        assert (n < 0.7 * N) == (name in "uvw")
        part = records.answering([name]) if name in "uvw" else records
        (ours,) = (one for one in frequencies(part) if one.name == name)
        shares, errors = means(answered, names, wgt="one")
        assert shares == pytest.approx(ours.frequency, abs=1e-6)
        assert errors * np.sqrt((n - 1) / n) == pytest.approx(ours.standard_error, rel=1e-6)
        weighted = weighted_shares(records, name, design).shares
        shares, errors = means(answered, names, wgt="weight")
        assert shares == pytest.approx(weighted.value, abs=1e-6)
        assert errors == pytest.approx(weighted.standard_error, rel=1e-6)


def test_margins_in_clear_become_weights_that_give_our_shares(records, tmp_path):
    frame, _ = exported(records, tmp_path / "out.sav", {"margins": MARGINS, "population": 10**6})
    assert frame["weight"].sum() == pytest.approx(10**6)
    for margin in MARGINS:
        (name,) = margin["attributes"]
        names = [f"{name}_{code}" for code in range(len(margin["shares"]))]
        shares, _ = means(frame, names, wgt="weight")
        assert shares == pytest.approx(list(margin["shares"].values()), abs=1e-6)
    ours = weighted_shares(records, "oue", SurveyDesign.from_dict({"margins": MARGINS}))
    shares, _ = means(frame, [f"oue_{code}" for code in range(4)], wgt="weight")
    assert shares == pytest.approx(ours.shares.value, abs=1e-6)


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ({}, "names no attribute"),
        ({"margins": [{"attributes": ["grr"], "shares": {"1": 1, "2": 0, "3": 0, "4": 0}}]},
         "grr, which is perturbed"),
        ({"weights": {"attributes": ["sex"], "weights": {"f": 0, "m": 0}}}, "all weights are 0"),
        ({"weights": {"attributes": ["no"], "weights": {"f": 0, "m": 0}}}, "no"),
    ],
)  # fmt: skip
def test_a_design_that_gives_records_no_weight_is_refused(records, design, words):
    with pytest.raises(InvalidParameter, match=words):
        RecordWeights.of(records.published, SurveyDesign.from_dict(design), [records])


R = """
library(survey)
files <- commandArgs(TRUE)
answers <- haven::read_sav(files[1])
design <- svydesign(ids = ~1, data = answers, weights = ~weight)
found <- svymean(~oue_0 + oue_1 + oue_2 + oue_3, design)
cat(sprintf("%.12f", c(coef(found), SE(found))), sep = "\\n")
answers <- haven::read_sav(files[2])
stratified <- svydesign(ids = ~1, strata = ~stratum, weights = ~weight, data = answers)
found <- svymean(~grr_0 + grr_1 + grr_2 + grr_3, stratified)
cat(sprintf("%.12f", c(coef(found), SE(found))), sep = "\\n")
"""


def test_shares_and_standard_errors_of_r_are_ours(records, tmp_path):
    designs = {"oue": {"weights": WEIGHTS}, "grr": {"strata": STRATA}}
    files = [tmp_path / f"{name}.sav" for name in designs]
    for path, design in zip(files, designs.values(), strict=True):
        exported(records, path, design)
    (tmp_path / "shares.R").write_text(R, encoding="utf-8")
    done = subprocess.run(
        ["Rscript", str(tmp_path / "shares.R"), *map(str, files)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = np.array(done.stdout.split(), float).reshape(2, 2, 4)
    for (shares, errors), (name, design) in zip(found, designs.items(), strict=True):
        ours = weighted_shares(records, name, SurveyDesign.from_dict(design))
        assert shares == pytest.approx(ours.shares.value, abs=1e-6)
        assert errors == pytest.approx(ours.shares.standard_error, rel=1e-6)


@pytest.fixture
def named(tmp_path, monkeypatch):
    """The files that the page names, of a survey with its names."""
    attributes = [
        {"name": "region", "role": "plain", "categories": REGION},
        {"name": "smokes", "role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"]},
    ]
    draft = {"name": "named", "version": 1, "title": "T", "epsilon": "2", "attributes": attributes}
    published = Manifest.from_dict(draft).resolve()
    rng = np.random.default_rng(6)
    codes = {"region": rng.integers(0, 3, N), "smokes": rng.integers(0, 2, N)}
    records = Records(published, encode_many(published, codes, rng))
    weights = {"attributes": ["region"], "weights": {"North": 1, "South": 2, "West": 3}}
    exported(records, tmp_path / "survey.sav", {"weights": weights})
    found = tidy_results(published, lambda query: result_of(query, OfRecords(records)))
    (tmp_path / "results.csv").write_bytes(csv_bytes(found.table()))
    monkeypatch.chdir(tmp_path)
    return weighted_shares(records, "smokes", SurveyDesign.from_dict({"weights": weights})).shares


def blocks_of_the_page(language):
    text = (ROOT / "docs" / "how-to" / "spss-stata-r.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def test_the_python_of_the_page_runs_and_gives_our_share(named, capsys):
    exec(compile(blocks_of_the_page("python"), "page", "exec"), {"__name__": "__main__"})
    *label, share, error = capsys.readouterr().out.split()
    assert " ".join(label) == "debiased: yes (smokes)"
    assert float(share) == pytest.approx(named.value[1], abs=1e-6)
    assert float(error) == pytest.approx(named.standard_error[1], rel=1e-6)


def test_the_r_of_the_page_runs_and_gives_our_share(named):
    done = subprocess.run(
        ["Rscript", "-e", blocks_of_the_page("r")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (row,) = re.findall(r"^smokes_1 +([\d.]+) +([\d.]+)$", done.stdout, re.MULTILINE)
    assert float(row[0]) == pytest.approx(named.value[1], abs=1e-4)
    assert float(row[1]) == pytest.approx(named.standard_error[1], abs=1e-4)
    assert all(region in done.stdout for region in REGION)
    assert re.search(r"share +smokes +yes", done.stdout)
