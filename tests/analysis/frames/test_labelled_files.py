"""Files of SPSS and Stata, read back by the library that other programs' users read them with."""

from __future__ import annotations

import numpy as np
import pyreadstat
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.survey_design import labelled_files
from hushpoll_analysis.survey_design.labelled_files import check_labelled, write_labelled
from hushpoll_protocols import SecureBits
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation import estimate
from hushpoll_shared.survey.manifest import Manifest

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


def test_what_is_too_large_is_refused_before_it_is_made(records, monkeypatch):
    monkeypatch.setattr(labelled_files, "MOST_CELLS", 1000)
    with pytest.raises(InvalidParameter, match="at most 1,000 cells, and 300 records of 5"):
        check_labelled(records.published, 300, "records", None)
    monkeypatch.setattr(labelled_files, "MOST_VARIABLES", 4)
    with pytest.raises(InvalidParameter, match="at most 4; export parquet"):
        check_labelled(records.published, 0, "records", None)
