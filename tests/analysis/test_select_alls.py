"""Statistics of the options of select-alls, and what a plan says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushpoll_analysis import Records, conditional_shares, cross_table, frequencies
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.verdicts import verdicts
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.source import OfRecords
from hushpoll_protocols import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.cli.result_text import text_of_result
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.queries.simultaneous_estimates import Simultaneous
from hushpoll_shared.querying.table import table_of_result
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


def answered(select: dict[str, int], n: int = 500) -> Records:
    """Records of a select-all of three options, of which the second applies to nobody."""
    survey = manifest(3, select).resolve()
    rng = np.random.default_rng(3)
    first = rng.integers(0, 2, n)
    codes = {"sex": first, "drugs_1": first, "drugs_2": 0 * first, "drugs_3": 1 - first}
    return Records.trusted(survey, encode_many(survey, codes, rng))


@pytest.mark.parametrize("select", [{"at_most": 1}, {}])
def test_a_select_all_is_one_table_with_a_row_for_each_option(select: dict[str, int]) -> None:
    records = answered(select)
    found = frequencies(records)
    whole = found.of(["drugs"], records.published)
    assert [one.name for one in whole] == ["drugs_1", "drugs_2", "drugs_3"]
    assert [one.name for one in found.of(["drugs_2"], records.published)] == ["drugs_2"]
    (epsilon,) = {one.option.epsilon for one in whole if one.option is not None}
    assert epsilon == "3"
    result = whole.result()
    table = result.to_dict()["attributes"][2]
    assert table["option"] == {"question": "drugs", "text": "drug 2", "epsilon": "3"}
    text = text_of_result(result)
    assert "drugs (select all that apply; SS, epsilon 3)" in text
    assert "drugs_1" not in text.partition("Each interval")[0]
    assert "of these 3 at 95 %" in " ".join(text.split())
    made = table_of_result(result)
    places = [[one.name for one in made.columns].index(name) for name in ("attribute", "category")]
    rows = [tuple(row[place] for place in places) for row in made.rows]
    assert rows == [("drugs", f"drug {place}") for place in range(3)]
    with pytest.raises(InvalidParameter, match="'weed' is no attribute"):
        found.of(["weed"], records.published)


def test_other_statistics_say_what_an_option_says_and_name_the_options_of_a_question() -> None:
    source = OfRecords(answered({"at_most": 1}))
    result = result_of(Independence(a="drugs_3", b="sex"), source)
    assert result.options == {"drugs_3": "drugs: drug 2"}
    assert "drugs_3 is the option “drugs: drug 2”." in text_of_result(result)
    assert type(result).read(result.to_dict()).options == result.options
    several = result_of(Simultaneous(attribute="drugs"), source)
    assert [one.name for one in several.attributes] == ["drugs_1", "drugs_2", "drugs_3"]
    assert set(several.options) == {"drugs_1", "drugs_2", "drugs_3"}
    assert "options" not in result_of(Simultaneous(attribute="sex"), source).to_dict()
    with pytest.raises(InvalidParameter, match=r"drugs is a select-all.*drugs_2 \('drug 1'\)"):
        result_of(Independence(a="drugs", b="sex"), source)


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


def test_a_plan_of_an_option_in_a_block_with_limits_is_what_a_survey_gives() -> None:
    draft, n, rng = manifest(4, {"at_most": 2}), 5000, np.random.default_rng(1)
    (told,) = verdicts(draft, [Goal.parse("width:drugs_1=?")], n=n)["goals"]
    survey, first = draft.resolve(), rng.integers(0, 2, n)
    codes = dict.fromkeys(("sex", "drugs_2", "drugs_3", "drugs_4"), 0 * first)
    records = Records.trusted(survey, encode_many(survey, {**codes, "drugs_1": first}, rng))
    option = frequencies(records)[1]
    assert option.upper is not None
    assert option.lower is not None
    assert option.upper[1] - option.lower[1] == pytest.approx(told["predicted"], rel=0.02)


def test_a_plan_says_what_a_select_all_is_published_as() -> None:
    document = verdicts(manifest(8, {}), [Goal("width", "drugs", 0.05)])
    assert document["goals"][0]["n_needed"] > 1000
    assert document["selects"] == [manifest(8, {}).choices[0].reason]
    assert "8 yes/no questions" in document["selects"][0]
