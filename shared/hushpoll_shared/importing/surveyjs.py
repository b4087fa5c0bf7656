"""Reads a survey of SurveyJS: the JSON that its Creator saves (surveyjs.io)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from hushpoll_shared.importing import left_out
from hushpoll_shared.importing.conditions import Condition, NotUnderstood, both, parse
from hushpoll_shared.importing.form_members import FormMembers, Looks, listed
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
from hushpoll_shared.importing.surveyjs_words import (
    first_text,
    joined,
    without_tags,
    words_of,
)
from hushpoll_shared.importing.workbook import refused
from hushpoll_shared.spelling.text import show

MOST_NESTED: Final = 25
MOST_PARTS: Final = 5000
_CHOOSES_ONE: Final = ("radiogroup", "dropdown", "buttongroup")
_CHOOSES_MANY: Final = ("checkbox", "tagbox")
_PANELS: Final = ("panel", "flowpanel", "page")


@dataclass
class _Left:
    """What of a survey is left out that belongs to no single question."""

    looks: Looks = field(default_factory=Looks)
    notes: list[str] = field(default_factory=list)

    def named(self, given: FormMembers) -> list[str]:
        """Return the names that nobody has read, without those of looks, which are noted."""
        names = given.unread()
        self.looks.add(name for name in names if name in left_out.LOOKS)
        return [name for name in names if name not in left_out.LOOKS]

    def of(self, what: str, given: FormMembers) -> None:
        """Note what nobody has read of something around questions."""
        names = self.named(given)
        if names:
            self.notes.append(f"Of {what} is left out: {listed(names)}.")


@dataclass(frozen=True)
class _Around:
    """What the pages and panels around a question say of it."""

    left: _Left
    section: Words | None = None
    condition: Condition | None = None
    lost: tuple[str, ...] = ()


def is_surveyjs(document: object) -> bool:
    """Whether a JSON document has the pages or the elements of a survey."""
    return isinstance(document, dict) and any(
        isinstance(document.get(key), list) for key in ("pages", "elements", "questions")
    )


def read_surveyjs(document: object, *, name: str) -> Questionnaire:
    """Return the questions of a survey of SurveyJS; refuses one too deep or too large.

    `name` is the file's, for errors and for a survey without a title.
    """
    if not isinstance(document, dict) or not is_surveyjs(document):
        raise refused(
            name,
            "has no pages or elements of a survey",
            "give the JSON that SurveyJS Creator saves, or an XLSForm",
        )
    survey, left = FormMembers(document), _Left()
    parts: list[Question | DroppedPart] = []
    for part in _parts(survey, _Around(left), "", 0, name):
        parts.append(part)
        if len(parts) > MOST_PARTS:
            raise refused(name, f"has more than {MOST_PARTS:,} questions", "divide it")
    locale = survey.text("locale")
    notes = [note for key, note in left_out.OF_SURVEY.items() if survey.get(key)]
    thanks = words_of(survey.get("completedHtml"))
    plain = {language: without_tags(text) for language, text in thanks.items()}
    if plain != thanks:
        notes.append("The page after the last question stands without its tags of HTML.")
    found = Questionnaire(
        name=name.rpartition(".")[0] or name,
        title=words_of(survey.get("title")),
        description=words_of(survey.get("description")),
        thanks={language: text for language, text in plain.items() if text},
        language=locale or None,
        parts=tuple(parts),
    )
    others = left.named(survey)
    if others:
        notes.append(f"Its settings {listed(others)} are left out.")
    return replace(found, notes=(*notes, *left.notes, *left.looks.sentences()))


def _parts(
    container: FormMembers, around: _Around, where: str, depth: int, name: str
) -> Iterator[Question | DroppedPart]:
    if depth > MOST_NESTED:
        raise refused(name, f"has panels nested more than {MOST_NESTED} deep", "take some away")
    for key in ("pages", "elements", "questions", "templateElements"):
        elements = container.get(key)
        for number, element in enumerate(elements if isinstance(elements, list) else (), start=1):
            place = f"{where}, {key[:-1]} {number}" if where else f"{key[:-1]} {number}"
            if not isinstance(element, dict):
                yield DroppedPart(place, place, "It is no object of a survey.")
                continue
            given = FormMembers(element)
            kind = given.get("type")
            if key == "pages" or kind in _PANELS:
                yield from _panel(given, around, place, depth, name)
                continue
            yield from _questions(given, str(kind), around, place)
            for inner in _parts(given, around, place, depth + 1, name):
                reason = (
                    "It stands in a panel that repeats, and a respondent answers here once."
                    if kind == "paneldynamic"
                    else f"It stands in an element of the type {kind!r}, which is dropped."
                )
                yield DroppedPart(inner.name, inner.where, reason)


def _panel(
    given: FormMembers, around: _Around, where: str, depth: int, name: str
) -> Iterator[Question | DroppedPart]:
    """Return what stands on a page or in a panel; of itself it has a title and a condition."""
    title, described = words_of(given.get("title")), words_of(given.get("description"))
    condition, lost = _condition(given)
    given.get("name")
    within = _Around(
        around.left,
        title or around.section,
        both([around.condition, condition]),
        around.lost + lost,
    )
    questions = 0
    for part in _parts(given, within, where, depth + 1, name):
        questions += 1
        yield part
    if described:
        around.left.notes.append(
            f"The description of {where} is left out: {show(first_text(described))}. "
            "A section has a heading alone."
        )
    if title and not questions:
        around.left.notes.append(f"The title of {where} is left out: no question stands there.")
    elif title and around.section:
        around.left.notes.append(
            f"Questions of {where} stand under {show(first_text(title))} alone; in the form "
            f"{show(first_text(around.section))} stands above it."
        )
    around.left.of(where, given)


def _condition(given: FormMembers) -> tuple[Condition | None, tuple[str, ...]]:
    text = given.get("visibleIf")
    if given.get("visible") is False:
        return None, ("'visible: false'",)
    if not isinstance(text, str) or not text.strip():
        return None, ((f"{text!r} (it is no text)",) if text else ())
    try:
        return parse(text), ()
    except NotUnderstood as error:
        return None, (f"{text!r} ({error})",)


def _questions(
    given: FormMembers, kind: str, around: _Around, where: str
) -> Iterator[Question | DroppedPart]:
    name = given.get("name")
    if not isinstance(name, str) or not name:
        yield DroppedPart(where, where, "It has no name; give it one.")
        return
    condition, lost = _condition(given)
    undecided = [*left_out.not_understood((*around.lost, *lost))]
    words = words_of(given.get("title")) or {UNNAMED: name}
    if any("{" in text for text in words.values()):
        undecided.append("Its words take in another answer, as {...}; write them without it.")
    question = Question(
        name=name,
        where=where,
        kind=Kind.ONE,
        words=words,
        help=words_of(given.get("description")),
        required=_yes(given.get("isRequired")),
        section=around.section,
        condition=both([around.condition, condition]),
        undecided=tuple(undecided),
    )
    if kind == "matrix":
        yield from _matrix(question, given, around.left)
    elif kind == "matrixdropdown":
        yield from _cells(question, given, around.left)
    elif kind == "multipletext":
        yield from _items(question, given, around.left)
    else:
        yield _with_notes(question, given, kind, around.left)


def _yes(given: object) -> bool:
    return given is True or given == "true"


def _with_notes(
    question: Question, given: FormMembers, kind: str, left: _Left
) -> Question | DroppedPart:
    """Return a question with all that is said of it; what no reader has read is named."""
    notes = [note for key, note in left_out.LEFT_OUT.items() if given.get(key)]
    made = _read(question, given, kind)
    if isinstance(made, DroppedPart):
        return made
    notes += _checks(given)
    if given.get("commentText"):
        notes.append("The words beside its comment are left out.")
    others = left.named(given)
    if others:
        notes.append(f"Its settings {listed(others)} are left out.")
    return replace(made, notes=tuple(dict.fromkeys((*made.notes, *notes))))


_LIMITS: Final = {"numeric": ("minValue", "maxValue"), "answercount": ("minCount", "maxCount")}


def _checks(given: FormMembers) -> list[str]:
    """Return what of the checks of an answer is left out; the limits were read."""
    kinds: list[str] = []
    others: list[str] = []
    for one in given.objects("validators"):
        kind = str(one.get("type"))
        if kind in _LIMITS:
            one.pass_over(_LIMITS[kind])
            others += one.unread()
        else:
            kinds.append(kind)
    found = []
    if kinds:
        found.append(f"Its checks of an answer are left out: {listed(kinds)}.")
    if others:
        found.append(f"Of its checks is left out: {listed(others)}.")
    return found


def _limits(given: FormMembers, kind: str) -> tuple[float | None, float | None]:
    """Return the limits that the checks of an answer have."""
    low: float | None = None
    high: float | None = None
    for one in given.objects("validators"):
        if one.get("type") == kind:
            least, most = (_number(one.get(key)) for key in _LIMITS[kind])
            low = least if low is None else low
            high = most if high is None else high
    return low, high


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return float(given)


def _read(question: Question, given: FormMembers, kind: str) -> Question | DroppedPart:
    pictures = kind == "imagepicker"
    if kind in _CHOOSES_ONE or (pictures and not given.get("multiSelect")):
        return _choosing(question, given, pictures=pictures)
    if kind in _CHOOSES_MANY or pictures:
        low, high = _limits(given, "answercount")
        least = _whole(given.get("minSelectedChoices")) or (None if low is None else int(low))
        most = _whole(given.get("maxSelectedChoices")) or (None if high is None else int(high))
        return _choosing(
            replace(
                question,
                kind=Kind.MANY,
                at_least=least or (1 if question.required else None),
                at_most=most or None,
            ),
            given,
            pictures=pictures,
        )
    if kind == "boolean":
        labels = {
            code: words_of(given.get(key)) or {UNNAMED: word}
            for code, key, word in (
                ("false", "labelFalse", "No"),
                ("true", "labelTrue", "Yes"),
            )
        }
        codes = {"false": given.get("valueFalse"), "true": given.get("valueTrue")}
        choices = tuple(
            Choice(code if codes[code] is None else _code(codes[code]), text)
            for code, text in labels.items()
        )
        return replace(question, kind=Kind.YES_NO, choices=choices)
    if kind == "rating":
        return _rating(question, given)
    if kind == "slider" and given.get("sliderType") in (None, "single"):
        return _whole_number(question, given, slider=True)
    if kind == "text":
        asked = given.get("inputType")
        if asked in ("number", "range"):
            return _whole_number(question, given, slider=False)
        if asked in ("date", "datetime-local", "month", "time", "week"):
            return question.drop(left_out.MOMENT)
        return question.drop(left_out.FREE_TEXT)
    if kind == "slider":
        reason = "It asks for two numbers at once; ask a question for each."
        return question.drop(reason)
    reason = left_out.DROPPED.get(kind, f"Its type {kind!r} has no form here.")
    return question.drop(reason)


def _choosing(
    question: Question, given: FormMembers, *, pictures: bool = False
) -> Question | DroppedPart:
    for key in ("choicesByUrl", "choicesFromQuestion"):
        if given.get(key):
            reason = f"Its choices come from elsewhere ({key}); list them."
            return question.drop(reason)
    choices, doubtful = _choices(given.get("choices"), pictures=pictures)
    counted = _counted(given)
    if choices and counted:
        doubtful.append(
            "Its numbers from choicesMin to choicesMax are left out beside its choices."
        )
    choices = choices or counted
    notes = [*question.notes, *doubtful]
    if pictures:
        notes.append("Its pictures are left out: the texts of the choices stand alone.")
    added = 0
    for keys, label, code, word in (
        (("hasNone", "showNoneItem"), "noneText", "none", "None"),
        (("showRefuseItem",), "refuseText", "refused", "Refuse to answer"),
        (("showDontKnowItem",), "dontKnowText", "dontknow", "Don't know"),
        (("hasOther", "showOtherItem"), "otherText", "other", "Other"),
    ):
        flags = [given.get(key) for key in keys]
        if not any(flags):
            continue
        text = words_of(given.get(label))
        if question.kind is Kind.MANY and code != "other":
            notes.append(f"{word!r} is left out: who names no choice has said so.")
            continue
        choices.append(Choice(code, text or {UNNAMED: word}))
        added += 1
        if code == "other":
            notes.append(left_out.ONE_MORE_CHOICE)
    order = given.get("choicesOrder")
    if order not in (None, "none", "random"):
        notes.append("Its choices stand in the file's order.")
    last = added if order == "random" else None
    return replace(question, choices=tuple(choices), notes=tuple(notes), keeps_last=last)


def _choices(listed_: object, *, pictures: bool = False) -> tuple[list[Choice], list[str]]:
    """Return the choices of a list, and what of it is left out, as sentences."""
    found: dict[str, Choice] = {}
    without, twice, others = 0, set[str](), list[str]()
    for one in listed_ if isinstance(listed_, list) else ():
        given = FormMembers(one if isinstance(one, dict) else {"value": one})
        value, text = given.get("value"), words_of(given.get("text"))
        if pictures:
            given.pass_over(("imageLink",))
        others += given.unread()
        if not isinstance(value, bool | int | float | str):
            without += 1
            continue
        code = _code(value)
        if code in found:
            twice.add(code)
        found.setdefault(code, Choice(code, text or {UNNAMED: code}))
    notes = []
    if without:
        notes.append(f"{without} of its choices have no value, and are left out.")
    if twice:
        notes.append(f"The values {listed(twice)} stand more than once; the first is taken.")
    if "visibleIf" in others:
        notes.append("Conditions on single choices are left out: everybody reads all of them.")
    if set(others) - {"visibleIf"}:
        notes.append(f"Of its choices is left out: {listed(set(others) - {'visibleIf'})}.")
    return list(found.values()), notes


def _code(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def _counted(given: FormMembers) -> list[Choice]:
    """Return the choices that are numbers from one to another."""
    low, high = (_whole(given.get(key)) for key in ("choicesMin", "choicesMax"))
    step = _whole(given.get("choicesStep")) or 1
    if low is None or high is None or step < 1:
        return []
    return [Choice.of_code(str(one)) for one in range(low, high + 1, step)[:1000]]


def _rating(question: Question, given: FormMembers) -> Question:
    ends = [words_of(given.get(key)) for key in ("minRateDescription", "maxRateDescription")]
    notes = list(question.notes)
    question = replace(question, ordered=True)
    if all(ends):
        question = replace(question, ends=(ends[0], ends[1]))
    elif any(ends):
        notes.append(
            "The words at one end of its scale are left out: "
            f"{show(first_text(max(ends, key=len)))}."
        )
    numbers = [given.get(key) for key in ("rateMin", "rateMax", "rateStep", "rateCount")]
    choices, doubtful = _choices(given.get("rateValues"))
    if choices:
        return replace(question, kind=Kind.ONE, choices=tuple(choices), notes=(*notes, *doubtful))
    low, high, step, count = map(_whole, numbers)
    low, step = (1 if low is None else low), step or 1
    if high is None:
        high = low + ((count or 5) - 1) * step
    if step == 1:
        return replace(question, kind=Kind.WHOLE, low=low, high=high, notes=tuple(notes))
    values = [str(value) for value in range(low, high + 1, step)][:1000]
    return replace(
        question,
        kind=Kind.ONE,
        choices=tuple(map(Choice.of_code, values)),
        notes=(*notes, f"Its steps of {step} become {len(values)} choices."),
    )


def _whole_number(question: Question, given: FormMembers, *, slider: bool) -> Question:
    notes = list(question.notes)
    stated = {key: given.get(key) for key in ("min", "max")}
    for key, value in stated.items():
        if value is not None and _number(value) is None:
            notes.append(f"Its {key} {show(value)} is left out: it is no number.")
    low, high = _number(stated["min"]), _number(stated["max"])
    least, most = _limits(given, "numeric")
    low = least if low is None else low if least is None else max(low, least)
    high = most if high is None else high if most is None else min(high, most)
    if slider:
        low, high = (0 if low is None else low), (100 if high is None else high)
        notes.append("The slider becomes a number field, or a row of numbers where they are few.")
    step = given.get("step")
    if isinstance(step, float) and not step.is_integer():
        notes.append(left_out.NO_DECIMALS)
    elif step not in (None, 1):
        notes.append(f"Its steps of {show(step)} are left out: every whole number may be given.")
    return replace(question, kind=Kind.WHOLE, low=low, high=high, notes=tuple(notes))


def _matrix(
    question: Question, given: FormMembers, left: _Left
) -> Iterator[Question | DroppedPart]:
    """Return the rows of a matrix as questions of one table."""
    rows, of_rows = _choices(given.get("rows"))
    columns, of_columns = _choices(given.get("columns"))
    what = f"the matrix {show(question.name)} ({question.where})"
    many = given.get("cellType") == "checkbox"
    required = _yes(given.get("isAllRowRequired")) or _yes(given.get("eachRowRequired"))
    if not rows:
        yield question.drop("It has no rows.")
        return
    left.notes += [f"Of {what}: {note}" for note in (*of_rows, *of_columns, *_of_table(given))]
    for row in rows:
        yield replace(
            question,
            name=f"{question.name}_{row.code}",
            where=f"{question.where}, row {row.code!r}",
            kind=Kind.MANY if many else Kind.ONE,
            words=joined(question.words, row.words),
            required=question.required or required,
            choices=tuple(columns),
            ordered=True,
            table=None
            if many
            else Table(question.name, question.words, question.help, _is_random(given)),
            row=row.words,
        )
    left.of(what, given)


def _is_random(given: FormMembers) -> bool:
    """Whether the rows of a matrix change places, by either name of that property."""
    return "random" in (given.get("rowOrder"), given.get("rowsOrder"))


def _of_table(given: FormMembers) -> list[str]:
    """Return what of a table is left out that a question alone would say of itself."""
    return [note for key, note in left_out.LEFT_OUT.items() if given.get(key)] + _checks(given)


def _cells(question: Question, given: FormMembers, left: _Left) -> Iterator[Question | DroppedPart]:
    """Return the cells of a matrix of several columns: each column is a table of its rows."""
    columns = [
        one for one in given.objects("columns") if isinstance(one.get("name"), str | int | float)
    ]
    rows, of_rows = _choices(given.get("rows"))
    what = f"the matrix {show(question.name)} ({question.where})"
    if not rows or not columns:
        yield question.drop("It has no rows, or no columns with a name.")
        return
    lost = [
        note
        for one in given.objects("columns")
        if not isinstance(one.get("name"), str | int | float)
        for note in ("A column without a name is left out.",)
    ]
    left.notes += [f"Of {what}: {note}" for note in (*of_rows, *lost, *_of_table(given))]
    choices, kind_of_all = given.get("choices"), given.get("cellType")
    for column in columns:
        name = str(column.get("name"))
        kind = str(column.get("cellType") or kind_of_all or "dropdown")
        title = words_of(column.get("title")) or {UNNAMED: name}
        condition, hidden = _condition(column)
        for place, row in enumerate(rows):
            members = {"choices": choices, **column.members()}
            cell = FormMembers(members)
            cell.pass_over(("name", "title", "cellType", "isRequired", "visibleIf", "visible"))
            made = _with_notes(
                replace(
                    question,
                    name=f"{question.name}_{row.code}_{name}",
                    where=f"{question.where}, row {row.code!r}, column {name!r}",
                    words=joined(question.words, row.words, title),
                    required=question.required or _yes(column.get("isRequired")),
                    condition=both([question.condition, condition]),
                    undecided=(*question.undecided, *left_out.not_understood(hidden)),
                ),
                cell,
                kind,
                left if place == 0 else _Left(),
            )
            if isinstance(made, Question) and made.kind in (Kind.ONE, Kind.YES_NO):
                table = Table(f"{question.name}_{name}", joined(question.words, title))
                made = replace(made, table=table, row=row.words)
            yield made
    left.of(what, given)


def _items(question: Question, given: FormMembers, left: _Left) -> Iterator[Question | DroppedPart]:
    """Return the fields of a question of several texts; those of numbers are questions."""
    items = given.objects("items")
    what = f"the question {show(question.name)} ({question.where})"
    if not items:
        yield question.drop(left_out.FREE_TEXT)
        return
    note = f"It is a field of {question.name!r}, as a question of its own."
    left.notes += [f"Of {what}: {one}" for one in _of_table(given)]
    for item in items:
        name = str(item.get("name"))
        title = words_of(item.get("title")) or {UNNAMED: name}
        yield _with_notes(
            replace(
                question,
                name=f"{question.name}_{name}",
                where=f"{question.where}, item {name!r}",
                words=joined(question.words, title),
                required=question.required or _yes(item.get("isRequired")),
                notes=(*question.notes, note),
            ),
            item,
            "text",
            left,
        )
    left.of(what, given)


def _whole(given: object) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) else None
