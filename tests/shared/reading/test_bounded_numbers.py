"""A number is read within its bounds, and a refusal names its field and the bound."""

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.decimal_texts import read_bounded


def test_ends_that_are_allowed_are_read():
    assert read_bounded("3", "many", whole=True, least=3, most=3) == 3
    assert read_bounded("0.5", "part", least=0.5, above=0.4) == 0.5


@pytest.mark.parametrize(
    ("text", "bounds", "words"),
    [
        ("2", {"least": 3}, "many is '2'; give at least 3"),
        ("4", {"most": 3}, "many is '4'; give at most 3"),
        ("3", {"above": 3}, "many is '3'; give more than 3"),
        ("x", {}, "many: "),
        ("1.5", {"whole": True}, "many: "),
        ("nan", {}, "many: "),
    ],
)
def test_other_texts_are_refused(text, bounds, words):
    with pytest.raises(InvalidParameter, match=words) as refused:
        read_bounded(text, "many", **bounds)
    assert refused.value.field == "many"
