"""Estimators by name: each gives shares, one gives intervals, and the others say why not."""

import json

import numpy as np
import pytest

from hushpoll_analysis import Records, RecordStream, count, frequencies, frequencies_from_counts
from hushpoll_analysis.estimates.estimators import ESTIMATORS
from hushpoll_client.cli.commandline import main
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.likelihood import maximum_likelihood
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_shared import Manifest
from hushpoll_shared.estimators import ESTIMATOR_TERMS, UNBIASED
from hushpoll_shared.wire.batch import encode_many
from hushpoll_shared.wire.records_file import pack_records_header


@pytest.fixture(scope="module")
def records():
    published = Manifest.from_dict(
        {
            "name": "named",
            "version": 1,
            "title": "Named",
            "epsilon": "1",
            "protocol": "OUE",
            "attributes": [
                {"name": "colour", "role": "sensitive", "range": [1, 8]},
                {"name": "area", "role": "plain", "range": [1, 3]},
            ],
        }
    ).resolve()
    rng = np.random.default_rng(3)
    codes = {"colour": rng.binomial(7, 0.1, 400), "area": rng.integers(0, 3, 400)}
    return Records(published, encode_many(published, codes, rng))


@pytest.fixture(scope="module")
def file(records, tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "named.records"
    path.write_bytes(
        pack_records_header(records.published, len(records.rows)) + records.rows.tobytes()
    )
    return path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert ended.value.code == 0, captured.err
    return captured.out


def test_every_name_has_a_function_and_a_sentence():
    assert list(ESTIMATORS) == list(ESTIMATOR_TERMS)
    assert next(iter(ESTIMATORS)) == UNBIASED
    assert [name for name, terms in ESTIMATOR_TERMS.items() if not terms.no_interval] == [UNBIASED]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_shares_sum_to_one_and_have_an_interval_or_none(records, name):
    for estimate in frequencies(records, estimator=name):
        assert estimate.estimator == name
        assert estimate.frequency.sum() == pytest.approx(1)
        columns = (estimate.standard_error, estimate.lower, estimate.upper, estimate.poisoning)
        assert all((column is None) == (name != UNBIASED) for column in columns)
        assert all(
            (row["lower"] is None) == (name != UNBIASED) for row in estimate.to_dict()["categories"]
        )


def test_a_name_gives_what_its_function_gives(records):
    oracle = records.published.attribute("colour").oracle
    unbiased, projected, likelihood = (
        frequencies(records, estimator=name)[0].frequency
        for name in ("unbiased", "projected", "likelihood")
    )
    assert unbiased.min() < 0
    assert projected.tolist() == project_simplex(unbiased).tolist()
    assert likelihood.tolist() == maximum_likelihood(oracle, records.column("colour")).tolist()


def test_a_stream_is_held_for_the_likelihood(records):
    stream = RecordStream(records.published, (records.take(slice(a, a + 150)) for a in (0, 150)))
    halves = frequencies(stream, estimator="likelihood")[0]
    assert halves.n == 300


def test_wrong_names_and_absent_records_are_refused(records):
    with pytest.raises(InvalidParameter, match="unbiased or projected or likelihood or shrunk"):
        frequencies(records, estimator="best")
    with pytest.raises(InvalidParameter, match="needs the records themselves"):
        frequencies_from_counts(records.published, count(records), estimator="likelihood")


def test_command_shows_a_file_as_python_estimates_it(records, file, capsys):
    shown = json.loads(run(capsys, "records", "estimate", file, "--confidence", "0.9", "--json"))
    expected = [estimate.to_dict() for estimate in frequencies(records, confidence=0.9)]
    assert shown["attributes"] == expected
    assert (shown["n"], shown["confidence"]) == (400, 0.9)
    text = run(capsys, "records", "estimate", file, "--attribute", "colour", "--confidence", "0.9")
    assert "too noisy to tell a share of colour: its 90 % interval" in " ".join(text.split())
    assert "area" not in text


def test_command_says_that_an_estimator_has_no_interval(file, capsys):
    text = run(capsys, "records", "estimate", file, "--estimator", "shrunk")
    assert "estimator shrunk" in text
    assert "Shrunk estimates have no interval" in " ".join(text.split())
    assert "std. error" not in text


def test_command_shows_the_cross_table_of_a_file(file, capsys):
    text = run(capsys, "records", "cross-table", file, "colour", "area")
    assert "24 rows that are too noisy to tell are not shown" in " ".join(text.split())
