"""Statistics of the options of select-alls, and what a plan says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushpoll_analysis import Records, conditional_shares, cross_table, frequencies
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.verdicts import verdicts
from hushpoll_protocols import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many


def manifest(m: int, select: dict[str, int], **changes: Any) -> Manifest:
    return Manifest.from_dict(
        {
            "name": "drugs",
            "version": 1,
            "title": "Drugs",
            "epsilon": "6",
            "protocol": "SS",
            "attributes": [
                {"name": "sex", "role": "sensitive", "categories": ["f", "m"]},
                {
                    "name": "drugs",
                    "role": "sensitive",
                    "categories": [f"drug {place}" for place in range(m)],
                    "select": select,
                    **changes,
                },
            ],
        }
    )


@pytest.mark.parametrize(("m", "select"), [(4, {"at_least": 1, "at_most": 2}), (8, {})])
def test_shares_and_tables_of_options_have_their_truth_in_the_interval(
    m: int, select: dict[str, int]
) -> None:
    survey = manifest(m, select, want="pairs").resolve()
    n, rng = 20_000, np.random.default_rng(3)
    second = (rng.random(n) < 0.3).astype(np.int64)
    codes = {"sex": second, "drugs_1": np.ones(n, np.int64), "drugs_2": second}
    codes |= {f"drugs_{place}": np.zeros(n, np.int64) for place in range(3, m + 1)}
    records = Records.trusted(survey, encode_many(survey, codes, rng))
    found = {one.name: one for one in frequencies(records, confidence=0.9999)}
    for name, share in (("drugs_1", 1.0), ("drugs_2", 0.3), ("drugs_3", 0.0)):
        lower, upper = found[name].lower, found[name].upper
        assert lower is not None
        assert upper is not None
        assert lower[1] - 1e-9 <= share <= upper[1] + 1e-9
    for table in (
        cross_table(records, "drugs_1", "drugs_2", confidence=0.9999),
        cross_table(records, "sex", "drugs_2", confidence=0.9999),
    ):
        cell = table.to_dict()["cells"][-1]
        assert cell["lower"] <= 0.3 <= cell["upper"]
    assert conditional_shares(records, "drugs_2", "sex", confidence=0.9999) is not None


def test_selections_outside_the_limits_are_not_simulated() -> None:
    survey = manifest(8, {"at_least": 1}).resolve()
    nothing = {f"drugs_{place}": [0] for place in range(1, 9)}
    with pytest.raises(InvalidParameter, match="at least 1"):
        encode_many(survey, {"sex": [0], **nothing}, np.random.default_rng(1))


def test_a_plan_says_what_a_select_all_is_published_as() -> None:
    document = verdicts(manifest(8, {}), [Goal("width", "drugs", 0.05)])
    assert document["goals"][0]["n_needed"] > 1000
    assert document["selects"] == [manifest(8, {}).choices[0].reason]
    assert "8 yes/no questions" in document["selects"][0]
