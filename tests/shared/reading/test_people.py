"""Tables of people who are invited: what is wrong is named by row, column, value and remedy."""

from __future__ import annotations

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.people import Person, read_people


def read(text: str | bytes, *languages: str) -> list[Person]:
    content = text if isinstance(text, bytes) else text.encode()
    return read_people(content, languages, most=3, name="people.csv")


def test_columns_come_in_any_order_and_two_may_be_left_out() -> None:
    assert read("name,address\nAda,a@example.org\n") == [Person("a@example.org", "Ada")]
    assert read("address\na@example.org\n") == [Person("a@example.org")]
    table = "address,language,name\na@example.org,de,\n"
    assert read(table, "en", "de") == [Person("a@example.org", None, "de")]
    assert repr(Person("a@example.org", "Ada")) == "<person, not shown>"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("address,nme\na@example.org,A\n", "did you mean 'name'?"),
        ("name\nA\n", "no column 'address'"),
        ("email,name\na@example.org,A\n", "name the one with the addresses so"),
        ("Address\na@example.org\n", "no column 'address'"),
        ("address\n", "no row"),
        ("address\n\na@example.org\n", "row 1 (line 2), column address"),
        ("address,name\na@example.org,A\n,\n", "remove the row"),
        ("", "empty"),
        ("address;name\na@example.org;A\n", "semicolons"),
        ("address,name\na@example.org\n", "row 1 (line 2) has 1 value"),
        ("address\na@example.org\nb@example\n", "row 2 (line 3), column address"),
        ("address\nexample.org\n", "has an @"),
        ("address,name\n,A\n", "give one to each person"),
        ("address\n a@example.org\n", "blanks around it"),
        ("address\na..b@example.org\n", "no point at an end or beside another"),
        ('address\n"a@example.org, b@example.org"\n', "give one address"),
        ('address\n"a@example.org\nBcc: b@example.org"\n', "line breaks"),
        ('address,name\na@example.org,"A\nBcc: b@example.org"\n', "control characters"),
        ("address,name\na@example.org,A\u202e\n", "directional overrides"),
        ("address\nä@example.org\n", "write it in ASCII"),
        ("address\na@exämple.org\n", "xn--"),
        (b"address,name\na@example.org,\xe4\n", "no UTF-8"),
        ("address\na@example.org\nA@Example.org\n", "row 1 (line 2) and again in row 2"),
        ("address,language\na@example.org,fr\n", "give one of en, de"),
        ("address\n" + "".join(f"p{at}@example.org\n" for at in range(4)), "more than 3 people"),
        (f"address,name\na@example.org,{'x' * 101}\n", "1 to 100 characters"),
        (f"address\n{'a' * 65}@example.org\n", "1 to 64"),
    ],
)
def test_what_is_wrong_is_named(table: str | bytes, words: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        read(table, "en", "de")
    assert words in str(refused.value), str(refused.value)


def test_mark_of_an_editor_is_no_part_of_the_first_column() -> None:
    assert read(b"\xef\xbb\xbfaddress\r\na@example.org\r\n") == [Person("a@example.org")]


def test_language_of_a_survey_that_states_none_stays_empty() -> None:
    with pytest.raises(InvalidParameter, match="leave it empty"):
        read("address,language\na@example.org,en\n")
