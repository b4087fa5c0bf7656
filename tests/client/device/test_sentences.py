"""Every sentence about protection, as respondents read it, against the enumerated law.

The texts are those of tests/vectors/protection.json, which the Python SDK makes and the browser SDK
has to repeat word for word. Numbers are read out of the text and compared with sums over all
records: a figure may be above the truth by its rounding, and never below.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from enumerated_law import Row, Table, after, extremes, facts_about, pairs, tables
from hushpoll_client.device.preview import build_preview
from hushpoll_client.device.sentences import BELIEFS, TAKE_BACK, protection_of_question
from hushpoll_protocols import PROTOCOLS, FrequencyOracle, create
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.randomization.blocks import Block

VECTORS = json.loads(
    (Path(__file__).resolve().parents[2] / "vectors" / "protection.json").read_text("ascii")
)
PRIORS = [Fraction(percent, 100) for percent in (1, 5, 10, 25, 50, 75, 90, 95, 99)]
STEP = Fraction(1, 1000)
MILLION = "more than a million"

QUESTION_LEVELS = {
    r"This answer is strongly protected\.": (Decimal(0), Decimal(1)),
    r"This answer is protected to a limited degree\.": (Decimal(1), Decimal(3)),
    r"This answer is weakly protected: what is sent can say a lot about it\.": (3, 8),
    r"This answer is hardly protected: treat it as if it were sent as it is\.": (8, 64),
}
BLOCK_LEVELS = {
    r"These 2 answers are strongly protected\.": (Decimal(0), Decimal(1)),
    r"These 2 answers are protected to a limited degree\.": (Decimal(1), Decimal(3)),
    r"These 2 answers are weakly protected: what is sent can say a lot about them\.": (3, 8),
    r"These 2 answers are hardly protected: treat them as if they were sent as they are\.": (8, 64),
}
CHANCE = r"(nearly 0 %|nearly 100 %|[0-9]+\.[0-9] %)"
RANGE = re.compile(f"{CHANCE} to {CHANCE}")
FACTOR = r"([0-9.,]+[0-9]|more than a million|[0-9])\."
BY_ITSELF = re.compile(
    r"(?:By itself, it changes the odds of anything about you by at most a factor of "
    r"|By themselves, they change the odds of anything about you by at most a factor of "
    r"|The limit on how far they alone change the odds of anything about you is a factor of "
    r"|The limit on how far it alone changes the odds of anything about you is a factor of )"
    + FACTOR
)
WITH_FOLLOW_UPS = re.compile(
    r"(?:Together with its follow-ups, which tell whether they were asked, it changes the odds of "
    r"anything about you by at most a factor of "
    r"|Together with their follow-ups, which tell whether they were asked, they change the odds of "
    r"anything about you by at most a factor of "
    r"|The limit on how far it changes the odds of anything about you, together with its "
    r"follow-ups, which tell whether they were asked, is a factor of "
    r"|The limit on how far they change the odds of anything about you, together with their "
    r"follow-ups, which tell whether they were asked, is a factor of )" + FACTOR
)
FOLLOW_UP = re.compile(
    "“(.*)” is asked only after some answers to “(.*)”; “not asked” counts as one of its answers\\."
)
APART = " This guess does not use what is sent of follow-ups."
TOGETHER = re.compile(
    r"Whatever a person knew or thought before, (?:your randomised answers change the odds of "
    r"anything about you by at most a factor of |the limit on how far your randomised answers "
    r"change the odds of anything about you is a factor of )" + FACTOR
)
IS_TRUE = re.compile(
    f"What is sent is your true (?:answer|combination of answers) with a chance of {CHANCE}\\."
)
POINTS = re.compile(
    r"What is sent points at ([0-9]+|some, all or none) of the ([0-9]+) "
    r"(?:answers|combinations of answers), "
    f"and with a chance of {CHANCE} your true (?:answer|one) is among them\\."
)
GUESS = re.compile(
    r"If the ([0-9]+) (?:answers|combinations of answers) were equally likely beforehand, the best "
    r"guess(?: of all 2 answers)? from what is sent "
    f"would be right with a chance of (at most )?{CHANCE}(, whatever hash is drawn)?; without it, "
    f"{CHANCE}\\."
)
ROW = re.compile(r"(1 in 10|1 in 2|9 in 10) +([#+.]{30})  afterwards (.*)")


@lru_cache(maxsize=256)
def law(name: str, k: int, epsilon: str) -> tuple[FrequencyOracle, list[Table]]:
    oracle = create(name, k=k, epsilon=epsilon)
    return oracle, tables(oracle)


@lru_cache(maxsize=256)
def change(name: str, k: int, epsilon: str) -> tuple[Fraction, Fraction]:
    """Return by what any record can change the odds of anything, at least and at most."""
    return _change(law(name, k, epsilon)[1], k)


def _change(all_tables: list[Table], size: int) -> tuple[Fraction, Fraction]:
    facts = facts_about(size)
    every = [extremes(table, facts) for table in all_tables]
    return min(least for least, _ in every), max(most for _, most in every)


def read_high(text: str) -> Fraction:
    return Fraction(1) if text == "nearly 100 %" else Fraction(text.removesuffix(" %")) / 100


def read_low(text: str) -> Fraction:
    return Fraction(0) if text == "nearly 0 %" else Fraction(text.removesuffix(" %")) / 100


def match(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    matched = pattern.fullmatch(text)
    assert matched, f"no test computes this sentence: {text!r}"
    return matched


def check_rounded_up(text: str, truth: Fraction) -> None:
    assert truth <= read_high(text) < truth + STEP
    assert (text == "nearly 100 %") == (truth > Fraction(999, 1000))


def check_factor(text: str, least: Fraction, most: Fraction, *, tight: bool) -> None:
    largest = max(most, 1 / least)
    if text == MILLION:
        if tight:
            assert largest > 999_999
        return
    shown = Fraction(text.replace(",", ""))
    assert largest <= shown
    if tight:
        # Two digits from 2 on, and two places below.
        assert shown <= largest * Fraction(111, 100) if largest > 2 else shown < largest + STEP * 11


def check_range(
    text: str, before: Fraction, least: Fraction, most: Fraction, *, tight: bool
) -> None:
    low, high = match(RANGE, text).groups()
    lowest, highest = after(before, least), after(before, most)
    assert read_low(low) <= lowest
    assert highest <= read_high(high)
    if tight:
        assert lowest - read_low(low) < STEP * Fraction(11, 10)
        assert read_high(high) - highest < STEP * Fraction(11, 10)
    assert (high == "nearly 100 %") <= (read_high(high) == 1)


def is_tight(*oracles: FrequencyOracle) -> bool:
    """THE spends less than its epsilon, and at 64 bits no protocol spends more than about 44."""
    return all(
        oracle.epsilon - oracle.realized_epsilon < Decimal("1e-6") or oracle.realized_epsilon > 40
        for oracle in oracles
        if oracle.name != "THE"
    ) and all(oracle.name != "THE" for oracle in oracles)


@dataclass(frozen=True)
class Reach:
    """A router with the follow-ups that tell about it: their oracles and their records' law."""

    oracles: tuple[FrequencyOracle, ...]
    table: Table

    @property
    def size(self) -> int:
        """Answers that respondents can give to all of the survey."""
        return len(self.table[0].likelihood)


def check_question(
    oracle: FrequencyOracle,
    all_tables: list[Table],
    sentences: list[str],
    *,
    alone: bool = True,
    reach: Reach | None = None,
) -> None:
    # All sentences are about one answer, or all are about the answers of a block.
    block = [level for level in BLOCK_LEVELS if re.fullmatch(level, sentences[0])]
    assert bool(block) == (not alone)
    assert bool(re.search("they alone|they change|themselves", sentences[2])) == (not alone)
    for sentence in (sentences[1], sentences[-1]):
        assert ("combination" in sentence) == (not alone)
    assert ("all 2 answers" in sentences[-1]) == (not alone)
    level, truth, limit, *rows, guess = sentences
    assert guess.endswith(APART) == (reach is not None)
    if reach is None:
        least, most = change(oracle.name, oracle.k, f"{oracle.epsilon:f}")
        pattern, involved, table, size = BY_ITSELF, (oracle,), all_tables[0], oracle.k
    else:
        least, most = _change([reach.table], reach.size)
        pattern, involved = WITH_FOLLOW_UPS, reach.oracles
        table, size = reach.table, reach.size
    levels = QUESTION_LEVELS if alone else BLOCK_LEVELS
    (bounds,) = [bounds for words, bounds in levels.items() if re.fullmatch(words, level)]
    assert bounds[0] <= sum(one.epsilon for one in involved) <= bounds[1]
    tight = is_tight(*involved)
    check_factor(match(pattern, limit)[1], least, most, tight=tight)
    for before, text in zip(BELIEFS, rows, strict=True):
        check_range(text, before, least, most, tight=tight)
    check_truth(truth, oracle, all_tables)
    check_guess(guess.removesuffix(APART), oracle, all_tables)
    check_priors(match(pattern, limit)[1], rows, table, size)


def check_priors(shown: str, rows: list[str], table: Table, k: int) -> None:
    """Apply Bayes' rule record by record, to priors that are not uniform."""
    bounds = [match(RANGE, text).groups() for text in rows]
    for prior, row, (fact, other) in product(PRIORS, table, facts_about(k)[-4:]):
        weights = [
            prior * Fraction(yes, sum(fact)) + (1 - prior) * Fraction(no, sum(other))
            for yes, no in zip(fact, other, strict=True)
        ]
        whole = sum(w * p for w, p in zip(weights, row.likelihood, strict=True))
        held = sum(
            prior * Fraction(yes, sum(fact)) * p
            for yes, p in zip(fact, row.likelihood, strict=True)
        )
        posterior = held / whole
        assert abs(1 - sum(weights)) == 0
        if prior in BELIEFS:
            low, high = bounds[BELIEFS.index(prior)]
            assert read_low(low) <= posterior <= read_high(high)
        if shown != MILLION:
            change = posterior / (1 - posterior) * (1 - prior) / prior
            factor = Fraction(shown.replace(",", ""))
            assert 1 / factor <= change <= factor


def check_truth(text: str, oracle: FrequencyOracle, all_tables: list[Table]) -> None:
    alone = IS_TRUE.fullmatch(text)
    shown = alone[1] if alone else match(POINTS, text)[3]
    for table in all_tables:
        for value in range(oracle.k):
            chance = sum(
                row.number * row.likelihood[value]
                for row in table
                if (row.support == (value,) if alone else value in row.support)
            )
            check_rounded_up(shown, Fraction(chance))
    if not alone:
        number, k, _ = match(POINTS, text).groups()
        assert int(k) == oracle.k
        sizes = {len(row.support) for table in all_tables for row in table}
        if hasattr(oracle, "g"):  # the hash that puts every answer into one bucket is one of them
            sizes |= {len(oracle.support(bytes(16) + bytes([y, 0]))) for y in (0, 1)}
        if number == "some, all or none":
            assert {0, 1, oracle.k} <= sizes
        else:
            assert sizes == {int(number)}


def check_guess(text: str, oracle: FrequencyOracle, all_tables: list[Table]) -> None:
    k, bound, shown, hashed, blind = match(GUESS, text).groups()
    right = [
        sum(row.number * max(row.likelihood) for row in table) / oracle.k for table in all_tables
    ]
    check_rounded_up(shown, max(right))
    assert (bound is not None) == (hashed is not None) == hasattr(oracle, "g")
    assert int(k) == oracle.k
    assert read_low(blind) <= Fraction(1, oracle.k) < read_low(blind) + Fraction(1, 1000)


QUESTIONS = [vector for vector in VECTORS["questions"] if vector["k"] <= 5]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_sentence_about_a_question_follows_from_the_law(name: str) -> None:
    chosen = [vector for vector in QUESTIONS if vector["protocol"] == name]
    assert {vector["epsilon"] for vector in chosen} >= {"0.1", "1", "4", "60"}
    assert len({vector["k"] for vector in chosen}) >= 3
    for vector in chosen:
        oracle, all_tables = law(name, vector["k"], vector["epsilon"])
        assert dict(oracle.parameters) == vector["parameters"]
        check_question(oracle, all_tables, vector["sentences"])


@pytest.mark.parametrize("place", range(len(VECTORS["previews"])))
def test_every_line_of_a_preview_follows_from_the_law(place: int) -> None:
    vector = VECTORS["previews"][place]
    survey = Published.from_json(vector["published"])
    assert str(build_preview(survey, None, vector.get("language"))) == vector["preview"]
    if max(block.k for block in survey.blocks) <= 6:
        check_preview(survey, vector["preview"])


def check_preview(survey: Published, text: str) -> None:
    """Read the whole text; a line that nothing here knows fails."""
    oracles = [block.oracle for block in survey.blocks]
    laws = [law(oracle.name, oracle.k, f"{oracle.epsilon:f}") for oracle in oracles]
    head, body = text.split("Randomised on this device before anything is sent:\n")
    legend, whole, *blocks, tail = body.split("\n\n")
    assert "#" in legend
    assert "All figures are rounded so that they overstate what is revealed." in legend
    for one, (oracle, all_tables), block in zip(survey.blocks, laws, blocks, strict=True):
        title, *lines = [line.strip() for line in block.split("\n")]
        said_of = [found.groups() for line in lines if (found := FOLLOW_UP.fullmatch(line))]
        assert said_of == follow_ups(survey, one)
        first, truth, limit, *rows, guess = lines[len(said_of) :]
        named, level = first.split(". ", 1)
        assert named == f"{oracle.name} with epsilon {oracle.epsilon:f}"
        if not one.alone:
            names = ", ".join(
                asked.name + ("" if asked.question is None else f" ({asked.question})")
                for asked in one.questions
            )
            assert title == f"These 2 answers together ({one.name}): {names}"
        said = [level, truth, limit, *map(drawn, rows), guess]
        reach = reach_of(survey, one)
        check_question(oracle, all_tables, said, alone=one.alone, reach=reach)
    assert tail.split("\n") == [
        TAKE_BACK,
        f"The record has {byte_count(survey)} whatever the answers are.",
        f"Survey digest: {survey.digest}",
    ]
    check_together(survey, head, [line.strip() for line in whole.split("\n")])


def follow_ups(survey: Published, block: Block) -> list[tuple[str, str]]:
    """Return the question of each follow-up of a block, and that of its router."""
    asked = {one.name: one.question or one.name for one in survey.attributes}
    return [
        (asked[one.name], asked[one.ask_if.router])
        for one in block.questions
        if one.ask_if is not None
    ]


def answers_of(survey: Published) -> list[dict[str, int]]:
    """Return all that respondents can answer to perturbed questions, as codes."""
    found = []
    for codes in product(*(range(one.k) for one in survey.perturbed)):
        answers = dict(zip((one.name for one in survey.perturbed), codes, strict=True))
        words = {one.name: one.domain[answers[one.name]] for one in survey.perturbed}
        if all(
            one.ask_if is None
            or (words[one.name] != "not asked")
            == (words[one.ask_if.router] in one.ask_if.categories)
            for one in survey.perturbed
        ):
            found.append(answers)
    return found


def joint_table(survey: Published, blocks: Sequence[Block]) -> Table:
    """Return the law of the records of some blocks, given all answers."""
    rows = [Row(tuple(Fraction(1) for _ in answers_of(survey)), ())]
    for block in blocks:
        places = [
            block.join([answers[one.name] for one in block.questions])
            for answers in answers_of(survey)
        ]
        _, (table, *_) = law(block.oracle.name, block.k, f"{block.oracle.epsilon:f}")
        rows = [
            Row(
                tuple(
                    chance * row.likelihood[place]
                    for chance, place in zip(before.likelihood, places, strict=True)
                ),
                (),
            )
            for before in rows
            for row in table
        ]
    return rows


def reach_of(survey: Published, block: Block) -> Reach | None:
    """Return the law of a block with every other that has a follow-up of its questions."""
    routers = {one.name: one.ask_if.router for one in survey.perturbed if one.ask_if}
    own = {one.name for one in block.questions}

    def after(name: str) -> bool:
        return name in routers and (routers[name] in own or after(routers[name]))

    blocks = [
        other
        for other in survey.blocks
        if other is block or any(after(one.name) for one in other.questions)
    ]
    if len(blocks) == 1:
        return None
    return Reach(tuple(other.oracle for other in blocks), joint_table(survey, blocks))


def byte_count(survey: Published) -> str:
    size = survey.layout.record_size
    return "1 byte" if size == 1 else f"{size} bytes"


def drawn(line: str) -> str:
    """Check a row's picture against its numbers, and return those."""
    before, bar, text = match(ROW, line).groups()
    part, whole = before.split(" in ")
    low, high = match(RANGE, text).groups()
    assert bar.count("#") == 30 * int(part) / int(whole)
    assert bar == bar[0] * bar.count("#") + "+" * bar.count("+") + "." * bar.count(".")
    assert read_low(low) < Fraction(int(part), int(whole)) < read_high(high)
    # A cell is filled as soon as the belief can reach into it.
    assert 0 <= (bar.count("#") + bar.count("+")) / Fraction(30) - read_high(high) < Fraction(1, 30)
    return text


def check_together(survey: Published, head: str, lines: list[str]) -> None:
    title, words, limit, *rows, alone, loss = lines
    assert title == "All of them together"
    oracles = [block.oracle for block in survey.blocks]
    if any(one.ask_if for one in survey.perturbed):
        table = joint_table(survey, survey.blocks)
        least, most = _change([table], len(table[0].likelihood))
    else:
        least, most = joint_change(tuple((o.name, o.k, f"{o.epsilon:f}") for o in oracles))
    tight = is_tight(*oracles)
    check_factor(match(TOGETHER, limit)[1], least, most, tight=tight)
    for before, row in zip(BELIEFS, rows, strict=True):
        check_range(drawn(row), before, least, most, tight=tight)
    total = sum(oracle.epsilon for oracle in oracles)
    reaches = [reach for one in survey.blocks if (reach := reach_of(survey, one))]
    largest = max(
        *(oracle.epsilon for oracle in oracles),
        *(sum(oracle.epsilon for oracle in reach.oracles) for reach in reaches),
        Decimal(0),
    )
    assert words == expected_words(total, largest)
    assert (words in head.split("\n")) == (total >= 6 or largest >= 3)
    assert alone == "This counts this survey alone. What you tell other surveys adds to it."
    assert loss == f"Privacy loss in all: at most epsilon {survey.epsilon:f}."
    assert total <= survey.epsilon


def expected_words(total: Decimal, largest: Decimal) -> str:
    if total > 16 or largest > 8:
        return "Your answers are hardly protected: treat them as if they were sent as they are."
    if total >= 6 or largest >= 3:
        return "Protection is weak: what is sent can say a lot about you."
    if total > 1:
        return "Your randomised answers are protected to a limited degree."
    return "Your randomised answers are strongly protected."


@lru_cache(maxsize=64)
def joint_change(questions: tuple[tuple[str, int, str], ...]) -> tuple[Fraction, Fraction]:
    """Return by what all records together can change the odds of anything.

    Among the facts are those in which the questions always go together.
    """
    all_tables = [law(*question)[1] for question in questions]
    size = questions[0][1]
    joint = all_tables[0]
    for (_, k, _), other in zip(questions[1:], all_tables[1:], strict=True):
        # Each hash by itself is a bound; those that tell most answers apart come first.
        joint = [pairs(first, second) for first in joint[:2] for second in other[:2]]
        size *= k
    return _change(joint, size)


def test_table_of_the_explanation_has_the_previews_figures() -> None:
    root = Path(__file__).resolve().parents[3]
    page = (root / "docs" / "explanation" / "what-a-record-reveals.md").read_text("utf-8")
    rows = re.findall(r"^\| ([0-9.]+) \| ([0-9.,]+) \| (.*) \| (.*) \| (.*) \|$", page, re.M)
    assert len(rows) == 5
    for epsilon, shown, *ranges in rows:
        protection = protection_of_question(Decimal(epsilon))
        assert protection.limit.endswith(f" at most a factor of {shown}.")
        assert [change.range for change in protection.changes] == ranges


def survey(*questions: tuple[str, int], epsilon: str) -> Published:
    attributes: list[dict[str, Any]] = [
        {"name": f"q{place}", "role": "sensitive", "protocol": name, "range": [1, k]}
        for place, (name, k) in enumerate(questions)
    ]
    draft = {"name": "s", "version": 1, "title": "S", "epsilon": epsilon, "attributes": attributes}
    return Manifest.from_dict(draft).resolve()


def test_belief_of_nine_in_ten_is_not_shown_the_figure_of_a_uniform_prior() -> None:
    # GRR at k = 2 and epsilon 1. It was said that no answer becomes more likely than 73.2 %.
    single = survey(("GRR", 2), epsilon="1")
    _, most = change("GRR", 2, "1")
    text = str(build_preview(single, None))
    assert Fraction(9607, 10_000) < after(Fraction(9, 10), most) < Fraction(961, 1000)
    assert "afterwards 76.8 % to 96.1 %" in text
    check_preview(single, text)


def test_two_questions_that_always_agree_are_counted_together() -> None:
    # Two of GRR at k = 2 and epsilon 1 each. It was said of each: no more likely than 73.2 %.
    both = survey(("GRR", 2), ("GRR", 2), epsilon="2")
    _, most = joint_change((("GRR", 2, "1"), ("GRR", 2, "1")))
    assert Fraction(880, 1000) < after(Fraction(1, 2), most) < Fraction(881, 1000)
    text = str(build_preview(both, None))
    check_preview(both, text)
    together = text.split("All of them together\n")[1].split("\n\n")[0]
    assert "1 in 2   ###############++++++++++++...  afterwards 11.9 % to 88.1 %" in together


@pytest.mark.parametrize("epsilon", ["0.1", "4", "60"])
def test_no_sentence_denies_that_the_true_answer_may_be_sent(epsilon: str) -> None:
    text = str(build_preview(survey(("GRR", 2), epsilon=epsilon), None))
    for untrue in ("not your answer", "can only guess", "as you answered"):
        assert untrue not in text
    assert "What is sent is your true answer with a chance of" in text
