"""How a form shows the tables of the manifest: the inputs of each field, their places, their words.

All of it comes of the tables' entries, so a field that is added there is in the form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from markupsafe import Markup

from hushpoll_server.dashboard.drafts.fields import (
    MOST_LINES,
    Fields,
    Read,
    lines,
    number,
    shown,
    shown_lines,
)
from hushpoll_server.dashboard.forms import Field, Form
from hushpoll_shared.drafts.fields import TIME, FormInput, ManifestField, Place

LAST: Final = 99
"""The row of a part in which inputs without a place stand."""

# As a browser's own field for a moment gives it, which leaves seconds of 0 out.
MOMENT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})(:[0-9]{2})?")


def moment_of(text: str) -> str | None:
    """Return a moment as a browser's own field shows it; None where it shows another or none."""
    moment = text.removesuffix("Z")
    if moment == text or not MOMENT.fullmatch(moment):
        return None
    try:
        datetime.fromisoformat(moment)
    except ValueError:  # the 31st of February, which such a field leaves out
        return None
    return moment


@dataclass(frozen=True, kw_only=True)
class Input(Field):
    """One field of a draft's form as a page shows it."""

    elsewhere: object = None
    """What it cannot show, and a manifest has."""


@dataclass(frozen=True, slots=True)
class Control:
    """How a form shows one input of the manifest's table, and what it gives back."""

    name: str
    declared: FormInput
    place: Place
    members: tuple[str, ...]
    """Those of the manifest that it shows, by itself or with other inputs."""
    alone: bool
    """Whether it shows its member by itself."""
    leads: bool
    """Whether it is the first of its member's inputs, beside which problems are told."""
    kind: str
    """``choice``, ``switch``, ``moment``, ``lines``, ``list``, ``decimal``, ``numeric`` or
    ``text``."""
    words: tuple[tuple[str, str], ...]
    """Of a choice or a switch: what may be chosen, and what it is called."""
    values: tuple[str, ...] = ()
    """Words that a manifest has as they are; the first holds where it has none."""
    always: bool = False
    """Whether a manifest has it also where its word is the first."""

    @classmethod
    def of(cls, entry: ManifestField, place: Place, members: tuple[str, ...]) -> Control:
        """Return the control of a field that has a label."""
        forms = [entry.form, *_list(entry.form.get("anyOf"))]
        listed = [str(word) for form in forms for word in _list(form.get("enum"))]
        values = (*(() if "" not in entry.called else ("",)), *listed)
        words = {**entry.called} | {word: word for word in values if word not in entry.called}
        types = [form.get("type") for form in forms]
        kinds = {
            "switch": "boolean" in types,
            "choice": bool(words),
            "moment": entry.form.get("pattern") == TIME,
            "numeric": "integer" in types,
            "decimal": "number" in types,
            "list": "array" in types,
            "lines": entry.has_lines,
        }
        kind = next((kind for kind, is_one in kinds.items() if is_one), "text")
        choices = tuple(words.items())
        return cls(
            entry.name, entry, place, members, True, True, kind, choices, values, entry.required
        )

    def text(self, value: object) -> str | None:
        """Return a member of a manifest as the control's text; None where it cannot show it."""
        if self.kind in ("switch", "choice") and value is None:
            return self.words[0][0]
        if self.kind == "switch":
            return self.words[int(value)][0] if isinstance(value, bool) else None
        if self.kind == "choice":
            return value if isinstance(value, str) and value in self.values else None
        if self.kind == "list":
            return shown_lines(value, MOST_LINES)
        return shown(value)

    def member(self, text: str) -> object:
        """Return the member of a manifest that a text gives; None where it has none."""
        first = self.words[0][0] if self.words and not self.always else ""
        if text in ("", first):
            return None
        if self.kind == "switch":
            return True if text == self.words[-1][0] else None
        if self.kind == "moment":
            moment = MOMENT.fullmatch(text)
            return f"{moment[1]}{moment[2] or ':00'}Z" if moment else text
        if self.kind == "list":
            return lines(text) or None
        return number(text) if self.kind == "numeric" else text

    def kept(self, fields: Fields) -> object:
        """Return what a manifest has that its inputs cannot show; None if they can."""
        return next((fields.kept[name] for name in self.members if name in fields.kept), None)

    def is_used(self, fields: Fields) -> bool:
        """Whether a manifest says something by it."""
        unused = ("", self.words[0][0] if self.words else "")
        return self.kept(fields) is not None or fields.texts.get(self.name, "") not in unused

    def input(self, fields: Fields, at: str) -> Input:
        """Return the field of a page, in the part of the form whose names begin with `at`."""
        declared, value = self.declared, fields.texts.get(self.name, "")
        least = declared.lines or (2 if self.kind in ("lines", "list") else 0)
        hinted = declared.hint_where
        told = hinted is None or bool(fields.texts.get(hinted[0])) == hinted[1]
        attributes: dict[str, object] = {"placeholder": declared.placeholder}
        kind = "text"
        if self.kind in ("numeric", "decimal"):
            attributes["inputmode"] = self.kind
        if self.kind == "moment":
            local = moment_of(value) if value else ""
            if local is None:
                attributes["placeholder"] = "2027-01-31T09:00:00Z"
            else:
                kind, value, attributes["step"] = "datetime-local", local, 1
        return Input(
            name=f"{at}-{self.name}",
            label=declared.label,
            hint=declared.hint if told else "",
            value=value,
            options=[word if word == said else (word, said) for word, said in self.words] or None,
            lines=least and min(max(value.count("\n") + 2, least), 12),
            type=kind,
            attributes=attributes,
            elsewhere=self.kept(fields),
        )


@dataclass(frozen=True)
class FormTable:
    """A table of the manifest as a form shows it."""

    entries: dict[str, ManifestField]
    controls: dict[str, Control]

    @classmethod
    def of(cls, table: Iterable[ManifestField], rest: str) -> FormTable:
        """Return the inputs of a table; those without a place stand last in the part `rest`."""
        entries = {entry.name: entry for entry in table}
        controls: dict[str, Control] = {}
        for entry in entries.values():
            inputs = entry.parts or ({entry.name: entry} if entry.label else {})
            others = [one.name for one in entries.values() if one.beside in inputs and one.beside]
            members, last = (entry.name, *others), Place(rest, LAST)
            if entry.label:
                controls[entry.name] = Control.of(entry, entry.place or last, members)
            for name, part in entry.parts.items():
                leads = not entry.label and name == next(iter(entry.parts))
                words = tuple(part.called.items())
                kind = part.kind or "text"
                place = part.place or last
                controls[name] = Control(name, part, place, members, False, leads, kind, words)
        return cls(entries, controls)

    def title(self, member: str, *, within: bool = False) -> str:
        """Return what a list of problems calls a member; `within` a sentence or after a comma."""
        entry = self.entries.get(member)
        if entry is None or entry.title:
            return member if entry is None else entry.title
        label = entry.label or member
        return f"{label[:1].lower()}{label[1:]}" if within else label

    def subjects(self) -> dict[str, str]:
        """Return what sentences call members and what is in them, by the paths of both."""
        return {
            path: one.subject
            for entry in self.entries.values()
            for path, one in (
                (entry.name, entry),
                *((f"{entry.name}.{part.key or name}", part) for name, part in entry.parts.items()),
            )
            if one.subject
        }

    def unseen(self, fields: Fields) -> list[str]:
        """Return the members of a manifest that have no input."""
        seen = {name for control in self.controls.values() for name in control.members}
        return [name for name in fields.kept if name not in seen]

    def beside(self, member: str) -> str:
        """Return the input beside which problems of a member are told; empty if it has none."""
        led = (one.name for one in self.controls.values() if one.leads and member in one.members)
        return next(led, "")


class DraftForm(Form):
    """A draft's form, in which all problems stand, each beside its field."""

    of_faulty: Mapping[str, object] = {}

    def __init__(self, faults: Mapping[str, list[str]]) -> None:
        super().__init__("")
        self._faults = faults

    def text(self, name: str, default: object = "") -> object:
        """Return the text of a field, which the page's manifest has."""
        del name
        return default

    def fault_id(self, name: str) -> str:
        """Return the id of what is told after a field; empty if nothing is."""
        return f"{name}-fault" if self._faults.get(name) else ""

    def told(self, name: str, *, always: bool = False) -> Markup:
        """Return the problems of a field; with `always` also an element for those to come."""
        problems = self._faults.get(name, [])
        if not problems and not always:
            return Markup("")
        lines = Markup("").join(map(Markup('<p class="fault"><bdi>{}</bdi></p>').format, problems))
        return Markup('<div class="faults" id="{}-fault">{}</div>').format(name, lines)


class Layout:
    """The inputs of a form in their places: rows of each of its parts."""

    def __init__(self, *tables: FormTable) -> None:
        inputs = [control for table in tables for control in table.controls.values()]
        inputs.sort(key=lambda one: (one.place.part, one.place.row, one.place.column))
        self._rows: dict[str, list[list[Control]]] = {}
        for (part, _), row in groupby(inputs, key=lambda one: (one.place.part, one.place.row)):
            self._rows.setdefault(part, []).append(list(row))

    def rows(self, part: str, fields: Fields, at: str) -> Iterator[tuple[bool, list[Input]]]:
        """Yield the rows of a part, and whether their columns are narrow.

        Of members that it cannot show, it has the first input alone.
        """
        for row in self._rows.get(part, ()):
            inputs = [one.input(fields, at) for one in row if one.leads or one.kept(fields) is None]
            if inputs:
                yield any(one.place.narrow for one in row), inputs

    def used(self, part: str, fields: Fields) -> bool:
        """Whether a manifest says something by a part."""
        return any(one.is_used(fields) for row in self._rows.get(part, ()) for one in row)

    def at_fault(self, part: str, faults: Iterable[str], at: str) -> bool:
        """Whether something is wrong with an input of a part."""
        wrong = set(faults)
        return any(f"{at}-{one.name}" in wrong for row in self._rows.get(part, ()) for one in row)


def take(rest: dict[str, object], fields: Fields, controls: Mapping[str, Control]) -> None:
    """Move the members that controls can show by themselves from a document into fields."""
    for name, control in controls.items():
        told = control.text(rest.get(name)) if control.alone else None
        if told is not None:
            fields.texts.setdefault(name, told)
            rest.pop(name, None)


def given_members(read: Read, controls: Mapping[str, Control]) -> dict[str, object]:
    """Return the members that the fields of a form give by themselves."""
    alone = {name: control for name, control in controls.items() if control.alone}
    members = {name: control.member(read(name)) for name, control in alone.items()}
    return {name: member for name, member in members.items() if member is not None}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
