"""Rows of a sheet of an XLSForm, by the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hushpoll_shared.importing.form_members import FormMembers
from hushpoll_shared.importing.workbook import letters

MEDIA: Final = ("image", "big-image", "audio", "video")
_ALIASES: Final = {
    "list name": "list_name", "caption": "label", "command": "type", "tag": "name",
    "value": "name", "relevance": "relevant", "read_only": "readonly",
    "choice filter": "choice_filter", "calculate": "calculation", "repeat count": "repeat_count",
    "constraint message": "constraint_message", "required message": "required_message",
    "form title": "form_title", "set form title": "form_title", "title": "form_title",
    "id_string": "form_id", "form id": "form_id", "set form id": "form_id", "id": "form_id",
    "default language": "default_language",
}  # fmt: skip
_PREFIXES: Final = ("bind::", "bind:", "control::", "control:", "body::", "jr:")
_TRANSLATED: Final = ("label", "hint", "form_title", *MEDIA)
_SEARCHED: Final = 20
"""Rows of a sheet in which its header is looked for."""


@dataclass(frozen=True)
class Row:
    """One row by its columns' names, and the texts that languages have."""

    given: FormMembers
    """Cells by ``name``; those of translated columns by ``name::language``."""
    languages: Mapping[str, tuple[str, ...]]
    """In which languages a translated column stands, in the file's order."""
    where: str
    """The sheet and the row's number, as a program of spreadsheets shows it."""

    def get(self, name: str) -> str:
        """Return a cell's text; an empty one where there is none."""
        return self.given.text(name)

    def texts(self, name: str) -> dict[str, str]:
        """Return the texts of a column in each language that has one."""
        found = {one: self.get(f"{name}::{one}") for one in self.languages.get(name, ())}
        return {language: text for language, text in found.items() if text}

    def has_media(self) -> bool:
        """Whether there is a picture or a recording."""
        # All of them are looked at, so that the report names each as read.
        found = [name for name in MEDIA if self.texts(name)]
        return bool(found)


def column(heading: str) -> tuple[str, str]:
    """Return the name of a column and its language, of ``label::English (en)`` and older forms."""
    text = heading.strip()
    for prefix in _PREFIXES:
        if text.lower().startswith(prefix):
            text = text[len(prefix) :].strip()
    name, _, language = text.partition(":")
    name = " ".join(name.strip().lower().split())
    language = language.lstrip(":").strip()
    if name == "media":  # media::image, or media::image::English (en)
        name, _, language = language.partition(":")
        return name.strip().lower(), language.lstrip(":").strip()
    return _ALIASES.get(name, name), language


def header(rows: list[list[str]], *, first: bool = False) -> int | None:
    """Return the place, from 0, of the row with the columns' names; of settings the `first` one."""
    if first:
        return next((place for place, row in enumerate(rows) if any(row)), None)
    for place, row in enumerate(rows[:_SEARCHED]):
        names = {column(cell)[0] for cell in row}
        if {"type", "name"} <= names or {"list_name", "name"} <= names:
            return place
    return None


def table(rows: list[list[str]], title: str, *, first: bool = False) -> list[Row]:
    """Return the rows of a sheet that have something below its header."""
    at = header(rows, first=first)
    if at is None:
        return []
    columns: list[tuple[str, str]] = []  # the name of each cell, and what the file calls it
    languages: dict[str, list[str]] = {}
    for place, heading in enumerate(rows[at]):
        name, language = column(heading)
        called = " ".join(heading.split())
        key = f"{name}::{language}" if language or name in _TRANSLATED else name
        if not name or any(key == known for known, _ in columns):
            called = f"{called} (column {letters(place)})".strip()
            key = f"#{place}"
        elif name in _TRANSLATED:
            languages.setdefault(name, []).append(language)
        columns.append((key, called))
    spoken = {name: tuple(found) for name, found in languages.items()}
    known = dict(columns)
    found = []
    for number, row in enumerate(rows[at + 1 :], start=at + 2):
        if not any(row):
            continue
        cells = {key: cell for (key, _), cell in zip(columns, row, strict=False) if cell}
        beyond = range(len(columns), len(row))
        cells |= {f"#{place}": row[place] for place in beyond if row[place]}
        names = {**known, **{f"#{place}": f"(column {letters(place)})" for place in beyond}}
        found.append(Row(FormMembers(cells, names), spoken, f"{title}, row {number}"))
    return found


def above(rows: list[list[str]], title: str) -> list[str]:
    """Return what stands above the header of a sheet, or instead of one, as sentences."""
    at = header(rows)
    if at is None:
        if not any(map(any, rows)):
            return []
        return [
            f"The sheet {title!r} is left out: none of its first {_SEARCHED} rows has the columns "
            "list_name and name."
        ]
    lost = [str(number) for number, row in enumerate(rows[:at], start=1) if any(row)]
    return (
        [f"Above the header of the sheet {title!r} is left out: row {', '.join(lost)}."]
        if (lost)
        else []
    )
