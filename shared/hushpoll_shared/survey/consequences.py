"""Who can learn what from what a respondent sends: the label of consequences.

This is the one place in Python that decides it, from a published survey and from what the threat
model says of each party. The browser SDK's ``consequences.js`` decides and says the same; vectors
hold both to the same sentences in each language of the page's words.

A hint is bounded for every prior: whatever a party knew, and whether or not it knows whose report
it is, all randomised answers together change the odds of anything by at most e^epsilon. So the
bound is the same for all who see a report. What differs is whether a party sees it at all, whether
it sees the answers in clear, and what tells it whose report it is; the reasons say that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hushpoll_protocols.odds import odds_factor
from hushpoll_shared.spelling.number_texts import spelled
from hushpoll_shared.survey.protection import (
    Level,
    survey_level,
)
from hushpoll_shared.survey.randomization.budget import (
    total_epsilon,
)
from hushpoll_shared.survey.terms import AT_THE_END, IMMEDIATE, OPEN

if TYPE_CHECKING:
    from hushpoll_shared.survey.published import Published

_MILLION: Final = 1_000_000


class Party(StrEnum):
    """Who may learn something, in the order of the label."""

    TEAM = "team"
    OPERATOR = "operator"
    INTRUDER = "intruder"
    COURT = "court"
    HOUSEHOLD = "household"


class Learns(StrEnum):
    """What a party can learn of an answer."""

    ANSWER = "answer"
    HINT = "hint"
    HINT_IF_SCRIPTS_HOLD = "hint.scripts"
    """A hint; but the party sends the scripts that randomise."""
    NOTHING_ONCE_SENT = "nothing"


@dataclass(frozen=True, slots=True)
class Consequence:
    """What one party can learn."""

    party: Party
    clear: Learns | None
    """Of answers in clear; None where the survey asks for none."""
    randomised: Learns
    """Of randomised answers."""
    why: tuple[str, ...]
    """Keys of the sentences that say how, in order."""


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a survey."""

    rows: tuple[Consequence, ...]
    """One for each party."""
    level: Level
    """How well all randomised answers together are protected."""
    total: Decimal
    """Epsilon of all randomised answers together; a hint is at most as strong as it says."""
    single: Decimal | None
    """Largest epsilon of what is sent for one question, follow-ups that tell about it included, or
    for questions that are randomised together; None where that is all there is."""
    minimum_batch: int
    """Fewest reports that analysts are given at a time, but for the last time."""


def label_of(published: Published, *, hosted: bool = False) -> Label:
    """Decide who can learn what, where a program of their own or a page of the server's is used."""
    used = () if published.submission == OPEN else (f"label.team.{published.submission}",)
    in_clear = any(attribute.oracle is None for attribute in published.attributes)
    answer = Learns.ANSWER if in_clear else None
    released = {AT_THE_END: "end", IMMEDIATE: "immediate"}.get(published.release, "batches")
    scripts = Learns.HINT_IF_SCRIPTS_HOLD if hosted else Learns.HINT
    rows = (
        Consequence(
            Party.TEAM,
            answer,
            Learns.HINT,
            (f"label.team.{released}", *used),
        ),
        Consequence(
            Party.OPERATOR,
            answer,
            scripts,
            (
                f"label.operator.{published.submission}",
                *(("label.operator.scripts",) if hosted else ()),
            ),
        ),
        Consequence(Party.INTRUDER, answer, Learns.HINT, ("label.intruder.why",)),
        Consequence(Party.COURT, answer, Learns.HINT, ("label.court.why",)),
        Consequence(
            Party.HOUSEHOLD,
            Learns.NOTHING_ONCE_SENT if in_clear else None,
            Learns.NOTHING_ONCE_SENT,
            ("label.household.why",),
        ),
    )
    total = total_epsilon(published.budget.values())
    single = _largest_part(published)
    return Label(
        rows,
        survey_level(published.budget.values(), published.reach.values()),
        total,
        None if single == total else single,
        published.minimum_batch,
    )


def _largest_part(published: Published) -> Decimal:
    """Return the largest epsilon of a question; a select-all is one, however it is randomised."""
    apart = {
        name: select.name
        for select in published.selects
        for name in select.attributes
        if name in published.reach
    }
    answered = {draw.name: draw.answer for draw in published.draws}
    parts: dict[str, list[Decimal]] = {}
    for name, reach in published.reach.items():
        question = apart.get(name, name)
        part = parts.setdefault(question, [])
        # As many options of a select-all that draws them count as a device answers.
        if name == question or len(part) < answered.get(question, len(apart)):
            part.append(reach)
    return max(total_epsilon(part) for part in parts.values())


def factor_number(epsilon: Decimal) -> Decimal | None:
    """Return e^epsilon rounded up to few digits, such as 1.5, 20, 3000; None beyond a million."""
    whole = odds_factor(epsilon)
    if whole > _MILLION:
        return None
    if whole > 100:
        unit = 10 ** (len(str(whole)) - 2)
        return Decimal(-(-whole // unit) * unit)
    if whole > 10:
        return Decimal(whole)
    parts = 100 if whole == 2 else 10
    return Decimal(odds_factor(epsilon, parts)) / parts


@dataclass(frozen=True, slots=True)
class SaidRow:
    """A row of the label in one language; `clear` is None where no answer is in clear."""

    party: str
    clear: str | None
    randomised: str
    why: str


@dataclass(frozen=True, slots=True)
class SaidLabel:
    """The label in one language: its title, heads of its columns, its rows, and notes below."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[SaidRow, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.title}:"]
        for row in self.rows:
            lines.append(f"  {row.party}")
            cells = [cell for cell in (row.clear, row.randomised) if cell is not None]
            heads = zip(self.heads[1:], cells, strict=True)
            lines += [f"    {head}: {cell}." for head, cell in heads]
            lines.append(f"    {row.why}")
        return "\n".join((*lines, *(f"  {note}" for note in self.notes)))


def say_label(label: Label, words: Mapping[str, str], language: str = "en") -> SaidLabel:
    """Say a label in a language of ``SPELLED_LANGUAGES``, with its `words` for `ENGLISH`."""
    in_clear = label.rows[0].clear is not None

    def factor(epsilon: Decimal) -> str:
        number = factor_number(epsilon)
        return words["factor.beyond"] if number is None else spelled(number, language)

    beyond = factor_number(label.total) is None
    kind = "beyond" if beyond and label.level is not Level.HARDLY else f"{int(label.level)}"
    hint = words[f"label.hint.{kind}"].format(factor=factor(label.total))
    cells = {
        Learns.ANSWER: words["label.answer"],
        Learns.HINT: hint,
        Learns.HINT_IF_SCRIPTS_HOLD: words["label.scripts"].format(hint=hint),
        Learns.NOTHING_ONCE_SENT: words["label.nothing"],
    }
    rows = tuple(
        SaidRow(
            words[f"label.{row.party}"],
            None if row.clear is None else cells[row.clear],
            cells[row.randomised],
            " ".join(words[key].format(count=label.minimum_batch) for key in row.why),
        )
        for row in label.rows
    )
    notes = [words["limit.survey.beyond" if beyond else "limit.survey"]]
    if label.single is not None and factor_number(label.single) is not None:
        notes.append(words["label.single"].replace("{factor}", factor(label.single)))
    if in_clear:
        notes.append(words["label.clear"])
    notes.append(words["label.kept"])
    return SaidLabel(
        words["label.title"],
        (
            words["label.who"],
            *((words["label.in_clear"],) if in_clear else ()),
            words["label.randomised"],
        ),
        rows,
        tuple(note.replace("{factor}", factor(label.total)) for note in notes),
    )


def label_text(published: Published) -> str:
    """Return the label in English, for respondents who answer with a program of their own."""
    return str(say_label(label_of(published), ENGLISH))


ENGLISH: Final[Mapping[str, str]] = MappingProxyType(
    {
        "label.title": "Who can learn what",
        "label.who": "Who",
        "label.in_clear": "Answers sent as they are",
        "label.randomised": "Randomised answers",
        "label.team": "The people who ask",
        "label.operator": "The operator of the server",
        "label.intruder": "A person who breaks in there",
        "label.court": "A court",
        "label.household": "Your household",
        "label.answer": "your answer",
        "label.nothing": "nothing, once it is sent",
        "label.hint.0": "a weak hint: odds times {factor} at most",
        "label.hint.1": "a hint: odds times {factor} at most",
        "label.hint.2": "a strong hint: odds times {factor} at most",
        "label.hint.3": "as good as your answer",
        "label.hint.beyond": "a strong hint: odds times {factor}",
        "label.scripts": "{hint}; with other scripts, your answer",
        "label.team.batches": "They get reports in mixed order, at least {count} at a time but for "
        "the last time, without address and time.",
        "label.team.end": "They get all reports together, in mixed order, when the survey is "
        "over, without address and time.",
        "label.team.immediate": "If they ask before and after your report arrives, they can tell "
        "it from the others, and when it came.",
        "label.team.token": "A person who has your token can find out that it was used; the report "
        "does not tell which token it came with.",
        "label.team.invited": "A person who has your invitation can find out that it was used; the "
        "report does not tell which invitation it came from.",
        "label.operator.open": "As your report arrives, the server sees the address that sends it. "
        "It keeps none; a changed server or a proxy before it could, and know whose report it is.",
        "label.operator.token": "As your report arrives, the server sees the address that sends "
        "it, and your token. It keeps neither with the report; a changed server or a proxy before "
        "it could, and know whose report it is.",
        "label.operator.invited": "As your report arrives, the server sees the address that sends "
        "it, and a token that it cannot link to your invitation. It keeps neither with the report; "
        "a changed server or a proxy before it could, and know whose report it is.",
        "label.operator.scripts": "The scripts that randomise come from this server, too.",
        "label.intruder.why": "The stored reports have no name, no address and no token. Until "
        "yours is mixed with others, its number is beside it. A person who stays there sees "
        "what the operator sees.",
        "label.court.why": "It can demand what is stored, and this device, which knows the number "
        "of your report: that finds it only until it is mixed with others.",
        "label.household.why": "People who use this device can see that it has answered. Until the "
        "report is sent, it waits here, where they can read it as the people who ask can.",
        "label.single": "What is sent for one question, or for questions that are randomised "
        "together, changes them by at most a factor of {factor}.",
        "label.clear": "Answers that are sent as they are can tell whose report it is, and hint at "
        "randomised ones.",
        "label.kept": "The server keeps reports until its operator deletes them.",
        "factor.beyond": "more than a million",
        "limit.survey": "Whatever a person knew or thought before, your randomised answers change "
        "the odds of anything about you by at most a factor of {factor}.",
        "limit.survey.beyond": "Whatever a person knew or thought before, the limit on how far "
        "your randomised answers change the odds of anything about you is a factor of {factor}.",
    }
)
"""The words of the label in English; ``words/en.js`` has the same."""
