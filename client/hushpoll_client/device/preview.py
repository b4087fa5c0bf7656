"""What would leave the device, in words, before anything does: clear answers first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_UP, Decimal
from typing import TYPE_CHECKING

from hushpoll_client.device.sentences import (
    BARS,
    CLEAR_HINT,
    GUESS_APART,
    NONE_SELECTED,
    READING,
    RELEASED_AT_ONCE,
    TAKE_BACK,
    THIS_SURVEY_ALONE,
    Protection,
    draw_sentence,
    drawn_sentence,
    each_sentence,
    follow_up_sentence,
    guess_sentence,
    number_sentence,
    protection_of_block,
    protection_of_question,
    protection_of_survey,
    small_batch_sentence,
    together_title,
    truth_of_number,
    truth_sentence,
)
from hushpoll_client.device.sentences import INVITED as INVITED_WORDS
from hushpoll_shared.survey.protection import Level
from hushpoll_shared.survey.randomization.drawn_selects import epsilon_of_question
from hushpoll_shared.survey.terms import IMMEDIATE, INVITED, SMALL_BATCH

if TYPE_CHECKING:
    from hushpoll_client.device.randomization import Answers
    from hushpoll_shared.survey.published import Published
    from hushpoll_shared.survey.questions.selects import Selection
    from hushpoll_shared.survey.randomization.blocks import Block
    from hushpoll_shared.survey.randomization.draws import Draw


@dataclass(frozen=True, slots=True)
class ClearLine:
    """An attribute that leaves in clear.

    Attributes
    ----------
    name, question : str or None
        As in the manifest.
    answer : str or None
        The category that would be sent; None in a preview without answers. Not in the repr.
    """

    name: str
    question: str | None
    answer: str | None = field(repr=False)

    def __str__(self) -> str:
        shown = "your answer as it is" if self.answer is None else self.answer
        return f"{_label(self.name, self.question)}: {shown}"


@dataclass(frozen=True, slots=True)
class PerturbedLine:
    """An attribute that leaves randomised, or several of them that leave as one value.

    Attributes
    ----------
    name, question : str or None
        As in the manifest; of a block its name, and no question.
    protocol : str
        Name of the protocol.
    k : int
        Number of possible answers, the ``missing`` one included; of a block its combinations.
    epsilon : Decimal
        Privacy loss charged for it.
    best_guess : Decimal
        Chance in [1/k, 1] that the best guess from what is sent is right, if all answers were
        equally likely beforehand; for local hashing an upper bound over the hashes.
    protection : Protection
        How far what is sent can move any belief, whatever was known before.
    truth, guess : str
        How often what is sent is, or points at, the true answer; and the best guess in words.
    together : tuple of (str, str or None)
        Name and question of each attribute of a block of several, in order; else empty.
    follow_ups : tuple of str
        A sentence for each follow-up among them: when it is asked.
    select_all : bool
        Whether they are the options of a select-all, which has a question of its own.
    draw : str or None
        Name of the draw that it is in.
    drawn : str or None
        How likely it is sent, of a draw; all else holds where it is.
    number : str or None
        Of a number, a sentence on what stands for it before it is randomised.
    """

    name: str
    question: str | None
    protocol: str
    k: int
    epsilon: Decimal
    best_guess: Decimal
    protection: Protection
    truth: str
    guess: str
    together: tuple[tuple[str, str | None], ...] = ()
    follow_ups: tuple[str, ...] = ()
    select_all: bool = False
    draw: str | None = None
    drawn: str | None = None
    number: str | None = None

    @property
    def title(self) -> str:
        """The line above what is said of it."""
        if not self.together:
            return _label(self.name, self.question)
        questions = ", ".join(
            (question or name) if self.select_all else _label(name, question)
            for name, question in self.together
        )
        asked = f"{self.question} " if self.select_all and self.question else ""
        return f"{asked}{together_title(len(self.together))} ({self.name}): {questions}"

    def __str__(self) -> str:
        return "\n".join(
            (
                self.title,
                *(f"  {sentence}" for sentence in self.follow_ups),
                *(() if self.drawn is None else (f"  {self.drawn}",)),
                f"  {self.protocol} with epsilon {self.epsilon:f}. {self.protection.words}",
                *(() if self.number is None else (f"  {self.number}",)),
                f"  {self.truth}",
                f"  {self.protection.limit}",
                *(f"    {change}" for change in self.protection.changes),
                f"  {self.guess}",
            )
        )


@dataclass(frozen=True, slots=True)
class Preview:
    """What one report holds; ``str()`` gives the page to show to a respondent.

    Attributes
    ----------
    title, survey, version, digest
        Which survey.
    epsilon : Decimal
        Total privacy loss that the survey may charge.
    notices : tuple of str
        What a respondent should read first; see `notices`.
    clear : tuple of ClearLine
        Attributes sent in clear, in manifest order. They can betray randomised ones by correlation.
    perturbed : tuple of PerturbedLine
        What is sent randomised, in record order: an attribute, or a block of several.
    protection : Protection
        How far all randomised answers together can move any belief, whatever was known before.
    record_size : int
        Bytes of the record, the same for all answers.
    draws : mapping of str to str
        By draw: that all of its answers are read, and how many are sent.
    operator, purpose : str or None
        Who asks, and what the answers are used for.
    """

    title: str
    survey: str
    version: int
    digest: str
    epsilon: Decimal
    notices: tuple[str, ...]
    clear: tuple[ClearLine, ...]
    perturbed: tuple[PerturbedLine, ...]
    protection: Protection
    record_size: int
    draws: Mapping[str, str] = field(default_factory=dict)
    operator: str | None = None
    purpose: str | None = None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        unit = "byte" if self.record_size == 1 else "bytes"
        yield f"{self.title} ({self.survey}, version {self.version})"
        if self.operator is not None:
            yield f"Asked by: {self.operator}"
        if self.purpose is not None:
            yield f"Purpose: {' '.join(self.purpose.splitlines())}"
        yield from self.notices
        yield ""
        if self.clear:
            yield "Sent in clear, readable by the survey's operator:"
            yield from (f"  {line}" for line in self.clear)
            yield f"  {CLEAR_HINT}"
        else:
            yield "Nothing is sent in clear."
        yield ""
        yield "Randomised on this device before anything is sent:"
        yield f"  {BARS}"
        yield f"  {READING}"
        yield ""
        yield "  All of them together"
        yield f"    {self.protection.words}"
        yield f"    {self.protection.limit}"
        yield from (f"      {change}" for change in self.protection.changes)
        yield f"    {THIS_SURVEY_ALONE}"
        yield f"    Privacy loss in all: at most epsilon {self.epsilon:f}."
        said: set[str] = set()
        for line in self.perturbed:
            yield ""
            if line.draw is not None and line.draw not in said:
                said.add(line.draw)
                titles = [one.title for one in self.perturbed if one.draw == line.draw]
                yield f"  {'; '.join(titles)}"
                yield f"  {self.draws[line.draw]}"
                yield ""
            yield from (f"  {part}" for part in str(line).split("\n"))
        yield ""
        yield TAKE_BACK
        yield f"The record has {self.record_size} {unit} whatever the answers are."
        yield f"Survey digest: {self.digest}"


def notices(published: Published) -> tuple[str, ...]:
    """Return what a respondent should read before anything else, worst first."""
    protection = _of_all(published)
    sentences = [protection.words] if protection.level >= Level.WEAK else []
    if published.submission == INVITED:
        sentences.append(INVITED_WORDS)
    if published.release == IMMEDIATE:
        sentences.append(RELEASED_AT_ONCE)
    if published.minimum_batch < SMALL_BATCH:
        sentences.append(small_batch_sentence(published.minimum_batch))
    return tuple(sentences)


def build_preview(
    published: Published, answers: Answers | None, language: str | None = None
) -> Preview:
    """Describe the report that `answers` would become.

    Refuses answers that do not fit the survey (see `randomize`), and a language that it lacks.
    """
    wording = published.wording(language)
    codes = None if answers is None else published.layout.code_answers(answers)
    clear: list[ClearLine] = []
    asked: dict[str, str | None] = {}
    options = {name: select for select in published.selects for name in select.attributes}
    matrices = {
        name: words
        for matrix, words in zip(published.matrices, wording.matrices, strict=True)
        for name in matrix.attributes
        if matrix.question is not None
    }
    for attribute, words, domain in zip(
        published.attributes, wording.questions, wording.domains, strict=True
    ):
        asked[attribute.name] = None if attribute.question is None else words
        if attribute.name in matrices and attribute.question is not None:
            asked[attribute.name] = f"{matrices[attribute.name]} {words}"
        if attribute.oracle is None and attribute.name not in options:
            answer = None if codes is None else domain[codes[attribute.name]]
            clear.append(ClearLine(attribute.name, asked[attribute.name], answer))
    domains = dict(zip(asked, wording.domains, strict=True))
    routers = {
        attribute.name: attribute.ask_if.router
        for attribute in published.attributes
        if attribute.ask_if is not None
    }
    for select, words in zip(published.selects, wording.selects, strict=True):
        asked[select.name] = None if select.question is None else words
        if published.attribute(select.attributes[0]).oracle is None:
            named = None if codes is None else _named(select, asked, codes)
            clear.append(ClearLine(select.name, asked[select.name], named))
    places = {attribute.name: place for place, attribute in enumerate(published.attributes)}
    places |= {select.name: places[select.attributes[0]] for select in published.selects}
    clear.sort(key=lambda line: places[line.name])
    perturbed = [
        _select_line(published, block, options[block.name], asked)
        if block.name in options
        else _perturbed_line(published, block, asked, routers, domains)
        # as they stand in the record, those of a draw together
        for block in (field.block for field in published.layout.fields if field.block is not None)
        if block.name not in options or block.name == options[block.name].attributes[0]
    ]
    return Preview(
        title=wording.title,
        survey=published.name,
        version=published.version,
        digest=published.digest,
        epsilon=published.epsilon,
        notices=notices(published),
        clear=tuple(clear),
        perturbed=tuple(perturbed),
        protection=_of_all(published),
        record_size=published.layout.record_size,
        draws={draw.name: _draw_line(published, draw) for draw in published.draws},
        operator=published.operator,
        purpose=wording.purpose,
    )


def _of_all(published: Published) -> Protection:
    return protection_of_survey(tuple(published.budget.values()), tuple(published.reach.values()))


def protection_of(block: Block, reach: Decimal) -> Protection:
    """Say how well the answers of a block are protected, follow-ups in other blocks counted.

    `reach` is the epsilon of the block and of these follow-ups.
    """
    router = reach != block.oracle.epsilon
    if block.alone:
        return protection_of_question(reach, router=router)
    return protection_of_block(reach, len(block.questions), router=router)


def _perturbed_line(
    published: Published,
    block: Block,
    asked: Mapping[str, str | None],
    routers: Mapping[str, str],
    domains: Mapping[str, tuple[str, ...]],
) -> PerturbedLine:
    """Say what is sent for a block; `asked` has the questions as the respondent reads them."""
    oracle, count = block.oracle, len(block.questions)
    number = block.alone and block.questions[0].number is not None
    answers = block.questions[0].answer_codes if number else oracle.k
    best_guess = oracle.disclosure().best_guess
    guess = guess_sentence(oracle, best_guess, count, answers)
    if number:
        # Rounded up once more, to 12 places.
        best_guess = (best_guess * oracle.k / answers).quantize(Decimal("1e-12"), ROUND_UP)
    named = [question.name for question in block.questions]
    draw = published.draw_of(block.name)
    return PerturbedLine(
        block.name,
        asked[block.name] if block.alone or block.select is not None else None,
        oracle.name,
        answers,
        oracle.epsilon,
        best_guess,
        protection_of(block, published.reach[block.name]),
        truth_of_number(oracle) if number else truth_sentence(oracle, count),
        guess if published.reach[block.name] == oracle.epsilon else f"{guess} {GUESS_APART}",
        () if block.alone else tuple((name, asked[name]) for name in named),
        tuple(
            follow_up_sentence(asked[name] or name, asked[routers[name]] or routers[name])
            for name in named
            if name in routers
        ),
        select_all=block.select is not None,
        draw=None if draw is None else draw.name,
        drawn=None if draw is None else drawn_sentence(len(draw.blocks), draw.answer),
        number=number_sentence(domains[block.name]) if number else None,
    )


def _draw_line(published: Published, draw: Draw) -> str:
    groups = any(not block.alone for block in published.blocks if block.name in draw.blocks)
    return draw_sentence(len(draw.blocks), draw.answer, groups=groups)


def _select_line(
    published: Published, first: Block, select: Selection, asked: Mapping[str, str | None]
) -> PerturbedLine:
    """Say what is sent for a select-all whose options are randomised apart, all or some of them.

    All have the protocol and the epsilon of the first.
    """
    oracle, count = first.oracle, len(select.attributes)
    best_guess = oracle.disclosure().best_guess
    draw = published.draw_of(first.name)
    epsilon = epsilon_of_question(published.budget, select)
    return PerturbedLine(
        select.name,
        asked[select.name],
        oracle.name,
        oracle.k,
        epsilon,
        best_guess,
        protection_of_block(epsilon, count),
        each_sentence(truth_sentence(oracle)),
        each_sentence(guess_sentence(oracle, best_guess)),
        tuple((name, asked[name]) for name in select.attributes),
        (),
        select_all=True,
        draw=None if draw is None else draw.name,
        drawn=None
        if draw is None
        else each_sentence(drawn_sentence(len(draw.blocks), draw.answer)),
    )


def _named(select: Selection, asked: Mapping[str, str | None], codes: Mapping[str, int]) -> str:
    chosen = [asked[name] or name for name in select.attributes if codes[name]]
    return ", ".join(chosen) or NONE_SELECTED


def _label(name: str, question: str | None) -> str:
    return name if question is None else f"{name} ({question})"
