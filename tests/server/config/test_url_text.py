"""URLs whose password is not percent-encoded: refused, and no part of the password is shown."""

from __future__ import annotations

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.configuration import load
from hushpoll_server.config.url_text import read_url
from hushpoll_server.store.database import parse_url

AMBIGUOUS = [
    "a@SECRET", "a@SEC:RET", "a@SEC/RET", "a@SEC?RET", "a@h/d?SECRET", "a@SEC#RET", "@SECRET",
    "a@SEC%RET", "SEC@RET@", "a@[SECRET",
]  # fmt: skip
WHOLE = ["SEC/RET", "SEC%RET", "SEC#RET", "SEC?RET", "SEC:RET", "[SECRET]"]


@pytest.mark.parametrize("rest", ["/db", ":5432/db", "/db?sslmode=require"])
@pytest.mark.parametrize("password", AMBIGUOUS)
def test_password_whose_end_cannot_be_told_is_refused_without_a_part_of_it(password, rest):
    url = f"postgresql://user:{password}@db.example{rest}"
    with pytest.raises(InvalidParameter, match="@ is %40") as refused:
        parse_url(url)
    shown = load(flags={"database_url": url}, environment={}).shown()
    for part in ("SEC", "RET"):
        assert part not in str(refused.value)
        assert part not in shown
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


@pytest.mark.parametrize("password", WHOLE)
def test_password_with_other_characters_is_taken_whole(password):
    parsed = read_url(f"postgresql://user:{password}@db.example:5432/db")
    assert (parsed.password, parsed.host, parsed.port, parsed.database) == (
        password, "db.example", 5432, "db",
    )  # fmt: skip


def test_encoded_characters_are_decoded_and_others_may_stand_in_a_query():
    parsed = read_url("postgresql://u:a%40b%2Fc%25d%23@h/db?application_name=me@home")
    assert (parsed.password, parsed.host, parsed.query["application_name"]) == (
        "a@b/c%d#", "h", "me@home",
    )  # fmt: skip
    assert read_url("sqlite:///folder@home/file.sqlite").database == "folder@home/file.sqlite"
