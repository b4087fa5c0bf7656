"""Reads an XLSForm (xlsform.org), the workbook of ODK, Kobo, SurveyCTO, Ona and others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from hushpoll_shared.importing import left_out
from hushpoll_shared.importing.conditions import (
    COUNT,
    SELF,
    Condition,
    NotUnderstood,
    both,
    limits,
    parse,
)
from hushpoll_shared.importing.form_members import FormMembers, Looks, listed
from hushpoll_shared.importing.form_rows import Row, above, header, table
from hushpoll_shared.importing.languages import tag_of
from hushpoll_shared.importing.questionnaire import (
    UNNAMED,
    Choice,
    DroppedPart,
    Kind,
    Question,
    Questionnaire,
    Table,
    Words,
)
from hushpoll_shared.importing.workbook import Sheets, refused
from hushpoll_shared.spelling.text import show

_BY_ITSELF: Final = (
    "It is filled in by the device; here nothing is sent that a respondent has not seen."
)
_PLACE: Final = "It asks for a place on a map; ask for a region as a choice."
_ELSEWHERE: Final = "Its choices stand in another file; put them on the sheet of choices."
_DROPPED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("text", "string", "phone number", "add text prompt", "email"), left_out.FREE_TEXT
    ),
    **dict.fromkeys(("note", "add note prompt", "acknowledge", "trigger"), left_out.NOTHING_ASKED),
    **dict.fromkeys(
        ("calculate", "hidden", "start", "end", "today", "deviceid", "device id", "subscriberid",
         "subscriber id", "simserial", "sim id", "phonenumber", "username", "email_address",
         "start time", "end time", "audit", "imei", "background-audio", "start-geopoint",
         "xml-external", "csv-external", "caseid", "comments", "entity"),
        _BY_ITSELF,
    ),
    **dict.fromkeys(
        ("image", "photo", "audio", "video", "file", "barcode", "add image prompt"), left_out.FILE
    ),
    **dict.fromkeys(("geopoint", "geotrace", "geoshape", "location", "gps"), _PLACE),
    **dict.fromkeys(("date", "time", "datetime", "dateTime", "add date prompt"), left_out.MOMENT),
}  # fmt: skip
_CHOOSES: Final = re.compile(
    r"(?P<kind>select_one_from_file|select_multiple_from_file|select_one_external|select_one"
    r"|select_multiple|select one|select multiple|select1|select all that apply|rank"
    r"|add select one prompt|add select multiple prompt)"
    r"\s+(?:from\s+|using\s+)?(?P<list>.+?)(?P<other>\s+(?:or[ _]other|or specify other))?",
    re.IGNORECASE,
)
_CHOICES: Final = ("choices", "choices and columns", "columns")
"""Sheets of choices."""
_SCALES: Final = frozenset({"likert", "horizontal"})
"""Looks that show choices as a scale."""
_WHOLE: Final = ("integer", "int", "add integer prompt")
_FRACTIONS: Final = ("decimal", "add decimal prompt")
_BEGINS: Final = re.compile(r"begin[ _](group|repeat|loop|lgroup|score)(?:.*)", re.IGNORECASE)
_ENDS: Final = re.compile(r"end[ _](group|repeat|loop|lgroup|score)(?:.*)", re.IGNORECASE)
_NO: Final = ("", "no", "false", "false()", "0", "n")
_ELSEWHERE_SEARCHED: Final = (
    "Its choices come from another file by search(); put them on the sheet of choices."
)
_HEADS_A_TABLE: Final = (
    "It shows the labels of its choices above the questions that follow, and asks nothing."
)
_YES: Final = ("yes", "true", "true()", "1", "y")
_REFERENCE: Final = re.compile(r"\$\{[^{}]*\}")
_OTHER: Final = {"": "Other", "en": "Other", "de": "Anderes", "fr": "Autre", "es": "Otro"}


@dataclass
class _Group:
    """What the questions between a begin and an end have in common."""

    name: str
    words: Words
    condition: Condition | None
    lost_condition: str
    repeats: bool
    where: str
    is_table: bool = False
    shuffled: bool = False
    """Whether the order of its rows is drawn."""
    scores: str = ""
    """The list of choices of a group of scores, as Kobo has them."""
    heads: dict[str, Table] = field(default_factory=dict)
    """By its list of choices the table that a question of the look `label` begins."""
    used: bool = False


@dataclass
class _Form:
    """What a reader knows of a form before and beside its questions."""

    lists: Mapping[str, list[Choice]]
    said: Mapping[str, list[str]]
    notes: list[str]
    looks: Looks = field(default_factory=Looks)
    groups: list[_Group] = field(default_factory=lambda: [_Group("", {}, None, "", False, "")])
    asked: set[str] = field(default_factory=set)
    """Lists of choices that a question names."""

    def look(self, row: Row) -> set[str]:
        """Return the words of a row's look, in small letters."""
        return set(row.get("appearance").lower().split())

    def left(self, row: Row) -> tuple[str, ...]:
        """Return the columns of a row that nobody has read."""
        return row.given.unread()

    def of(self, what: str, row: Row) -> None:
        """Note what nobody has read of a row that is no question."""
        names = self.left(row)
        if names:
            self.notes.append(f"Of {what} is left out: {listed(names)}.")


def read_xlsform(sheets: Sheets, *, name: str) -> Questionnaire:
    """Return the questions of an XLSForm; `name` is for errors and for a form without an id."""
    title = _survey_sheet(sheets.rows)
    if title is None:
        raise refused(
            name,
            "has no sheet 'survey' with the columns type and name",
            "give an XLSForm, or a survey of SurveyJS as JSON",
        )
    notes = [*sheets.notes, *_unread(sheets.rows, title)]
    settings, *more = table(sheets.rows.get("settings", []), "settings", first=True) or [
        Row(FormMembers({}), {}, "")
    ]
    form_title = settings.texts("form_title")
    named = settings.get("form_id")
    language = settings.get("default_language")
    if language in ("", "false", "true"):
        language = ""
    others = settings.given.unread()
    if others:
        notes.append(f"The settings {listed(others)} have no form here and are left out.")
    notes += [f"A second row of settings is left out ({row.where})." for row in more]
    form = _Form(*_choices(sheets.rows, notes), notes)
    parts: list[Question | DroppedPart] = []
    for row in table(sheets.rows[title], title):
        part = _row(row, form, name)
        if part is not None:
            parts.append(part)
    if len(form.groups) > 1:
        raise refused(
            name,
            f"never ends the group that begins in {form.groups[-1].where}",
            "add a row 'end group'",
        )
    unused = sorted(set(form.lists) - form.asked)
    if unused:
        notes.append(f"Lists of choices that no question has are left out: {listed(unused)}.")
    return Questionnaire(
        name=named or next(iter(form_title.values()), "") or name.rpartition(".")[0],
        title=form_title,
        language=language or None,
        parts=tuple(parts),
        notes=(*notes, *form.looks.sentences()),
    )


def _survey_sheet(sheets: Mapping[str, list[list[str]]]) -> str | None:
    """Return the sheet of the questions: that called survey, or the only one."""
    names = ["survey"] if "survey" in sheets else list(sheets) if len(sheets) == 1 else []
    return next((one for one in names if header(sheets[one]) is not None), None)


def _choices(
    sheets: Mapping[str, list[list[str]]], notes: list[str]
) -> tuple[dict[str, list[Choice]], dict[str, list[str]]]:
    """Return the lists of choices, and what of each list is left out, as sentences."""
    lists: dict[str, list[Choice]] = {}
    codes: dict[str, set[str]] = {}
    said: dict[str, list[str]] = {}
    columns: dict[str, dict[str, None]] = {}
    for title in _CHOICES:
        for row in table(sheets.get(title, []), title):
            code, of = row.get("name"), row.get("list_name")
            texts, media, unread = row.texts("label"), row.has_media(), row.given.unread()
            words = next(iter(texts.values()), "")
            if not of:
                notes.append(f"The choice {words or code!r} in {row.where} is in no list.")
                continue
            known, told = lists.setdefault(of, []), said.setdefault(of, [])
            seen = codes.setdefault(of, set())
            columns.setdefault(of, {}).update(dict.fromkeys(unread))
            if not code:
                told.append(f"A choice {words!r} in {row.where} has no name, and is left out.")
            elif code in seen:
                told.append(f"The code {code!r} stands again in {row.where}; the first is taken.")
            else:
                seen.add(code)
                known.append(Choice(code, texts))
            pictures = "Pictures and recordings of its choices are left out."
            if media and pictures not in told:
                told.append(pictures)
    for of, names in columns.items():
        if names:
            said[of].append(f"Of its choices is left out: {listed(names)}.")
    return lists, said


def _row(row: Row, form: _Form, name: str) -> Question | DroppedPart | None:
    """Return what a row of the survey asks; None of one that begins or ends a group."""
    kind = " ".join(row.get("type").split())
    if not kind:
        reason = "It has no type; give it one in the column type, or remove the row."
        return DroppedPart(row.get("name") or row.where, row.where, reason)
    if _BEGINS.fullmatch(kind):
        form.groups.append(_group(row, kind.lower(), form))
        return None
    if _ENDS.fullmatch(kind):
        if len(form.groups) == 1:
            raise refused(name, f"ends a group in {row.where} that none began", "remove the row")
        row.get("name")
        form.of(f"the end of a group ({row.where})", row)
        ended = form.groups.pop()
        if ended.words and not ended.used:
            form.notes.append(
                f"The heading {show(next(iter(ended.words.values())))} ({ended.where}) is left "
                "out: no question stands below it alone."
            )
        return None
    return _part(row, kind, form)


def _group(row: Row, kind: str, form: _Form) -> _Group:
    condition, lost = _relevance(row)
    look = form.look(row)
    is_table = "table-list" in look or "score" in kind
    scores = row.get("kobo--score-choices") if "score" in kind else ""
    form.asked.add(scores)
    form.looks.add(f"appearance {one}" for one in look - {"table-list"})
    # what a group of another kind, or another parameter, has is left out, and named
    parameters = _parameters(row) if is_table else {}
    shuffled = parameters.pop("randomize", "").lower() in _YES
    if parameters:
        form.notes.append(
            f"Of the parameters of the table in {row.where} is left out: {listed(parameters)}."
        )
    made = _Group(
        row.get("name"),
        row.texts("label"),
        condition,
        lost,
        repeats="repeat" in kind or "loop" in kind,
        where=row.where,
        is_table=is_table,
        shuffled=shuffled,
        scores=scores,
    )
    form.of(f"the group {show(made.name or row.where)} ({row.where})", row)
    return made


def _relevance(row: Row) -> tuple[Condition | None, str]:
    text = row.get("relevant")
    if not text or text.lower() in _YES:
        return None, ""
    try:
        return parse(text), ""
    except NotUnderstood as error:
        return None, f"{text!r} ({error})"


def _part(row: Row, kind: str, form: _Form) -> Question | DroppedPart:
    name = row.get("name") or row.where
    choosing = _CHOOSES.fullmatch(kind)
    inner = form.groups[-1]
    if inner.scores and kind.lower() in ("score__row", "score row"):
        choosing = _CHOOSES.fullmatch(f"select_one {inner.scores}")
    if choosing:
        form.asked.add(choosing["list"].strip())
    if not row.get("name"):
        return DroppedPart(name, row.where, "It has no name; give it one in the column name.")
    question = Question(
        name=name,
        where=row.where,
        kind=Kind.WHOLE,
        words=row.texts("label"),
        help=row.texts("hint"),
        required=row.get("required").lower() in _YES,
    )
    if choosing:
        made = _choosing(question, row, choosing, form)
        if isinstance(made, Question):
            made = made.with_notes(*form.said.get(choosing["list"].strip(), []))
    elif kind.lower() in _WHOLE or kind.lower() in _FRACTIONS:
        made = _number(question, row, fractions=kind.lower() in _FRACTIONS)
    elif kind.lower() == "range":
        made = _range(question, row)
    else:
        reason = _DROPPED.get(kind.lower(), f"Its type {kind!r} has no form here.")
        made = DroppedPart(name, row.where, reason)
    return made if isinstance(made, DroppedPart) else _around(_headed(made, form), row, form)


def _headed(question: Question, form: _Form) -> Question:
    """Return a question with the heading that it stands under."""
    for group in reversed(form.groups):
        if not group.words:
            continue
        group.used = True
        if group.is_table and question.table is not None:
            continue
        return replace(question, section=group.words)
    return question


def _in_table(question: Question, row: Row, of: str, form: _Form) -> Question:
    """Return a row of a table of one choice each as such; others stay as they are."""
    group = form.groups[-1]
    found = group.heads.get(of)
    if found is None and (group.is_table or "list-nolabel" in form.look(row)):
        words = group.words if group.is_table else {}
        found = Table(group.name or "table", words, shuffled=group.shuffled)
    if found is None:
        return question
    asked = found.words
    words = _joined(asked, question.words) if asked else question.words
    return replace(question, table=found, row=question.words, words=words)


def _joined(head: Words, words: Words) -> dict[str, str]:
    """Return two texts one after the other, in every language that one of them has."""
    first, second = next(iter(head.values()), ""), next(iter(words.values()), "")
    return {
        language: f"{head.get(language) or first}: {words.get(language) or second}"
        for language in dict.fromkeys((*words, *head))
    }


def _choosing(
    question: Question, row: Row, match: re.Match[str], form: _Form
) -> Question | DroppedPart:
    kind, of = " ".join(match["kind"].lower().split()), match["list"].strip()
    if "file" in kind or "external" in kind:
        return question.drop(_ELSEWHERE)
    if kind == "rank":
        return question.drop(left_out.ORDER)
    look = form.look(row)
    if "search(" in "".join(row.get("appearance").lower().split()):
        return question.drop(_ELSEWHERE_SEARCHED)
    if "label" in look:
        form.groups[-1].heads[of] = Table(question.name, question.words, question.help)
        return question.drop(_HEADS_A_TABLE)
    if of.startswith("${"):
        reason = f"Its choices are the answers to {of}, which are not known beforehand; list them."
        return question.drop(reason)
    if of not in form.lists:
        return question.drop(
            f"Its list of choices {of!r} is not in the file; add it to the sheet of choices."
        )
    choices, notes = list(form.lists[of]), list(question.notes)
    if match["other"]:
        words = {
            language: _OTHER.get(tag_of(language) or "", _OTHER[""])
            for language in question.words or {UNNAMED: ""}
        }
        choices.append(Choice("other", words))
        notes.append(left_out.ONE_MORE_CHOICE)
    if row.get("choice_filter"):
        notes.append(
            f"The filter of its choices {row.get('choice_filter')!r} is left out: everybody reads "
            f"all {len(choices)}."
        )
    parameters = _parameters(row)
    shuffled = parameters.pop("randomize", "").lower() in _YES
    if parameters:
        notes.append(f"Of its parameters is left out: {listed(parameters)}.")
    many = "multiple" in kind or "all that apply" in kind
    question = replace(
        question,
        kind=Kind.MANY if many else Kind.ONE,
        choices=tuple(choices),
        notes=tuple(notes),
        ordered=bool(look & _SCALES),
        keeps_last=(1 if match["other"] else 0) if shuffled else None,
    )
    if not many:
        question = _in_table(question, row, of, form)
    if row.get("constraint"):
        try:
            low, high = limits(parse(row.get("constraint")), COUNT)
            if not many:
                return _without_constraint(question, row)
        except NotUnderstood:
            return _without_constraint(question, row)
        question = replace(
            question,
            at_least=None if low is None else int(low),
            at_most=None if high is None else int(high),
        )
    return question


def _without_constraint(question: Question, row: Row) -> Question:
    return question.with_notes(f"Its constraint {row.get('constraint')!r} is left out.")


def _number(question: Question, row: Row, *, fractions: bool) -> Question:
    if fractions:
        question = question.with_notes(left_out.NO_DECIMALS)
    if not row.get("constraint"):
        return question
    try:
        low, high = limits(parse(row.get("constraint")), SELF, question.name)
    except NotUnderstood:
        return _without_constraint(question, row)
    return replace(question, low=low, high=high)


def _parameters(row: Row) -> dict[str, str]:
    """Return what the column parameters has, such as ``start=0 end=10``, by name."""
    text = re.sub(r"\s*=\s*", "=", row.get("parameters"))
    return dict(part.partition("=")[::2] for part in re.split(r"[\s,;]+", text) if part)


def _range(question: Question, row: Row) -> Question | DroppedPart:
    given = _parameters(row)
    try:
        start, end, step = (
            float(given.pop(key, default))
            for key, default in (("start", "1"), ("end", "10"), ("step", "1"))
        )
    except ValueError:
        return question.drop(
            f"Its parameters {row.get('parameters')!r} are no numbers start, end and step."
        )
    if given:
        question = question.with_notes(f"Of its parameters is left out: {listed(given)}.")
    if step == 1 and start.is_integer() and end.is_integer() and start < end:
        return replace(question, low=start, high=end, ordered=True)
    if step <= 0 or end <= start or (end - start) / step > 1000:
        return question.drop("Its range has no steps that can be listed.")
    count = int((end - start) / step + 1e-9) + 1
    values = [f"{start + place * step:.10g}" for place in range(count)]
    return replace(
        question,
        kind=Kind.ONE,
        choices=tuple(map(Choice.of_code, values)),
        ordered=True,
        notes=(*question.notes, f"Its steps of {step:g} become {count} choices."),
    )


def _around(question: Question, row: Row, form: _Form) -> Question:
    """Return a question with what its own row and the groups around it say of it."""
    notes, undecided = list(question.notes), list(question.undecided)
    groups = form.groups
    own, lost = _relevance(row)
    undecided += left_out.not_understood(
        filter(None, (*(one.lost_condition for one in groups), lost))
    )
    repeat = next((one for one in groups if one.repeats), None)
    if repeat is not None:
        undecided.append(
            f"It is asked once; in the form the group {repeat.name!r} is repeated, and a "
            "respondent answers here once, about one thing."
        )
    if _REFERENCE.search(" ".join((*question.words.values(), *question.help.values()))):
        undecided.append("Its words take in another answer, as ${...}; write them without it.")
    if row.get("calculation"):
        notes.append("Its calculation is left out.")
    if row.has_media():
        notes.append("Its picture or recording is left out.")
    required = row.get("required")
    if required.lower() not in (*_YES, *_NO):
        undecided.append(
            f"It may be skipped by everybody; in the form it must be answered if {required!r}."
        )
    if row.get("default"):
        notes.append(left_out.NO_DEFAULT)
    looks = form.look(row) - {"list-nolabel"}
    form.looks.add(f"appearance {one}" for one in (looks - _SCALES if question.ordered else looks))
    others = form.left(row)
    if others:
        notes.append(f"What stands in {listed(others)} is left out.")
    return replace(
        question,
        condition=both([*(one.condition for one in groups), own]),
        notes=tuple(notes),
        undecided=tuple(undecided),
    )


def _unread(sheets: Mapping[str, list[list[str]]], survey: str) -> list[str]:
    """Return what of the sheets has no form here, as sentences."""
    read = {survey, "settings", *_CHOICES}
    others = [title for title, rows in sheets.items() if title not in read and any(map(any, rows))]
    notes = []
    if others:
        notes.append(f"The sheets {listed(others)} have no form here and are left out.")
    for title in (survey, *_CHOICES):
        notes += above(sheets.get(title, []), title)
    return notes
