"""KEY=VALUE and lists whose names hold the signs between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.pairs import quoted, read_list, read_pair, read_pairs

INCOME = ("<=26000", ">26000")


def pair(text: str, names=None):
    return read_pair(text, field="--since-map", form="CATEGORY=LABEL", names=names)


def listed(text: str, names=None):
    return read_list(text, field="--groups", names=names)


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("low=poor", None, ("low", "poor")),
        ("<=26000=low", INCOME, ("<=26000", "low")),
        ("<=26000=<=26000", INCOME, ("<=26000", "<=26000")),
        (">26000=>=26001", INCOME, (">26000", ">=26001")),
        ('"<=26000"=low', None, ("<=26000", "low")),
        ('"<=26000"="a=b"', None, ("<=26000", "a=b")),
        ('"say ""no"""=x', None, ('say "no"', "x")),
        ('"a"', ['"a"'], None),
        ("a=b=c", ["a"], ("a", "b=c")),
        ("a=b=c", ["a=b"], ("a=b", "c")),
        ("x=1", INCOME, ("x", "1")),  # who knows the names says that this is none
        ("=a=b", ["=a"], ("=a", "b")),
        ("größe=groß", ["größe"], ("größe", "groß")),
    ],
)
def test_a_pair_is_cut_at_a_known_name(text, names, expected):
    if expected is None:
        with pytest.raises(InvalidParameter, match="give CATEGORY=LABEL"):
            pair(text, names)
    else:
        assert pair(text, names) == expected


@pytest.mark.parametrize("text", ["", "low", "low=", "=low", "="])
def test_what_is_no_pair_is_refused(text):
    with pytest.raises(InvalidParameter, match=r"--since-map is .*; give CATEGORY=LABEL") as caught:
        pair(text)
    assert caught.value.field == "since_map"


def test_a_pair_that_can_be_cut_twice_is_refused_by_name():
    with pytest.raises(InvalidParameter) as caught:
        pair("<=26000=low")
    assert "may be of '<' or '<=26000'; put the name into quotes, such as " in str(caught.value)
    assert str(caught.value).endswith("""'"<=26000"=low'""")
    with pytest.raises(InvalidParameter, match="may be of 'a' or 'a=b'"):
        pair("a=b=c", ["a", "a=b"])
    assert pair('"a"=b=c', ["a", "a=b"]) == ("a", "b=c")


def test_a_key_is_given_once():
    assert read_pairs(["a=1", "b=2"], field="--map", form="A=B") == {"a": "1", "b": "2"}
    with pytest.raises(InvalidParameter, match="--map names 'a' twice"):
        read_pairs(["a=1", "a=2"], field="--map", form="A=B")


NAMES = st.lists(st.text('a=,"< é', min_size=1, max_size=4).map(str.strip).filter(bool), min_size=1)


@given(NAMES)
def test_quotes_always_say_where_a_name_ends(names):
    assert listed(",".join(map(quoted, [*names, "a,b"]))) == [*names, "a,b"]
    for name in names:
        whole = '"' + name.replace('"', '""') + '"'
        assert pair(f"{whole}={whole}") == (name, name)


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("a,b", None, ["a", "b"]),
        ("a, b", None, ["a", "b"]),
        ('"a, b",c', None, ["a, b", "c"]),
        ('"a, b", "c"', None, ["a, b", "c"]),
        ("Income, yearly,age", ["Income, yearly", "age"], ["Income, yearly", "age"]),
        ("Income, yearly", ["Income, yearly", "age"], ["Income, yearly"]),
        ("a,x", ["a", "b"], ["a", "x"]),
        ('6" pipe', ['6" pipe'], ['6" pipe']),
    ],
)
def test_a_list_is_cut_into_known_names(text, names, expected):
    assert listed(text, names) == expected


@pytest.mark.parametrize("text", ["", "a,,b", "a,", ",", '"a', 'a"b', '"a"b', '"",a'])
def test_what_is_no_list_is_refused(text):
    with pytest.raises(InvalidParameter, match="--groups is"):
        listed(text)


def test_a_list_that_can_be_cut_twice_is_refused_by_name():
    with pytest.raises(InvalidParameter, match=r"may be \['a,b'\] or \['a', 'b'\]|may be \['a', "):
        listed("a,b", ["a", "b", "a,b"])
    assert listed('"a,b"', ["a", "b", "a,b"]) == ["a,b"]
