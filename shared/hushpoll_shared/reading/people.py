"""People who are invited by mail: their tables, and what an address and a name may be.

A mail goes to what stands here, so everything is checked before anything is sent. An address is
what every mail server takes: letters, digits and marks of ASCII before the ``@``, a host name
after it. A line break, in which a header of its own could follow, is in none of the fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.table_reader import Row, TableReader, open_table
from hushpoll_shared.spelling.nearest import remedy_for
from hushpoll_shared.spelling.text import check_text, show

COLUMNS: Final = ("address", "name", "language")
"""The columns of a table of people; the first one has to be there."""
LONGEST_NAME: Final = 100
LONGEST_ADDRESS: Final = 254

_LOCAL: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL: Final = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST: Final = re.compile(rf"{_LABEL}(\.{_LABEL})+")


@dataclass(frozen=True, repr=False)
class Person:
    """One person who is invited; the repr shows nothing."""

    address: str
    """An address of mail: at most `LONGEST_ADDRESS` characters of ASCII."""
    name: str | None = None
    """At most `LONGEST_NAME` characters on one line."""
    language: str | None = None
    """Tag of one of the survey's languages."""

    def __repr__(self) -> str:
        return "<person, not shown>"

    @property
    def key(self) -> str:
        """What is the same for two spellings of one address."""
        return self.address.lower()

    def to_dict(self) -> dict[str, str]:
        """Return the members that the person has."""
        members = {"address": self.address, "name": self.name, "language": self.language}
        return {name: value for name, value in members.items() if value is not None}


def person(members: Mapping[str, str | None], languages: Sequence[str]) -> Person:
    """Return a person, checked, from ``address``, and ``name`` and ``language`` where known."""
    address = members.get("address") or ""
    if why := _fault_of(address):
        raise InvalidParameter(f"the address is {show(address)}; {why}", field="address")
    name = members.get("name") or None
    if name is not None:
        check_text(name, field="name", longest=LONGEST_NAME)
    language = members.get("language") or None
    if language is not None and language not in languages:
        stated = ", ".join(languages) or "not stated in its manifest"
        raise InvalidParameter(
            f"the language is {show(language)}, and the survey's languages are {stated}"
            f"{remedy_for(language, languages) if languages else ': leave it empty'}",
            field="language",
        )
    return Person(address, name, language)


def check_different(people: Iterable[tuple[str, Person]]) -> None:
    """Refuse two people with one address; each comes with its place, such as ``row 3``."""
    places: dict[str, str] = {}
    for place, one in people:
        if one.key in places:
            raise InvalidParameter(
                f"the address {show(one.address)} is in {places[one.key]} and again in {place}, "
                "and each address gets one invitation; remove one",
                field="address",
            )
        places[one.key] = place


def read_people(
    source: Path | bytes,
    languages: Sequence[str],
    *,
    most: int,
    name: str | None = None,
    field: str = "from",
) -> list[Person]:
    """Read a CSV of people: a column `address`, and `name` and `language` where they are known.

    Refuses more than `most`, and any row that is none; errors call the file `name`.
    """
    found: list[tuple[str, Person]] = []
    with open_table(source, field=field, name=name) as table:
        _check_columns(table)
        for row in table.rows():
            found.append((row.place, _person_of(table, row, languages)))
            if len(found) > most:
                raise table.refusal(
                    f"has more than {most:,} people; split it, and invite each part"
                )
    if not found:
        raise table.refusal("has a header and no row; give a row for each person")
    try:
        check_different(found)
    except InvalidParameter as error:
        raise InvalidParameter(f"{table.name}: {error}", field=field) from None
    return [one for _, one in found]


def _check_columns(table: TableReader) -> None:
    if COLUMNS[0] not in table.header:
        raise table.refusal(
            f"has no column {show(COLUMNS[0])}, and its columns are {', '.join(table.header)}; "
            "name the one with the addresses so"
        )
    for column in table.header:
        if column not in COLUMNS:
            raise table.refusal(
                f"has a column {show(column)}, and a table of people has "
                f"{', '.join(COLUMNS)}{remedy_for(column, COLUMNS)}; rename or remove it"
            )


def _person_of(table: TableReader, row: Row, languages: Sequence[str]) -> Person:
    members: dict[str, str | None] = dict(zip(table.header, row.cells, strict=True))
    try:
        return person(members, languages)
    except InvalidParameter as error:
        raise table.refused(row, str(error.field), str(error)) from None


def _fault_of(address: str) -> str | None:
    """Return what is wrong with an address, and the remedy; None if nothing is."""
    if not address:
        return "give one to each person, or remove the row"
    if address != address.strip():
        return "remove the blanks around it"
    if not address.isascii():
        return (
            "write it in ASCII, its host in the form that begins with xn--; many mail servers take "
            "no other"
        )
    local, at, host = address.rpartition("@")
    if not at:
        return "an address has an @; correct it"
    if any(mark in address for mark in ",;") or any(ord(mark) <= ord(" ") for mark in address):
        return "give one address, without blanks, commas or line breaks"
    if len(address) > LONGEST_ADDRESS or len(local) > 64 or not _LOCAL.fullmatch(local):
        return (
            "before the @ are 1 to 64 letters, digits and marks without quotes, and no point at "
            "an end or beside another; correct it"
        )
    if not _HOST.fullmatch(host):
        return "after the @ is a host name such as example.org; correct it"
    return None
