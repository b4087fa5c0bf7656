"""The sentences that tell a respondent what perturbed answers reveal, and the picture beside them.

The browser SDK has the same sentences in `sentences.js`, word for word. A test computes each number
from the enumerated law of every protocol: change a sentence there as well, and run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.odds import posterior_bounds
from hushpoll_shared.spelling.number_texts import spelled
from hushpoll_shared.survey.consequences import factor_number
from hushpoll_shared.survey.protection import (
    Level,
    question_level,
    survey_level,
)
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED
from hushpoll_shared.survey.randomization.budget import (
    total_epsilon,
)

BELIEFS: Final = (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))
"""What a person may have thought before: 1 in 10, 1 in 2, 9 in 10."""

BARS: Final = (
    "Each bar is about something that a person thinks possible of you. # is how likely it seemed "
    "before: 1 in 10, 1 in 2 or 9 in 10. + is how much likelier it can seem at most to a person "
    "who has seen what is sent."
)
READING: Final = (
    "Odds compare a chance with the chance of the opposite: 1 in 10 is odds of 1 to 9. All figures "
    "are rounded so that they overstate what is revealed."
)
CLEAR_HINT: Final = (
    "None of the figures below covers these answers, and they can hint at the randomised ones "
    "where the two go together."
)
GUESS_APART: Final = "This guess does not use what is sent of follow-ups."
THIS_SURVEY_ALONE: Final = "This counts this survey alone. What you tell other surveys adds to it."

TAKE_BACK: Final = (
    "Until the server has mixed your report with others, this device can have it deleted. After "
    "that nobody can, since nothing tells which report is yours. The epsilon stays spent either "
    "way."
)

INVITED: Final = (
    "Invitation and report are not linkable from what is stored, once your report is mixed with "
    "others. A server that watches sees both come from one address, and when."
)

RELEASED_AT_ONCE: Final = (
    "This survey gives reports to its analysts soon after they arrive. An analyst who asks before "
    "and after yours arrives can tell it from the others: what is sent, answers in clear included, "
    "and when."
)

_QUESTION_WORDS: Final = {
    Level.STRONG: "This answer is strongly protected.",
    Level.LIMITED: "This answer is protected to a limited degree.",
    Level.WEAK: "This answer is weakly protected: what is sent can say a lot about it.",
    Level.HARDLY: "This answer is hardly protected: treat it as if it were sent as it is.",
}
_BLOCK_WORDS: Final = {
    Level.STRONG: "These {count} answers are strongly protected.",
    Level.LIMITED: "These {count} answers are protected to a limited degree.",
    Level.WEAK: "These {count} answers are weakly protected: what is sent can say a lot about "
    "them.",
    Level.HARDLY: "These {count} answers are hardly protected: treat them as if they were sent as "
    "they are.",
}
_SURVEY_WORDS: Final = {
    Level.STRONG: "Your randomised answers are strongly protected.",
    Level.LIMITED: "Your randomised answers are protected to a limited degree.",
    Level.WEAK: "Protection is weak: what is sent can say a lot about you.",
    Level.HARDLY: "Your answers are hardly protected: treat them as if they were sent as they are.",
}
_BAR: Final = 30


@dataclass(frozen=True, slots=True)
class Change:
    """How far a belief can move."""

    before: Fraction
    """Probability of the fact before, in (0, 1)."""

    at_least: int
    """Smallest probability afterwards in thousandths, rounded down; `at_most` the largest, up."""

    at_most: int

    def __str__(self) -> str:
        before = f"{self.before.numerator} in {self.before.denominator}"
        return f"{before:<7}  {self.bar}  afterwards {self.range}"

    @property
    def range(self) -> str:
        """The probability afterwards, such as ``1.4 % to 45.1 %``."""
        return f"{low(self.at_least)} to {high(self.at_most)}"

    @property
    def bar(self) -> str:
        """The picture: 30 characters, of which ``#`` are the belief before and ``+`` its growth."""
        before = round(self.before * _BAR)
        after = -(-self.at_most * _BAR // 1000)
        return "#" * before + "+" * (after - before) + "." * (_BAR - after)


@dataclass(frozen=True, slots=True)
class Protection:
    """How well one answer, or all of them together, are protected."""

    level: Level
    words: str
    """The level as a sentence."""

    limit: str
    """By which factor the odds of anything can change at most, as a sentence."""

    changes: tuple[Change, ...]
    """What that does to each of `BELIEFS`."""


_LIMITS: Final = {
    "question": (
        "By itself, it changes the odds of anything about you by at most a factor of {}.",
        "The limit on how far it alone changes the odds of anything about you is a factor of {}.",
    ),
    "router": (
        "Together with its follow-ups, which tell whether they were asked, it changes the odds of "
        "anything about you by at most a factor of {}.",
        "The limit on how far it changes the odds of anything about you, together with its "
        "follow-ups, which tell whether they were asked, is a factor of {}.",
    ),
    "block": (
        "By themselves, they change the odds of anything about you by at most a factor of {}.",
        "The limit on how far they alone change the odds of anything about you is a factor of {}.",
    ),
    "block of routers": (
        "Together with their follow-ups, which tell whether they were asked, they change the odds "
        "of anything about you by at most a factor of {}.",
        "The limit on how far they change the odds of anything about you, together with their "
        "follow-ups, which tell whether they were asked, is a factor of {}.",
    ),
    "survey": (
        "Whatever a person knew or thought before, your randomised answers change the odds of "
        "anything about you by at most a factor of {}.",
        "Whatever a person knew or thought before, the limit on how far your randomised answers "
        "change the odds of anything about you is a factor of {}.",
    ),
}
"""How far the odds can change at most, and the same where the factor is beyond a million."""


def protection_of_question(epsilon: Decimal, *, router: bool = False) -> Protection:
    """Say how well the answer to a question is protected.

    The epsilon of a router is with those of the follow-ups that tell about its answer.
    """
    level = question_level(epsilon)
    return _protection(epsilon, level, _QUESTION_WORDS[level], "router" if router else "question")


def protection_of_block(epsilon: Decimal, count: int, *, router: bool = False) -> Protection:
    """Say how well the answers to so many questions of one block are protected.

    See `protection_of_question`.
    """
    level = question_level(epsilon)
    words = _BLOCK_WORDS[level].format(count=count)
    return _protection(epsilon, level, words, "block of routers" if router else "block")


def _protection(epsilon: Decimal, level: Level, words: str, what: str) -> Protection:
    spelled, (sentence, beyond) = factor(epsilon), _LIMITS[what]
    limit = (beyond if spelled.startswith("more") else sentence).format(spelled)
    changes = (Change(before, *posterior_bounds(before, epsilon)) for before in BELIEFS)
    return Protection(level, words, limit, tuple(changes))


def together_title(count: int) -> str:
    """Return the heading of what is said of so many questions of one block."""
    return f"These {count} answers together"


NONE_SELECTED: Final = "none of these"


def each_sentence(sentence: str) -> str:
    """Say of each option of a select-all, randomised apart, what holds of a question alone."""
    return f"For each of these answers by itself: {sentence}"


def draw_sentence(blocks: int, answer: int, *, groups: bool) -> str:
    """Say that all answers of a draw are read, and of so many blocks so many are sent.

    `groups` is whether some of the blocks have several questions.
    """
    some = ", some of them groups that are randomised together," if groups else ""
    return (
        f"Your device reads all of these {blocks} answers{some} and sends {answer} of them, chosen "
        "at random by your device, whatever the answers are. What is not chosen is not sent in any "
        "form."
    )


def drawn_sentence(blocks: int, answer: int) -> str:
    """Say how likely a block of a draw is sent; what else is said of it holds where it is."""
    return (
        f"It is sent with a chance of {answer} in {blocks}; the sentences below hold where it is "
        "sent."
    )


def sent_at_random_sentence(blocks: int, answer: int) -> str:
    """Say, beside a question of a draw, that its answer may not be sent at all."""
    return (
        f"Your device sends {answer} of {blocks} such answers, chosen at random, so this one is "
        f"sent with a chance of {answer} in {blocks}."
    )


def follow_up_sentence(question: str, router: str) -> str:
    """Say when a follow-up is asked, and that its answers are one more."""
    return (
        f"“{question}” is asked only after some answers to “{router}”; “{NOT_ASKED}” counts as one "
        "of its answers."
    )


def protection_of_survey(
    epsilons: tuple[Decimal, ...], reach: tuple[Decimal, ...] = ()
) -> Protection:
    """Say how well all answers together are protected, by the epsilons of the questions.

    Of routers `reach` has what it adds up to with the follow-ups that tell about their answers.
    """
    level = survey_level(epsilons, reach)
    return _protection(total_epsilon(epsilons), level, _SURVEY_WORDS[level], "survey")


def small_batch_sentence(minimum_batch: int) -> str:
    """Say that analysts may be given few reports at once, among which one stands out."""
    return (
        f"This survey may give its analysts as few as {minimum_batch} new reports at once; among "
        "so few, yours can stand out."
    )


def truth_sentence(oracle: FrequencyOracle, count: int = 1) -> str:
    """Say how often what is sent is, or points at, the truth: p, exact for every answer.

    The truth is an answer, or the combination of the answers to `count` questions of one block.
    """
    chance = high(_thousandths(oracle.p))
    true = "answer" if count == 1 else "combination of answers"
    if oracle.names_one_value:
        return f"What is sent is your true {true} with a chance of {chance}."
    all_of = "the {} answers" if count == 1 else "the {} combinations of answers"
    return _pointing(oracle, chance, all_of, f"your true {'answer' if count == 1 else 'one'}")


def _pointing(oracle: FrequencyOracle, chance: str, all_of: str, true: str) -> str:
    """Say at how many of all that there are a record points, and how likely the truth is one."""
    size = oracle.support_size
    number = "some, all or none" if size is None else str(size)
    return (
        f"What is sent points at {number} of {all_of.format(oracle.k)}, and with a chance of "
        f"{chance} {true} is among them."
    )


def number_sentence(domain: Sequence[str]) -> str:
    """Say what stands for a number; `domain` has its anchors and the answers that are none."""
    return (
        "Before anything is sent, your number is replaced by one of the two values beside it in "
        f"this list, the nearer one more often: {_listed(domain)}. An answer in the list stays."
    )


def truth_of_number(oracle: FrequencyOracle) -> str:
    """Say how often what is sent is, or points at, what stands for the answer: p, always."""
    chance = high(_thousandths(oracle.p))
    if oracle.names_one_value:
        return (
            f"What is sent is one of these {oracle.k}, and with a chance of {chance} the one that "
            "stands for your answer."
        )
    return _pointing(oracle, chance, "these {}", "the one that stands for your answer")


def _listed(domain: Sequence[str]) -> str:
    return ", ".join(domain if len(domain) <= 12 else (*domain[:9], "…", *domain[-2:]))


def guess_sentence(
    oracle: FrequencyOracle,
    best_guess: Decimal,
    count: int = 1,
    answers: int | None = None,
) -> str:
    """Say how often the best guess is right under its assumption, a uniform prior.

    The guess is of an answer, or of the answers to all `count` questions of one block. Of a number
    there are so many `answers`; an anchor is likeliest to give a record that supports it, so the
    best guess is an anchor, and each is one of the answers.
    """
    answers = answers or oracle.k
    chance = high(_thousandths(Fraction(best_guess) * oracle.k / answers))
    if oracle.form.seed_size:
        # A hash puts several answers into one group; how much a record reveals depends on these.
        chance = f"at most {chance}, whatever hash is drawn"
    # Rounded down: what the record adds to a guess is not to look smaller than it is.
    blind = low(1000 // answers)
    several = count > 1
    of_all = f" of all {count} answers" if several else ""
    return (
        f"If the {answers} {'combinations of ' if several else ''}answers were equally likely "
        f"beforehand, the best guess{of_all} from what is "
        f"sent would be right with a chance of {chance}; without it, {blind}."
    )


def factor(epsilon: Decimal) -> str:
    """Spell e^epsilon, rounded up: such as 1.5, 20, 3,000 or ``more than a million``."""
    number = factor_number(epsilon)
    return "more than a million" if number is None else spelled(number)


def high(thousandths: int) -> str:
    """Spell a chance that was rounded up."""
    return "nearly 100 %" if thousandths >= 1000 else f"{thousandths / 10:.1f} %"


def low(thousandths: int) -> str:
    """Spell a chance that was rounded down."""
    return "nearly 0 %" if thousandths <= 0 else f"{thousandths / 10:.1f} %"


def _thousandths(chance: Fraction) -> int:
    return -(-1000 * chance.numerator // chance.denominator)
