"""The words beside weighted shares speak of the intervals that stand there."""

import pytest

from hushpoll_shared.cli.weighting import weighted_shares_text

SHARE = {"value": 0.5, "standard_error": 0.1, "lower": 0.3, "upper": 0.7}
UNKNOWN = dict.fromkeys(SHARE)
SIDE = {"survey": "sample", "version": 1, "n": 90}


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
