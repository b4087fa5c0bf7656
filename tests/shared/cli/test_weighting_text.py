"""The words beside weighted shares speak of the intervals that stand there."""

import pytest

from hushpoll_shared.cli.weighting import weighted_shares_text
from hushpoll_shared.qualifying.possible import CUT

SHARE = {"value": 0.5, "standard_error": 0.1, "lower": 0.3, "upper": 0.7}
UNKNOWN = dict.fromkeys(SHARE)
SIDE = {"survey": "sample", "version": 1, "n": 90}


def test_weighted_shares_begin_with_the_verdict_and_leave_out_what_is_too_noisy():
    row = {"category": "north", **SHARE, "lower": -0.4, "unweighted": SHARE, "total": None}
    one = {
        "shares": [row],
        "confidence": 0.95,
        "cannot_conclude": None,
        "effective_n": 80.0,
        "smallest_factor": 1.0,
        "largest_factor": 1.0,
    }
    answer = SIDE | {
        "verdict": {"says": "informative", "sentence": "90 reports tell a.", "too_noisy": ["b"]},
        "confidence": 0.95,
        "attributes": [one | {"attribute": "region"}, one | {"attribute": "b"}],
        "assumption": "They are alike.",
    }
    text = " ".join(weighted_shares_text(answer).split())
    assert text.startswith("90 reports tell a.")
    assert text.count("north") == 1
    assert "0.000 to 0.700" in text
    assert text.count(CUT) == 1
    assert "1 row that is too noisy to tell is not shown" in text
    noisy = {"says": "too noisy to tell", "sentence": "Nothing.", "too_noisy": ["region", "b"]}
    text = weighted_shares_text(answer | {"verdict": noisy})
    assert "north" not in text
    assert "alike" not in text


@pytest.mark.parametrize(("value", "words"), [(SHARE, "of these 3 at"), (UNKNOWN, "no margin")])
def test_weighted_shares_show_no_interval_of_the_unweighted(value, words):
    text = weighted_shares_text(
        SIDE
        | {
            "attribute": "region",
            "confidence": 0.95,
            "shares": [
                {"category": name, **value, "unweighted": SHARE, "total": None} for name in "abc"
            ],
            "cannot_conclude": None if value is SHARE else "there is no margin",
            "effective_n": 80.0,
            "smallest_factor": 1.0,
            "largest_factor": 1.0,
            "intervals": "of these 6 at 95 %",
            "assumption": "",
        }
    )
    assert words in " ".join(text.split())
    assert ("at 95 %" in text) is (value is SHARE)
