"""Files of SPSS and Stata, read back by the library that other programs' users read them with."""

from __future__ import annotations

import numpy as np
import pyreadstat
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.survey_design import labelled_files
from hushpoll_analysis.survey_design.labelled_files import check_labelled, write_labelled
from hushpoll_client import randomize
from hushpoll_protocols import SecureBits
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation import estimate
from hushpoll_shared.drafts.manifest import Manifest

DRAFT = {
    "name": "work",
    "version": 1,
    "title": "Work",
    "language": "en",
    "epsilon": "6",
    "protocol": "OUE",
    "attributes": [
        {"name": "region", "role": "plain", "question": "Where?", "categories": ["North", "South"],
         "missing": "No answer"},
        {"name": "smokes", "role": "sensitive", "protocol": "GRR", "question": "Do you smoke?",
         "categories": ["no", "yes"]},
        {"name": "pain-level", "role": "sensitive", "question": "How strong?",
         "categories": ["none", "mild", "strong"]},
    ],
    "translations": {
        "de": {
            "title": "Arbeit",
            "attributes": {
                "region": {"question": "Wo?", "categories": ["Nord", "Süd"],
                           "missing": "Keine Angabe"},
                "smokes": {"question": "Rauchen Sie?", "categories": ["nein", "ja"]},
                "pain-level": {"question": "Wie stark?",
                               "categories": ["keine", "leicht", "stark"]},
            },
        }
    },
}  # fmt: skip
READERS = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}


@pytest.fixture(scope="module")
def records():
    published = Manifest.from_dict(DRAFT).resolve()
    bits = SecureBits()
    rows = [
        published.layout.encode({"region": n % 3, "smokes": n % 2, "pain-level": n % 3}, bits)
        for n in range(300)
    ]
    return Records(published, np.frombuffer(b"".join(rows), np.uint8).reshape(300, -1))


@pytest.mark.parametrize("form", READERS)
def test_what_was_reported_is_read_back_with_its_labels(records, tmp_path, form):
    path = tmp_path / f"work.{form}"
    write_labelled(records, path, format=form)
    frame, about = READERS[form](str(path), user_missing=True)
    assert about.file_label == "Work"
    pains = [f"pain_level_{code}" for code in range(3)]
    assert list(frame.columns) == ["region", "smokes", *pains]
    labels = about.column_names_to_labels
    assert labels["region"] == "Where?"
    assert labels["smokes"] == "randomised: Do you smoke?"
    assert labels["pain_level_2"] == "randomised: strong (How strong?)"
    values = about.variable_value_labels
    assert values["smokes"] == {0: "no", 1: "yes"}
    skipped = 2 if form == "sav" else "a"
    assert values["region"] == {0: "North", 1: "South", skipped: "No answer"}
    smokes = records.indicators("smokes").argmax(axis=1)
    assert frame["smokes"].tolist() == smokes.tolist()
    assert frame[pains].to_numpy().tolist() == (records.indicators("pain-level").tolist())
    assert [code == skipped for code in frame["region"]] == [n % 3 == 2 for n in range(300)]
    # Without user_missing a program sees what was skipped as missing.
    seen, _ = READERS[form](str(path))
    assert seen["region"].isna().tolist() == [n % 3 == 2 for n in range(300)]


@pytest.mark.parametrize("form", READERS)
def test_labels_are_in_the_language_that_is_asked_for(records, tmp_path, form):
    path = tmp_path / f"work.{form}"
    write_labelled(records, path, format=form, language="de")
    _, about = READERS[form](str(path), user_missing=True)
    assert about.file_label == "Arbeit"
    assert about.column_names_to_labels["smokes"] == "randomised: Rauchen Sie?"
    assert about.variable_value_labels["smokes"] == {0: "nein", 1: "ja"}
    with pytest.raises(InvalidParameter, match=r"language is 'fr'.*en, de"):
        write_labelled(records, path, format=form, language="fr")


@pytest.mark.parametrize("form", READERS)
def test_means_and_standard_errors_of_debiased_variables_are_our_estimates(records, tmp_path, form):
    path = tmp_path / f"work.{form}"
    write_labelled(records, path, format=form, content="debiased")
    frame, _ = READERS[form](str(path))
    for name in ("smokes", "pain-level"):
        oracle = records.published.attribute(name).oracle
        ours = estimate(oracle, records.indicators(name).sum(axis=0), len(records))
        columns = [f"{name.replace('-', '_')}_{code}" for code in range(oracle.k)]
        data = frame[columns].to_numpy()
        assert data.mean(axis=0) == pytest.approx(ours.frequency, abs=1e-12)
        assert data.sum(axis=1).mean() == pytest.approx(1, abs=1e-12)
        if oracle.name == "GRR":  # of others the variance of the law is taken
            # svy and survey give the standard error of a sample with replacement, by n - 1.
            theirs = data.std(axis=0, ddof=1) / np.sqrt(len(data))
            ours_of_n = theirs * np.sqrt((len(data) - 1) / len(data))
            assert ours_of_n == pytest.approx(ours.standard_error, rel=1e-6)


def test_names_are_such_as_both_programs_have_and_apart(tmp_path):
    long = "x" * 60
    attributes = [
        {"name": name, "role": "plain", "categories": ["a", "b"]}
        for name in (f"{long}1", f"{long}2", "1st", "a-b", "a_b")
    ]
    draft = {**DRAFT, "attributes": [*attributes, DRAFT["attributes"][1]], "translations": None}
    published = Manifest.from_dict(draft).resolve()
    row = published.layout.encode(
        dict.fromkeys([*(a["name"] for a in attributes), "smokes"], 0), SecureBits()
    )
    path = tmp_path / "odd.dta"
    write_labelled(Records(published, np.frombuffer(row, np.uint8)[None]), path, format="dta")
    frame, _ = pyreadstat.read_dta(str(path))
    assert list(frame.columns) == ["x" * 31, f"{'x' * 26}_2", "v_1st", "a_b", "a_b_2", "smokes"]


RICH = {
    "name": "rich",
    "version": 1,
    "title": "题" * 60,
    "epsilon": "9",
    "protocol": "GRR",
    "attributes": [
        {"name": "all", "role": "plain", "question": "题" * 100, "missing": "skip",
         "categories": ["😀" * 130 + "a", "😀" * 130 + "b"]},
        {"name": "age", "role": "plain", "question": "Age", "number": {"low": 18, "high": 90},
         "missing": "skip"},
        {"name": "clear", "role": "plain", "categories": ["few", "many"]},
        {"name": "more", "role": "plain", "categories": ["x", "y"], "missing": "skip",
         "ask_if": {"clear": ["many"]}},
        {"name": "drugs", "role": "sensitive", "question": "Which?", "select": {},
         "categories": ["a", "b", "c"]},
        {"name": "care", "role": "sensitive", "question": "How is", "categories": ["bad", "good"],
         "items": [{"name": "nurse", "question": "nurse"},
                   {"name": "doctor", "question": "doctor"}]},
        {"name": "long", "role": "sensitive", "protocol": "OUE", "question": "Long?",
         "categories": ["x" * 190 + "1", "x" * 190 + "2"]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("form", READERS)
def test_numbers_are_their_values_and_labels_fit_and_stay_apart(tmp_path, form):
    published = Manifest.from_dict(RICH).resolve()
    (first, second) = RICH["attributes"][0]["categories"]
    rows = b""
    for number in range(12):
        answers = {"all": (first, second)[number % 2], "clear": ("few", "many")[number % 2],
                   "drugs": ["a"], "nurse": "bad", "doctor": "good",
                   "long": RICH["attributes"][-1]["categories"][0]}  # fmt: skip
        answers |= {"age": 30 + number} if number % 3 else {}
        answers |= {"more": "x"} if number % 4 == 1 else {}
        rows += randomize(published, answers).record
    records = Records(published, np.frombuffer(rows, np.uint8).reshape(12, -1))
    path = tmp_path / f"rich.{form}"
    write_labelled(records, path, format=form)
    frame, about = READERS[form](str(path), user_missing=True)
    seen, _ = READERS[form](str(path))
    ages = [None if number % 3 == 0 else 30 + number for number in range(12)]
    assert [None if np.isnan(age) else age for age in seen["age"]] == ages
    skipped, not_asked = (-1, 3) if form == "sav" else ("a", "b")
    values = about.variable_value_labels
    assert values["age"] == {skipped: "skip"}
    assert [age for age in frame["age"] if age == skipped] == [skipped] * 4
    assert (frame["more"] == not_asked).tolist() == [number % 2 == 0 for number in range(12)]
    assert seen["more"].isna().sum() == 9
    assert values["more"][not_asked] == "not asked"
    labels = about.column_names_to_labels
    assert labels["drugs"] == "randomised: a & b & c – Which?"
    assert labels["doctor"] == "randomised: doctor – How is"
    assert labels["all_"] == "题" * 79 + "…"
    assert len({*labels.values()}) == len(labels)
    assert labels["long_1"].endswith("… [long_1]")
    apart = [values["all_"][code] for code in (0, 1)]
    assert [text[-5:] for text in apart] == ["… [1]", "… [2]"]
    assert {*apart[0][:-5]} == {"😀"}
    assert max(len(text.encode()) for text in apart) <= 120
    assert about.file_label == "题" * 20 + "…"


def test_what_is_too_large_is_refused_before_it_is_made(records, monkeypatch):
    monkeypatch.setattr(labelled_files, "MOST_CELLS", 1000)
    with pytest.raises(InvalidParameter, match="at most 1,000 cells, and 300 records of 5"):
        check_labelled(records.published, 300, "records", None)
    monkeypatch.setattr(labelled_files, "MOST_VARIABLES", 4)
    with pytest.raises(InvalidParameter, match="at most 4; export parquet"):
        check_labelled(records.published, 0, "records", None)
