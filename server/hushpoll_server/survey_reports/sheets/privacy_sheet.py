"""The privacy sheet of a survey: two pages for an ethics board or a data-protection officer.

It is made of the manifest alone: what is collected, how answers are changed at random, epsilon
beside published designs, who can learn what, how long it is kept, and a text for consent. Nothing
of it depends on reports.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cache
from importlib import resources
from itertools import islice
from typing import Any, Final, NamedTuple

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.odds import posterior_bounds
from hushpoll_server.survey_reports.files.pdf import pdf_of
from hushpoll_server.survey_reports.markup.shown import Sheet
from hushpoll_server.survey_reports.sheets.published_designs import PUBLISHED_DESIGNS
from hushpoll_server.words import Words, catalogues, words_for
from hushpoll_shared.spelling.languages import closest, direction
from hushpoll_shared.spelling.number_texts import spelled
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.consequences import Label, factor_number, label_of
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.randomization.blocks import Block
from hushpoll_shared.survey.wording import Wording

PRIORS: Final = (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))
MOST_CHARACTERS: Final = 800
"""Question texts have at most so many together; longer ones are cut to keep two pages."""
MOST_NAMED: Final = 16
"""Questions that are named; the others are counted."""
MOST_ROWS: Final = 12
"""Ways of sending answers that have a row each; the others share one."""
LONGEST_PURPOSE: Final = 400
MOST_DAYS: Final = 36_500
SHEET: Final = Sheet("privacy_sheet")
MEDIA_TYPES: Final = {"html": "text/html", "pdf": "application/pdf"}


@dataclass(frozen=True)
class Collected:
    """Questions that are sent in the same way; `epsilon` and `factor` are empty in clear."""

    questions: str
    sent: str
    epsilon: str
    factor: str


def privacy_sheet(
    published: Published,
    form: str,
    *,
    language: str | None = None,
    kept_days: int | None = None,
    draft: bool = False,
) -> bytes:
    """Return the privacy sheet of a survey, or of a `draft`, as a file of a form of `MEDIA_TYPES`.

    It is in the `language`, by default the survey's own where there are words in it. `kept_days`,
    in [0, 36500], are those after the survey's end within which its records are deleted. Refuses
    other languages and days; a PDF raises as ``pdf_of``.
    """
    page = _html(published, _words(published, language), kept_days=kept_days, draft=draft)
    return pdf_of(page) if form == "pdf" else page.encode()


@cache
def sheet_texts() -> Mapping[str, Mapping[str, str]]:
    """Return the sheet's own texts by language, those of the page's words."""
    folder = resources.files(__package__) / "sheet_words"
    return {
        language: json.loads((folder / f"{language}.json").read_text(encoding="utf-8"))
        for language in catalogues()
    }


def _words(published: Published, language: str | None) -> Words:
    offered = catalogues()
    if language is None:
        return words_for([published.language])
    if (near := closest(language, tuple(offered))) is None:
        raise InvalidParameter(
            f"language is {show(language)}; the sheet is written in {', '.join(offered)}: choose "
            "one of them",
            field="language",
        )
    return offered[near]


def _html(published: Published, words: Words, *, kept_days: int | None, draft: bool) -> str:
    if kept_days is not None and not 0 <= kept_days <= MOST_DAYS:
        raise InvalidParameter(
            f"kept_days is {kept_days}, outside [0, {MOST_DAYS}]; give the days after the end of "
            "the survey within which the records are deleted",
            field="kept_days",
        )
    texts = sheet_texts()[words.language]
    wording = published.wording(closest(words.language, published.languages))
    own = wording.language or ""
    label = label_of(published, hosted=True)
    factor = _factor(label.total, words)
    beyond = "beyond" if factor_number(label.total) is None else "bound"

    def say(key: str, **values: object) -> str:
        return texts[key].format(**values)

    total = spelled(_places(label.total), words.language)
    clear = _listed(
        _clear(published, _texts(published, wording, words, say), _heads(published, wording))
    )
    named = " · ".join(_cut(clear, 3 if _is_long(clear) else 0, say))
    consent = [
        say("consent.who", operator=published.operator, title=wording.title)
        if published.operator
        else say("consent.nobody", title=wording.title),
        *([say("consent.purpose", purpose=_short(wording.purpose))] if wording.purpose else []),
        say("consent.randomised", count=_randomised(published)),
        *([say("consent.clear", questions=named)] if clear else []),
        say(f"consent.{beyond}", factor=factor),
        say("consent.back"),
        words.label["label.kept"] if kept_days is None else _kept(texts, kept_days),
        say("consent.agree"),
    ]
    return SHEET.html(
        language=words.language,
        direction=direction(words.language),
        tongue=own,
        say=say,
        survey=published,
        wording=wording,
        purpose=_short(wording.purpose) if wording.purpose else None,
        asked_by=words.page["asked_by"],
        purpose_head=words.page["purpose"],
        draft=draft,
        collected=list(_collected(published, wording, words, say)),
        law=[
            say("law.rule"),
            say(f"law.{beyond}", epsilon=total, factor=factor),
            say(f"law.level.{int(label.level)}"),
        ],
        beliefs=[_belief(prior, label.total, words) for prior in PRIORS],
        designs=list(_designs(label, words, say)),
        label=words.said_label(published, hosted=True),
        kept=[_kept(texts, kept_days), say("kept.rest")],
        not_promised=[
            *([say("not.clear")] if clear else []),
            say("not.part"),
            say("not.scripts", command="hushpoll page-digest"),
            say("not.others"),
        ],
        consent=consent,
    )


def _kept(texts: Mapping[str, str], days: int | None) -> str:
    if days is None:
        return texts["kept.open"]
    return texts["kept.day" if days == 1 else "kept.days"].format(count=days)


def _collected(
    published: Published, wording: Wording, words: Words, say: Any
) -> Iterator[Collected]:
    """Yield the questions by how they are sent, those that are sent alike together, in order.

    So many kinds have a row of their own that the sheet has two pages; a last row has the others.
    """
    texts = _texts(published, wording, words, say)
    heads = _heads(published, wording)
    ways: dict[_Way | None, list[_Asked]] = {}
    if clear := _clear(published, texts, heads):
        ways[None] = clear
    for block in published.blocks:
        # Of a select-all whose options are randomised alone, each is a question of its own here.
        ways.setdefault(_way(published, block, say), []).append(_asked(block, texts, heads))
    listed = {way: _listed(asked) for way, asked in ways.items()}
    own = listed if len(listed) <= MOST_ROWS else dict(islice(listed.items(), MOST_ROWS - 1))
    others = [way for way in listed if way is not None and way not in own]
    rest = [text for way in others for text in listed[way]]
    rows = len(own) + bool(others)
    parts = rows if _is_long([text for asked in listed.values() for text in asked]) else 0
    for way, asked in own.items():
        questions = " · ".join(_cut(asked, parts, say))
        if way is None:
            yield Collected(questions, say("in_clear"), "", say("no_limit"))
        else:
            yield Collected(questions, way.sent, *_strength(way.epsilon, way.reach, words))
    if others:
        epsilon = max(way.epsilon for way in others)
        most = _strength(epsilon, max(way.reach for way in others), words)
        yield Collected(
            " · ".join(_cut(rest, parts, say)),
            say("others", count=len(others)),
            *(say("most", number=number) for number in most),
        )


class _Way(NamedTuple):
    """How a block is sent: in words, its epsilon, and that of all that tells about it."""

    sent: str
    epsilon: Decimal
    reach: Decimal


def _way(published: Published, block: Block, say: Any) -> _Way:
    oracle, draw = block.oracle, published.draw_of(block.name)
    asked = block.questions[0]
    if not block.alone:
        sent = say("together", protocol=oracle.name, k=oracle.k)
    elif asked.rounded:
        sent = say("rounded", protocol=oracle.name, count=len(asked.anchors))
    else:
        sent = say("by", protocol=oracle.name, k=asked.k)
    if draw is not None:
        sent = f"{sent}; {say('drawn', answer=draw.answer, count=len(draw.blocks))}"
    return _Way(sent, oracle.epsilon, published.reach[block.name])


def _strength(epsilon: Decimal, reach: Decimal, words: Words) -> tuple[str, str]:
    return spelled(_places(epsilon), words.language), _factor(reach, words)


class _Asked(NamedTuple):
    """What a question asks, and what is asked of all options or items that it is one of."""

    head: str | None
    text: str


def _asked(block: Block, texts: Mapping[str, str], heads: Mapping[str, str]) -> _Asked:
    if block.select is not None:
        return _Asked(None, texts[block.name])
    if block.alone:
        return _Asked(heads.get(block.name), texts[block.name])
    asked = (_Asked(heads.get(one.name), texts[one.name]) for one in block.questions)
    return _Asked(None, " + ".join(_listed(asked)))


def _heads(published: Published, wording: Wording) -> dict[str, str]:
    """Return what is asked of all, by the name of an option or of an item of a matrix."""
    selects = zip(published.selects, wording.selects, strict=True)
    matrices = zip(published.matrices, wording.matrices, strict=True)
    heads = {name: asked for select, asked in selects for name in select.attributes}
    return heads | {name: asked for matrix, asked in matrices for name in matrix.attributes}


def _listed(asked: Iterable[_Asked]) -> list[str]:
    """Return texts in which what is asked of all stands once before its options or items."""
    found: list[str] = []
    before = None
    for head, text in asked:
        if head is not None and head == before:
            found[-1] = f"{found[-1]} / {text}"
        else:
            found.append(text if head is None else f"{head} {text}")
        before = head
    return found


def _texts(published: Published, wording: Wording, words: Words, say: Any) -> dict[str, str]:
    """Return what is asked, by the name of an attribute or of a select-all.

    A number has its limits and its unit.
    """
    asked = zip(published.attributes, wording.questions, strict=True)
    selects = zip(published.selects, wording.selects, strict=True)
    texts = {one.name: text for one, text in asked} | {one.name: text for one, text in selects}
    for attribute, unit in zip(published.attributes, wording.units, strict=True):
        if (number := attribute.number) is not None:
            texts[attribute.name] = say(
                "number" if unit is None else "number.unit",
                question=texts[attribute.name],
                low=_whole(number.low, words),
                high=_whole(number.high, words),
                unit=unit,
            )
    return texts


def _whole(number: int, words: Words) -> str:
    digits = spelled(Decimal(abs(number)), words.language)
    return digits if number >= 0 else f"−{digits}"


def _clear(
    published: Published, texts: Mapping[str, str], heads: Mapping[str, str]
) -> list[_Asked]:
    owners = {name: select.name for select in published.selects for name in select.attributes}
    found = [owners.get(one.name, one.name) for one in published.attributes if one.oracle is None]
    return [_Asked(heads.get(name), texts[name]) for name in dict.fromkeys(found)]


def _randomised(published: Published) -> int:
    owners = {name: select.name for select in published.selects for name in select.attributes}
    return len({owners.get(one.name, one.name) for one in published.perturbed})


def _is_long(texts: list[str]) -> bool:
    return len(texts) > MOST_NAMED or sum(map(len, texts)) > MOST_CHARACTERS


def _cut(texts: list[str], parts: int, say: Any) -> list[str]:
    """Return texts that take one of so many parts of the room; all of them, whole, for 0 parts."""
    if parts == 0:
        return texts
    shown = texts[: max(2, MOST_NAMED // parts)]
    longest = max(24, MOST_CHARACTERS // parts // len(shown))
    found = [text if len(text) <= longest else f"{text[: longest - 1]}…" for text in shown]
    left = len(texts) - len(shown)
    return [*found, say("more", count=left)] if left else found


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST_PURPOSE else f"{flat[: LONGEST_PURPOSE - 1]}…"


def _designs(label: Label, words: Words, say: Any) -> Iterator[tuple[str, str, str]]:
    def number(value: Fraction | float, places: str) -> str:
        rounded = Decimal(float(value)).quantize(Decimal(places), ROUND_HALF_UP)
        return spelled(rounded, words.language)

    for design in PUBLISHED_DESIGNS:
        chance = "" if design.chance is None else number(design.chance, "0.001")
        yield (
            say(f"design.{design.name}", chance=chance),
            number(design.epsilon, "0.01"),
            number(design.factor, "0.1"),
        )
    if label.single is not None:
        yield (
            say("design.one"),
            spelled(_places(label.single), words.language),
            _factor(label.single, words),
        )
    yield (
        say("design.all"),
        spelled(_places(label.total), words.language),
        _factor(label.total, words),
    )


def _places(epsilon: Decimal) -> Decimal:
    """Return an epsilon of at most three places, rounded up: it is not to look smaller."""
    shown = epsilon.quantize(Decimal("0.001"), "ROUND_CEILING")
    return shown if shown != epsilon else epsilon


def _factor(epsilon: Decimal, words: Words) -> str:
    number = factor_number(epsilon)
    beyond: str = words.script["factor.beyond"]
    return beyond if number is None else spelled(number, words.language)


def _belief(prior: Fraction, epsilon: Decimal, words: Words) -> tuple[str, str]:
    """Return a belief before and its bounds afterwards, rounded outwards, as the page says them."""
    script = words.script
    low, high = posterior_bounds(prior, epsilon)

    def percent(thousandths: int) -> str:
        tenths = f"{Decimal(thousandths) / 10:.1f}"
        mark = spelled(Decimal("0.5"), words.language)[1]
        return str(script["chance"]).format(number=tenths.replace(".", mark))

    least = script["chance.nearly_none"] if low <= 0 else percent(low)
    most = script["chance.nearly_all"] if high >= 1000 else percent(high)
    before = script["belief"].format(part=prior.numerator, whole=prior.denominator)
    return before, script["range"].format(low=least, high=most)
