"""Reads an XLSForm (xlsform.org), the workbook of ODK, Kobo, SurveyCTO, Ona and others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from hushpoll_shared.importing.conditions import (
    COUNT,
    Condition,
    NotUnderstood,
    both,
    limits,
    parse,
)
from hushpoll_shared.importing.language_names import tag_of
from hushpoll_shared.importing.questionnaire import (
    UNNAMED,
    Choice,
    Dropped,
    Kind,
    Question,
    Questionnaire,
    Words,
)
from hushpoll_shared.importing.workbook import Sheets, refused

_FREE_TEXT: Final = (
    "It asks for free text, which cannot be randomised so that shares are left; "
    "ask it as a choice, or elsewhere."
)
_NOTHING_ASKED: Final = "It asks nothing, and a survey here has questions alone."
_BY_ITSELF: Final = (
    "It is filled in by the device; here nothing is sent that a respondent has not seen."
)
_FILE: Final = "It asks for a file, which cannot be randomised."
_PLACE: Final = "It asks for a place on a map; ask for a region as a choice."
_MOMENT: Final = "It asks for a date or a time; ask for a year or a period as a choice."
_ELSEWHERE: Final = "Its choices stand in another file; put them on the sheet of choices."
_DROPPED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("text", "string", "phone number", "add text prompt", "email"), _FREE_TEXT),
    **dict.fromkeys(("note", "add note prompt", "acknowledge", "trigger"), _NOTHING_ASKED),
    **dict.fromkeys(
        ("calculate", "hidden", "start", "end", "today", "deviceid", "device id", "subscriberid",
         "subscriber id", "simserial", "sim id", "phonenumber", "username", "email_address",
         "start time", "end time", "audit", "imei", "background-audio", "start-geopoint",
         "xml-external", "csv-external", "caseid", "comments", "entity"),
        _BY_ITSELF,
    ),
    **dict.fromkeys(
        ("image", "photo", "audio", "video", "file", "barcode", "add image prompt"), _FILE
    ),
    **dict.fromkeys(("geopoint", "geotrace", "geoshape", "location", "gps"), _PLACE),
    **dict.fromkeys(("date", "time", "datetime", "dateTime", "add date prompt"), _MOMENT),
}  # fmt: skip
_CHOOSES: Final = re.compile(
    r"(?P<kind>select_one_from_file|select_multiple_from_file|select_one_external|select_one"
    r"|select_multiple|select one|select multiple|select1|select all that apply|rank"
    r"|add select one prompt|add select multiple prompt)"
    r"\s+(?:from\s+|using\s+)?(?P<list>.+?)(?P<other>\s+(?:or[ _]other|or specify other))?",
    re.IGNORECASE,
)
_WHOLE: Final = ("integer", "int", "add integer prompt")
_FRACTIONS: Final = ("decimal", "add decimal prompt")
_BEGINS: Final = re.compile(r"begin[ _](group|repeat|loop|lgroup)(?:.*)", re.IGNORECASE)
_ENDS: Final = re.compile(r"end[ _](group|repeat|loop|lgroup)(?:.*)", re.IGNORECASE)
_ALIASES: Final = {
    "list name": "list_name", "caption": "label", "command": "type", "tag": "name",
    "value": "name", "relevance": "relevant", "read_only": "readonly",
    "choice filter": "choice_filter",
}  # fmt: skip
_MEDIA: Final = ("image", "big-image", "audio", "video")
_NO: Final = ("", "no", "false", "false()", "0", "n")
_READ: Final = frozenset(
    {"type", "name", "label", "hint", "required", "relevant", "constraint", "appearance",
     "choice_filter", "calculation", "default", "parameters", "repeat_count", *_MEDIA}
)  # fmt: skip
"""Columns of questions of which the reader says what has become of them."""
_ELSEWHERE_SEARCHED: Final = (
    "Its choices come from another file by search(); put them on the sheet of choices."
)
_HEADS_A_TABLE: Final = (
    "It shows the labels of its choices above the questions that follow, and asks nothing."
)
_TRANSLATED: Final = (
    "label", "hint", "form_title", "guidance_hint", "constraint_message", "required_message",
    *_MEDIA,
)  # fmt: skip
_YES: Final = ("yes", "true", "true()", "1", "y")
_REFERENCE: Final = re.compile(r"\$\{[^{}]*\}")
_OTHER: Final = {"": "Other", "en": "Other", "de": "Anderes", "fr": "Autre", "es": "Otro"}


def is_xlsform(sheets: Sheets) -> bool:
    """Whether sheets have a table of questions, each with its type."""
    return _survey_sheet(sheets) is not None


@dataclass(frozen=True)
class _Row:
    """One row by its column's name, and the texts that languages have."""

    cells: Mapping[str, str]
    words: Mapping[str, Mapping[str, str]]
    where: str

    def get(self, name: str) -> str:
        return self.cells.get(name, "")

    def has(self, name: str) -> bool:
        """Whether there is something in a column, in some language."""
        return bool(self.get(name) or self.texts(name))

    def texts(self, name: str) -> dict[str, str]:
        return {language: text for language, text in self.words.get(name, {}).items() if text}


@dataclass(frozen=True)
class _Group:
    """What the questions between a begin and an end have in common."""

    name: str
    words: Words
    condition: Condition | None
    lost_condition: str
    repeats: bool
    where: str


def read_xlsform(sheets: Sheets, *, name: str) -> Questionnaire:
    """Return the questions of an XLSForm.

    Parameters
    ----------
    sheets : mapping
        See :func:`~hushpoll_shared.importing.workbook.read_sheets`.
    name : str
        Of the file, for errors and for a form without an id.

    Raises
    ------
    InvalidParameter
        If it has no table of questions, or groups that do not begin and end in pairs.
    """
    title = _survey_sheet(sheets)
    if title is None:
        raise refused(
            name,
            "has no sheet 'survey' with the columns type and name",
            "give an XLSForm, or a survey of SurveyJS as JSON",
        )
    rows = _table(sheets[title], title)
    lists, said = _choices(sheets)
    settings = next(iter(_table(sheets.get("settings", []), "settings")), _Row({}, {}, ""))
    groups: list[_Group] = []
    parts: list[Question | Dropped] = []
    for row in rows:
        kind = " ".join(row.get("type").split())
        if not kind:
            reason = "It has no type; give it one in the column type, or remove the row."
            parts.append(Dropped(row.get("name") or row.where, row.where, reason))
            continue
        if _BEGINS.fullmatch(kind):
            groups.append(_group(row, repeats="group" not in kind.lower()))
        elif _ENDS.fullmatch(kind):
            if not groups:
                raise refused(
                    name, f"ends a group in {row.where} that none began", "remove the row"
                )
            groups.pop()
        else:
            parts.append(_part(row, kind, lists, said, groups))
    if groups:
        raise refused(
            name,
            f"never ends the group that begins in {groups[-1].where}",
            "add a row 'end group'",
        )
    form_title = {
        **settings.texts("form_title"),
        **({UNNAMED: settings.get("form_title")} if settings.get("form_title") else {}),
    }
    return Questionnaire(
        name=settings.get("form_id") or settings.get("form_title") or name.rpartition(".")[0],
        title=form_title,
        language=settings.get("default_language")
        if settings.get("default_language") not in ("", "false", "true")
        else None,
        parts=tuple(parts),
        notes=(*_unread(sheets, title), *_unread_settings(settings)),
    )


def _survey_sheet(sheets: Sheets) -> str | None:
    """Return the sheet of the questions: that called survey, or the only one."""
    names = ["survey"] if "survey" in sheets else list(sheets) if len(sheets) == 1 else []
    return next((one for one in names if _header(sheets[one]) is not None), None)


def _header(rows: list[list[str]]) -> int | None:
    for position, row in enumerate(rows[:20]):
        names = {_column(cell)[0] for cell in row}
        if {"type", "name"} <= names or {"list_name", "name"} <= names:
            return position
    return None


def _column(header: str) -> tuple[str, str]:
    """Return the name of a column and its language, of ``label::English (en)`` and older forms."""
    text = header.strip()
    for prefix in ("bind::", "bind:", "control::", "control:", "body::", "jr:"):
        if text.lower().startswith(prefix):
            text = text[len(prefix) :].strip()
    name, _, language = text.partition(":")
    name = " ".join(name.strip().lower().split())
    language = language.lstrip(":").strip()
    if name == "media":  # media::image, or media::image::English (en)
        name, _, language = language.partition(":")
        return name.strip().lower(), language.lstrip(":").strip()
    return _ALIASES.get(name, name), language


def _table(rows: list[list[str]], title: str) -> list[_Row]:
    if title == "settings":
        at: int | None = next((n for n, row in enumerate(rows) if any(row)), None)
    else:
        at = _header(rows)
    if at is None:
        return []
    columns = [_column(cell) for cell in rows[at]]
    found = []
    for number, row in enumerate(rows[at + 1 :], start=at + 2):
        cells: dict[str, str] = {}
        words: dict[str, dict[str, str]] = {}
        for (name, language), cell in zip(columns, row, strict=False):
            if name in _TRANSLATED and (language or name in ("label", "hint")):
                words.setdefault(name, {}).setdefault(language, cell)
            elif cell and name:
                cells.setdefault(name, cell)
        if cells or any(any(texts.values()) for texts in words.values()):
            found.append(_Row(cells, words, f"{title}, row {number}"))
    return found


def _choices(sheets: Sheets) -> tuple[dict[str, list[Choice]], dict[str, list[str]]]:
    """Return the lists of choices, and what of each list is left out, as sentences."""
    lists: dict[str, list[Choice]] = {}
    said: dict[str, list[str]] = {}
    for title in ("choices", "choices and columns", "columns"):
        for row in _table(sheets.get(title, []), title):
            code, of = row.get("name"), row.get("list_name")
            if not of:
                continue
            known, notes = lists.setdefault(of, []), said.setdefault(of, [])
            if not code:
                words = next(iter(row.texts("label").values()), "")
                notes.append(f"A choice {words!r} in {row.where} has no name, and is left out.")
            elif any(code == one.code for one in known):
                notes.append(f"The code {code!r} stands again in {row.where}; the first is taken.")
            else:
                known.append(Choice(code, row.texts("label")))
            pictures = "Pictures and recordings of its choices are left out."
            if any(row.has(column) for column in _MEDIA) and pictures not in notes:
                notes.append(pictures)
    return lists, said


def _group(row: _Row, *, repeats: bool) -> _Group:
    condition, lost = _relevance(row)
    return _Group(row.get("name"), row.texts("label"), condition, lost, repeats, row.where)


def _relevance(row: _Row) -> tuple[Condition | None, str]:
    text = row.get("relevant")
    if not text or text.lower() in _YES:
        return None, ""
    try:
        return parse(text), ""
    except NotUnderstood as error:
        return None, f"{text!r} ({error})"


def _part(
    row: _Row,
    kind: str,
    lists: Mapping[str, list[Choice]],
    said: Mapping[str, list[str]],
    groups: list[_Group],
) -> Question | Dropped:
    name = row.get("name") or row.where
    choosing = _CHOOSES.fullmatch(kind)
    words = row.texts("label")
    if not row.get("name"):
        return Dropped(name, row.where, "It has no name; give it one in the column name.")
    question = Question(
        name=name,
        where=row.where,
        kind=Kind.WHOLE,
        words=words,
        help=row.texts("hint"),
        required=row.get("required").lower() in _YES,
        section=next((one.words for one in reversed(groups) if one.words), None),
    )
    if choosing:
        made = _choosing(question, row, choosing, lists)
        if isinstance(made, Question):
            more = said.get(choosing["list"].strip(), [])
            made = replace(made, notes=(*made.notes, *more))
    elif kind.lower() in _WHOLE or kind.lower() in _FRACTIONS:
        made = _number(question, row, fractions=kind.lower() in _FRACTIONS)
    elif kind.lower() == "range":
        made = _range(question, row)
    else:
        reason = _DROPPED.get(kind.lower(), f"Its type {kind!r} has no form here.")
        made = Dropped(name, row.where, reason)
    return made if isinstance(made, Dropped) else _around(made, row, groups)


def _choosing(
    question: Question, row: _Row, match: re.Match[str], lists: Mapping[str, list[Choice]]
) -> Question | Dropped:
    kind, of = " ".join(match["kind"].lower().split()), match["list"].strip()
    if "file" in kind or "external" in kind:
        return Dropped(question.name, question.where, _ELSEWHERE)
    if kind == "rank":
        return Dropped(
            question.name,
            question.where,
            "It asks for an order of choices, which is no single answer; ask for the first choice.",
        )
    look = row.get("appearance").lower()
    if "search(" in look.replace(" ", ""):
        return Dropped(question.name, question.where, _ELSEWHERE_SEARCHED)
    if look.split() == ["label"]:
        return Dropped(question.name, question.where, _HEADS_A_TABLE)
    if of.startswith("${"):
        reason = f"Its choices are the answers to {of}, which are not known beforehand; list them."
        return Dropped(question.name, question.where, reason)
    if of not in lists:
        return Dropped(
            question.name,
            question.where,
            f"Its list of choices {of!r} is not in the file; add it to the sheet of choices.",
        )
    choices, notes = list(lists[of]), list(question.notes)
    if match["other"]:
        words = {
            language: _OTHER.get(tag_of(language) or "", _OTHER[""])
            for language in question.words or {UNNAMED: ""}
        }
        choices.append(Choice("other", words))
        notes.append("'Other' is one more choice; what is meant by it is not asked, as free text.")
    if row.get("choice_filter"):
        notes.append(
            f"The filter of its choices {row.get('choice_filter')!r} is left out: everybody reads "
            f"all {len(choices)}."
        )
    if "randomize=true" in row.get("parameters").lower().replace(" ", ""):
        notes.append("Its choices stand in the file's order; in the form each sees another.")
    if "list-nolabel" in look.split():
        notes.append("It is a row of a table, as a question of its own.")
    many = "multiple" in kind or "all that apply" in kind
    question = replace(
        question,
        kind=Kind.MANY if many else Kind.ONE,
        choices=tuple(choices),
        notes=tuple(notes),
        ordered=row.get("appearance").lower() in ("likert", "horizontal"),
    )
    if row.get("constraint"):
        try:
            low, high = limits(parse(row.get("constraint")), COUNT)
        except NotUnderstood:
            return _without_constraint(question, row)
        question = replace(
            question,
            at_least=None if low is None else int(low),
            at_most=None if high is None else int(high),
        )
    return question


def _without_constraint(question: Question, row: _Row) -> Question:
    note = f"Its constraint {row.get('constraint')!r} is left out."
    return replace(question, notes=(*question.notes, note))


def _number(question: Question, row: _Row, *, fractions: bool) -> Question:
    if fractions:
        note = "It becomes a whole number; in the form it may have decimals."
        question = replace(question, notes=(*question.notes, note))
    if not row.get("constraint"):
        return question
    try:
        low, high = limits(parse(row.get("constraint")))
    except NotUnderstood:
        return _without_constraint(question, row)
    return replace(question, low=low, high=high)


def _range(question: Question, row: _Row) -> Question | Dropped:
    given = dict(
        part.partition("=")[::2] for part in re.split(r"[\s,;]+", row.get("parameters")) if part
    )
    try:
        start, end, step = (
            float(given.get(key, default))
            for key, default in (("start", "1"), ("end", "10"), ("step", "1"))
        )
    except ValueError:
        return Dropped(
            question.name,
            question.where,
            f"Its parameters {row.get('parameters')!r} are no numbers start, end and step.",
        )
    if step == 1 and start.is_integer() and end.is_integer() and start < end:
        return replace(question, low=start, high=end, ordered=True)
    if step <= 0 or end <= start or (end - start) / step > 1000:
        return Dropped(question.name, question.where, "Its range has no steps that can be listed.")
    count = int((end - start) / step + 1e-9) + 1
    values = [f"{start + place * step:.10g}" for place in range(count)]
    return replace(
        question,
        kind=Kind.ONE,
        choices=tuple(Choice(value, {UNNAMED: value}) for value in values),
        ordered=True,
        notes=(*question.notes, f"Its steps of {step:g} become {count} choices."),
    )


def _around(question: Question, row: _Row, groups: list[_Group]) -> Question:
    """Return a question with what its own row and the groups around it say of it."""
    notes, undecided = list(question.notes), list(question.undecided)
    own, lost = _relevance(row)
    for text in (*(one.lost_condition for one in groups), lost):
        if text:
            undecided.append(f"It is asked of everybody: its condition {text} is not understood.")
    repeat = next((one for one in groups if one.repeats), None)
    if repeat is not None:
        undecided.append(
            f"It is asked once; in the form the group {repeat.name!r} is repeated, and a "
            "respondent answers here once, about one thing."
        )
    if _REFERENCE.search(" ".join(question.words.values())):
        undecided.append("Its words take in another answer, as ${...}; write them without it.")
    if row.get("calculation"):
        notes.append("Its calculation is left out.")
    if any(row.has(column) for column in _MEDIA):
        notes.append("Its picture or recording is left out.")
    required = row.get("required")
    if required.lower() not in (*_YES, *_NO):
        undecided.append(
            f"It may be skipped by everybody; in the form it must be answered if {required!r}."
        )
    others = sorted(name for name in {*row.cells, *row.words} - _READ if row.has(name))
    if others:
        notes.append(f"What stands in {', '.join(map(repr, others))} is left out.")
    if row.get("default"):
        notes.append("Its default is left out: nobody's answer is filled in.")
    return replace(
        question,
        condition=both([*(one.condition for one in groups), own]),
        notes=tuple(notes),
        undecided=tuple(undecided),
    )


def _unread(sheets: Sheets, survey: str) -> tuple[str, ...]:
    read = {survey, "choices", "settings", "columns", "choices and columns"}
    others = sorted(set(sheets) - read)
    if not others:
        return ()
    return (f"The sheets {', '.join(map(repr, others))} have no form here and are left out.",)


def _unread_settings(settings: _Row) -> tuple[str, ...]:
    read = {"form_title", "form_id", "id_string", "default_language", "version"}
    others = sorted(name for name in {*settings.cells, *settings.words} - read if name)
    if not others:
        return ()
    return (f"The settings {', '.join(map(repr, others))} have no form here and are left out.",)
