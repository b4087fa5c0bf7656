"""Weighted shares: in clear, with noise, of finite populations, and what is refused."""

import numpy as np
import pytest

from hushpoll_analysis import (
    CellValues,
    Records,
    SurveyDesign,
    frequencies,
    weighted_shares,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.wire.batch import encode_many
from relations_survey import draw, survey
from studies.designs import Drawn, in_clear

CLEAR = survey((None, 3, ""), (None, 3, ""), (None, 4, ""))
B = CellValues(("b",), {"1": 0.2, "2": 0.3, "3": 0.5})
C = CellValues(("c",), {"1": 0.1, "2": 0.2, "3": 0.3, "4": 0.4})


def joint(shape, seed=1):
    cells = np.random.default_rng(seed).random(shape) + 0.2
    return cells / cells.sum()


@pytest.fixture(scope="module")
def clear():
    return draw(CLEAR, joint((3, 3, 4)), 900, 7)


@pytest.mark.parametrize(
    "design",
    [
        SurveyDesign(),
        SurveyDesign(margins=(B,)),
        SurveyDesign(margins=(B, C)),
        SurveyDesign(population=1800),
        SurveyDesign(strata=CellValues(("b",), {"1": 500, "2": 900, "3": 600})),
    ],
)
@pytest.mark.parametrize("own", [False, True])
def test_shares_in_clear_are_those_of_linearised_survey_statistics(clear, design, own):
    codes, records = clear
    weights = np.random.default_rng(2).gamma(3, 1, 900) if own else None
    found = weighted_shares(records, "a", design, weights=weights).shares
    expected, error = in_clear(Drawn((codes["a"], codes["b"], codes["c"]), design, weights), [3])
    np.testing.assert_allclose(found.value, expected, atol=1e-7)
    np.testing.assert_allclose(found.standard_error, error, rtol=2e-3)


def test_equal_weights_and_no_weights_give_the_estimates():
    published = survey(("OUE", 4, "2"))
    _, records = draw(published, joint((4,)), 3000, 3)
    plain = frequencies(records)[0]
    found = weighted_shares(records, "a").shares
    np.testing.assert_allclose(found.value, plain.frequency, atol=1e-12)
    np.testing.assert_allclose(found.lower, plain.lower, atol=1e-3)
    np.testing.assert_allclose(found.upper, plain.upper, atol=1e-3)
    equal = weighted_shares(records, "a", weights=np.full(3000, 7.0))
    np.testing.assert_allclose(equal.shares.value, plain.frequency, atol=1e-12)
    np.testing.assert_allclose(equal.shares.standard_error, plain.standard_error, rtol=0.06)
    assert equal.effective_n == pytest.approx(3000)
    assert equal.totals.value.sum() == pytest.approx(21000)


@pytest.mark.parametrize(
    "questions",
    [
        (("OUE", 3, "2"), (None, 3, "")),
        (("GRR", 3, "2"), ("OLH", 3, "2")),
        (("OLH", 3, "2"), ("GRR", 3, "2")),
        (("SS", 4, "2"), ("SS", 3, "2")),
        ((None, 3, ""), ("OUE", 3, "2")),
    ],
)
def test_counts_and_records_give_the_same_share_and_variance(questions):
    published = survey(*questions)
    _, records = draw(published, joint((questions[0][1], 3)), 20_000, 5)
    design = SurveyDesign(margins=(B,), population=30_000)
    # weights of records need the records, the design alone needs the counts
    by_counts = weighted_shares(records, "a", design)
    by_records = weighted_shares(records, "a", design, weights=np.ones(20_000))
    np.testing.assert_allclose(by_counts.shares.value, by_records.shares.value, atol=1e-9)
    np.testing.assert_allclose(
        by_counts.shares.standard_error, by_records.shares.standard_error, rtol=0.04
    )
    assert by_counts.effective_n == pytest.approx(by_records.effective_n)


def test_weights_of_cells_are_weights_of_records(clear):
    codes, records = clear
    cells = CellValues(("b",), {"1": 100, "2": 50.5, "3": 0})
    by_cells = weighted_shares(records, "a", SurveyDesign(weights=cells))
    each = np.array([100, 50.5, 0])[codes["b"]]
    by_records = weighted_shares(records, "a", weights=each)
    for name in ("value", "standard_error", "lower", "upper"):
        for column in ("shares", "totals"):
            np.testing.assert_allclose(
                getattr(getattr(by_cells, column), name),
                getattr(getattr(by_records, column), name),
                rtol=1e-3,
            )
    assert by_cells.totals.value.sum() == pytest.approx(each.sum())
    # Horvitz and Thompson's total of a category, and Kish's number
    assert by_cells.totals.value[1] == pytest.approx(each[codes["a"] == 1].sum())
    assert by_cells.effective_n == pytest.approx(each.sum() ** 2 / np.square(each).sum())


def test_the_finite_population_correction_leaves_the_noise_alone():
    published, n = survey(("SS", 4, "2")), 400
    answers = np.arange(n) % 4
    oracle = published.attribute("a").oracle
    values, errors = [], []
    for seed in range(150):
        rng = np.random.default_rng([8, seed])
        records = Records(published, encode_many(published, {"a": answers}, rng))
        shares = weighted_shares(records, "a", SurveyDesign(population=n)).shares
        values.append(shares.value)
        errors.append(shares.standard_error)
    # of all people, the noise alone is left: exactly p(1-p) or q(1-q) over (p-q)^2 n each
    p, q = float(oracle.p), float(oracle.q)
    noise = (0.25 * p * (1 - p) + 0.75 * q * (1 - q)) / (p - q) ** 2 / n
    np.testing.assert_allclose(np.mean(errors), np.sqrt(noise), rtol=0.01)
    np.testing.assert_allclose(np.std(values), np.sqrt(noise), rtol=0.12)
    everybody = weighted_shares(records, "a").shares.standard_error[0]
    assert everybody**2 == pytest.approx(noise + 0.25 * 0.75 / n, rel=0.05)


def test_a_census_in_clear_has_no_error(clear):
    _, records = clear
    found = weighted_shares(records, "a", SurveyDesign(population=900))
    np.testing.assert_array_equal(found.shares.standard_error, 0)
    np.testing.assert_allclose(found.shares.lower, found.shares.upper)
    assert found.totals.value.sum() == pytest.approx(900)


def test_known_margins_of_a_perturbed_attribute_remove_the_bias_of_a_biased_sample():
    published = survey(("GRR", 2, "3"), ("OUE", 2, "3"))
    people = np.array([[0.4, 0.1], [0.1, 0.4]])
    _, records = draw(published, people * [0.4, 1.6], 20_000, 4)
    known = CellValues(("b",), {"1": 0.5, "2": 0.5})
    found = weighted_shares(records, "a", SurveyDesign(margins=(known,)))
    assert abs(found.unweighted.value[0] - 0.5) > 0.1
    assert abs(found.shares.value[0] - 0.5) < 4 * found.shares.standard_error[0]
    assert found.shares.standard_error[0] < 0.02


def test_raking_reaches_every_margin_in_clear(clear):
    _, records = clear
    design = SurveyDesign(margins=(B, C))
    of_b = [
        weighted_shares(records, "b", SurveyDesign(margins=(C,)), weights=weights)
        for weights in (None, np.ones(900))
    ]
    np.testing.assert_allclose(of_b[0].shares.value, of_b[1].shares.value, atol=1e-9)
    found = weighted_shares(records, "a", design)
    assert found.rounds > 1
    assert 0 < found.factors[0] < 1 < found.factors[1]
    bounded = weighted_shares(
        records, "a", SurveyDesign(margins=(B, C), bounds=(0.3, found.factors[1] * 0.97))
    )
    assert bounded.factors[1] <= found.factors[1] * 0.97 + 1e-9


def test_margins_of_clear_and_perturbed_attributes_are_raked_together():
    published = survey((None, 2, ""), (None, 3, ""), ("GRR", 4, "4"))
    cells = joint((2, 3, 4))
    unequal = cells * np.array([1, 2, 3])[:, None]
    unequal /= unequal.sum()
    _, records = draw(published, unequal, 20_000, 6)
    margins = tuple(
        CellValues((name,), {str(code + 1): share for code, share in enumerate(shares)})
        for name, shares in (("b", cells.sum(axis=(0, 2))), ("c", cells.sum(axis=(0, 1))))
    )
    found = weighted_shares(records, "a", SurveyDesign(margins=margins))
    truth = cells.sum(axis=(1, 2))
    assert (np.abs(found.shares.value - truth) < 4 * found.shares.standard_error).all()


def test_a_margin_of_two_attributes_is_one_of_cells(clear):
    _, records = clear
    crossed = CellValues(
        ("b", "c"), {str(b): {str(c): 1 / 12 for c in range(1, 5)} for b in range(1, 4)}
    )
    found = weighted_shares(records, "a", SurveyDesign(margins=(crossed,)))
    by_hand = np.mean(
        [
            [
                (
                    records.codes("a")[(records.codes("b") == b) & (records.codes("c") == c)] == a
                ).mean()
                for a in range(3)
            ]
            for b in range(3)
            for c in range(4)
        ],
        axis=0,
    )
    np.testing.assert_allclose(found.shares.value, by_hand, atol=1e-9)


def test_a_group_that_noise_hides_has_no_share_and_a_sentence():
    published = survey((None, 2, ""), ("GRR", 3, "1"))
    _, records = draw(published, np.array([[0.01, 0.2, 0.29]] * 2), 500, 4)
    found = weighted_shares(records, "a", SurveyDesign(margins=(B,), population=10_000))
    assert "Of b = 1 the records are too few or too noisy" in found.cannot_conclude
    document = found.to_dict()
    assert document["shares"][0]["value"] is None
    assert document["shares"][0]["bound"] == "no bound"
    assert document["shares"][0]["total"]["value"] is None
    assert document["shares"][0]["unweighted"]["value"] is not None


def test_a_missing_category_may_be_left_out_and_then_counts_nothing():
    draft_changes = {
        "attributes": [
            {"name": "a", "role": "plain", "range": [1, 2]},
            {"name": "b", "role": "plain", "categories": ["x", "y"], "missing": "none"},
            {"name": "z", "role": "sensitive", "protocol": "GRR", "range": [1, 2]},
        ],
        "split": "uniform",
    }
    published = survey((None, 2, ""), **draft_changes)
    codes = {"a": np.array([0, 1, 1, 0, 1]), "b": np.array([0, 0, 1, 1, 2]), "z": np.zeros(5, int)}
    records = Records(published, encode_many(published, codes, np.random.default_rng(1)))
    known = CellValues(("b",), {"x": 0.25, "y": 0.75})
    found = weighted_shares(records, "a", SurveyDesign(margins=(known,)))
    assert found.shares.value[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (SurveyDesign(margins=(CellValues(("nothing",), {}),)), "nothing"),
        (SurveyDesign(margins=(CellValues(("b",), {"1": 0.5, "9": 0.5}),)), "'9', no category"),
        (SurveyDesign(margins=(CellValues(("b",), {"1": 0.5, "2": 0.5}),)), "no share of '3'"),
        (SurveyDesign(margins=(CellValues(("b",), {"1": 0.5, "2": 0.5, "3": 0.5}),)), "up to 1.5"),
        (SurveyDesign(margins=(CellValues(("b",), {"1": -0.5, "2": 1, "3": 0.5}),)), "is -0.5"),
        (SurveyDesign(margins=(CellValues(("b",), {"1": "x", "2": 1, "3": 0.5}),)), "is 'x'"),
        (SurveyDesign(margins=(CellValues(("b", "b"), {}),)), "different ones"),
        (SurveyDesign(margins=(CellValues(("a",), {"1": 0.2, "2": 0.3, "3": 0.5}),)), "are to be"),
        (
            SurveyDesign(margins=(B, CellValues(("b",), {"1": 0.3, "2": 0.3, "3": 0.4}))),
            "contradict each other",
        ),
        (SurveyDesign(population=899), "900 records, more than the population"),
        (SurveyDesign(population=0), "population is 0"),
        (SurveyDesign(strata=CellValues(("b",), {"1": 0, "2": 0, "3": 0})), "all sizes are 0"),
        (SurveyDesign(strata=CellValues(("b",), {"1": 9, "2": 900, "3": 900})), "of b = 1, more"),
        (SurveyDesign(strata=CellValues(("z",), {"1": 9, "2": 900})), "is perturbed"),
        (SurveyDesign(weights=CellValues(("b",), {"1": 0, "2": 0, "3": 0})), "weights are 0"),
        (SurveyDesign(margins=(B, C), bounds=(0.99, 1.01)), "widen the bounds"),
        (SurveyDesign(margins=(B,), bounds=(2, 3)), "smallest factor must be in"),
    ],
)
def test_a_design_that_cannot_be_is_refused_with_its_reason(clear, design, message):
    with pytest.raises(InvalidParameter, match=message):
        weighted_shares(clear[1], "a", design)


def test_margins_of_too_many_cells_are_refused_before_they_are_made():
    published = survey(("GRR", 2, "1"), *[(None, 60, "")] * 3)
    _, records = draw(published, np.full((2, 1, 1, 1), 0.5), 10, 1)
    crossed = CellValues(("b", "c"), {})
    with pytest.raises(InvalidParameter, match="have 3600 cells"):
        weighted_shares(records, "a", SurveyDesign(margins=(crossed,)))
    even = {str(code): 1 / 60 for code in range(1, 61)}
    margins = tuple(CellValues((name,), even) for name in "bcd")
    with pytest.raises(InvalidParameter, match="table of 432000 cells"):
        weighted_shares(records, "a", SurveyDesign(margins=margins))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(899), r"shape \(899,\)"),
        (np.full(900, -1.0), r"weights\[0\] is -1"),
        (np.full(900, np.nan), r"weights\[0\] is nan"),
        (np.zeros(900), "all weights are 0"),
    ],
)
def test_weights_that_cannot_be_are_refused(clear, weights, message):
    with pytest.raises(InvalidParameter, match=message):
        weighted_shares(clear[1], "a", weights=weights)


def test_a_category_that_no_respondent_gave_cannot_be_weighted_up(clear):
    codes, records = clear
    others = records.take(codes["b"] != 0)
    with pytest.raises(InvalidParameter, match=r"b = 1 has the share 0\.2 in the population"):
        weighted_shares(others, "a", SurveyDesign(margins=(B,)))
    with pytest.raises(InvalidParameter, match="b = 1"):
        weighted_shares(others, "a", SurveyDesign(margins=(B, C)))


def test_margins_that_need_an_empty_cell_are_refused(clear):
    codes, records = clear
    # in the sample b = 1 goes with c = 1 alone, but the margins want more of b = 1 than of c = 1
    linked = records.take((codes["b"] == 0) == (codes["c"] == 0))
    with pytest.raises(InvalidParameter, match="no weights give all margins together"):
        weighted_shares(linked, "a", SurveyDesign(margins=(B, C)))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "a design must be an object"),
        ({"margin": []}, "it has 'margin'"),
        ({"margins": {"b": {}}}, "margins must be a list"),
        ({"margins": [{"b": {}}]}, r"margins\[0\] must be an object"),
        ({"strata": {"attributes": 1, "sizes": {}}}, "give the names of attributes"),
        ({"weights": {"attributes": [], "rows": [[3]]}}, "weights names no attribute"),
        ({"bounds": 3}, "give the smallest and the largest"),
    ],
)
def test_a_document_that_is_no_design_is_refused(document, message):
    with pytest.raises(InvalidParameter, match=message):
        SurveyDesign.from_dict(document)


def test_a_design_is_read_from_json(clear):
    document = {
        "margins": [{"attributes": ["b"], "shares": dict(B.values)}],
        "weights": {"attributes": "c", "weights": {"1": 1, "2": 2, "3": 3, "4": 4}},
        "population": 5000,
        "bounds": [0.1, 10],
    }
    found = weighted_shares(clear[1], "a", SurveyDesign.from_dict(document)).to_dict()
    assert found["population"] == 5000
    assert sum(row["total"]["value"] for row in found["shares"]) == pytest.approx(5000)
    assert sum(row["value"] for row in found["shares"]) == pytest.approx(1)


@pytest.mark.parametrize("n", [49, 98, 103, 107])
def test_stratum_of_a_single_record_is_refused_whatever_the_others_are(n):
    """Guards: a share times n was not quite 1, so the record was taken for several."""
    place = np.arange(n)
    codes = {"a": place % 3, "b": np.minimum(place, 1), "c": place * 0, "z": place * 0}
    records = Records(CLEAR, encode_many(CLEAR, codes, np.random.default_rng(1)))
    strata = CellValues(("b",), {"1": 5000, "2": 5000, "3": 0})
    with pytest.raises(InvalidParameter, match="a single record"):
        weighted_shares(records, "a", SurveyDesign(strata=strata))
