"""Whether a survey can answer what is wanted of it, in words, and what it would take if not.

For every goal: what the draft has to say with its epsilon and n respondents, the fewest respondents
with which it would do, and the smallest epsilon with which n respondents would. Both are found by
halving, since widths fall and powers rise with either; what is found is checked, and rounded up to
three digits. Where no epsilon does, the verdict says whether sampling alone is too wide already.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Final

from hushpoll_analysis.auditing.expected_audits import SURVEYS
from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.planning.goals import (
    DRAWN,
    WIDTHS,
    Goal,
    check_goals,
    needs,
    resolved,
)
from hushpoll_analysis.planning.outcomes import PRECISE, Outcome, outcome, told_at_all
from hushpoll_analysis.planning.ways import side_by_side
from hushpoll_analysis.shuffling import DELTA, shuffle_guarantee
from hushpoll_analysis.verdicts.needed import N_MAX, POWER, PROTECTS, rounded_up
from hushpoll_protocols import format_epsilon
from hushpoll_protocols.epsilon import EPSILON_MAX, parse_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.protection import Level, survey_level
from hushpoll_shared.survey.published import Published


def interval_words(goal: Goal) -> str:
    """Return whose interval's width is wanted."""
    of = _share(goal)
    if goal.kind == "lead-width":
        each = f"{_percent(goal.share)} each"
        of = f"the difference between two categories of {_asked(goal)} with {each}"
    elif goal.kind == "mean":
        of = f"the mean of {_asked(goal)}"
    return f"the {_percent(goal.confidence)} interval of {of}"


def goal_words(goal: Goal) -> str:
    """Return what is wanted."""
    value = "" if goal.value is None else f" of {goal.value:g}"
    match goal.kind:
        case "width" | "lead-width" | "mean":
            return f"{interval_words(goal)}, {goal.value:g} wide,"
        case "difference":
            groups = f"{_percent(goal.group)} and {_percent(1 - (goal.group or 0.0))}"
            return f"a difference{value} from {_share(goal)} between groups of {groups}"
        case "change":
            return f"a change{value} from {_share(goal)}"
        case "lead":
            behind = "" if goal.share is None else f" with {_percent(goal.share)}"
            return f"a lead{value} of a category of {_asked(goal)} over another{behind}"
        case "gap":
            return f"a gap{value} from {_share(goal)} between {_groups(goal)}"
        case "mean-gap":
            return f"a gap{value} between the means of {_asked(goal)} in {_groups(goal)}"
        case "slope":
            return _slope(goal)
        case "association":
            first, second = goal.names
            return f"an association{value} (phi) between {first} and {second}"
        case _:
            ratio = METRICS[goal.subject].combination == "ratio"
            of_rates = " (as the difference of the two rates, not their ratio)" if ratio else ""
            return f"a disparity{value} in {goal.subject}{of_rates}"


def _slope(goal: Goal) -> str:
    outcome, predictor, *held = goal.names
    size = ""
    if goal.value is not None:
        size = f" of {goal.value:g} (odds {math.exp(goal.value):.3g} times as high)"
    fixed = "" if not held else f", with {' and '.join(held)} held fixed,"
    return f"a slope{size} of {outcome} on {predictor}{fixed}"


def _groups(goal: Goal) -> str:
    return f"two groups of {goal.names[1]}, the smaller one with {_percent(goal.group)},"


def _share(goal: Goal) -> str:
    return f"a share of {_percent(goal.share)} in {_asked(goal)}"


def _asked(goal: Goal) -> str:
    """Name the question that shares and means are of, and of a follow-up who is asked it."""
    name = goal.names[0] if goal.names else goal.subject
    if goal.part is None:
        return name
    return f"{name} (among the {_percent(goal.part)} of the people who are taken to be asked it)"


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.3g} %"


GOALS_MAX: Final = 4
"""Goals of one plan, which bounds its time."""

_CLOSE: Final = 0.002
_CLOSE_DRAWN: Final = 0.01
"""Relative, of a number that is looked for."""


@dataclass(frozen=True, slots=True)
class GoalVerdict:
    """What is said of one goal."""

    goal: Goal
    n: int | None
    """Respondents that were given; `predicted` is the outcome with them."""
    epsilon: Decimal
    predicted: Outcome | None
    n_needed: int | None
    """Fewest respondents that would do at this epsilon; None if not even `N_MAX` would, or if no
    value is wanted."""
    epsilon_needed: Decimal | None
    """Smallest with which n respondents would do; None if none would up to 64, if no n is given or
    no value wanted."""
    sampling: Outcome | None
    """With n respondents in clear, where no epsilon does; None for audits."""
    level_needed: Level | None = None
    """The level of protection under `epsilon_needed`, the worst of all questions' and of their
    sum's."""
    part: Fraction = Fraction(1)
    """How many of the respondents answer what the goal is about."""

    @property
    def answer(self) -> str:
        """``yes`` or ``no``; ``needs`` where n is asked for, ``has`` where a value is."""
        if self.predicted is None:
            return "no" if self.n_needed is None else "needs"
        if self.goal.value is None and self.predicted.noise is None:
            return "has"
        return "yes" if self.predicted.met else "no"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        predicted, goal, epsilon = self.predicted, self.goal, format_epsilon(self.epsilon)
        if predicted is None or self.n is None:  # neither is there without the other
            if self.n_needed is None:
                return (
                    f"No: {goal_words(goal)} cannot be had at epsilon {epsilon} with up to "
                    f"{N_MAX:,} respondents."
                )
            return _sentence(
                f"{goal_words(goal)} takes {_respondents(self.n_needed)}{self._each}"
                f"{self._of_whom(self.n_needed)} at epsilon {epsilon}"
            )
        size = f"with {_respondents(self.n)}{self._each}{self._of_whom(self.n)} and epsilon "
        size += epsilon
        if goal.kind in WIDTHS:
            wide = "has no bound in some surveys"
            if predicted.value is not None:
                wide = f"is {predicted.value:.3g} wide on average"
            tells = f"{size}, {interval_words(goal)} {wide}"
            if goal.value is None:
                return _sentence(tells)
            tells += f", and {goal.value:g} is wanted"
        elif predicted.noise is not None:
            tells = (
                f"{size}, {goal_words(goal)} is too noisy to tell, whatever the answers: a "
                f"standard error of {predicted.noise:.2g} is expected"
            )
        elif goal.value is None:
            if predicted.value is None:
                return _sentence(
                    f"{size}, {goal_words(goal)} is never found with a power of {POWER:g}"
                )
            return _sentence(
                f"{size}, {goal_words(goal)} is found with a power of {POWER:g} if it is at least "
                f"{predicted.value:.3g}"
            )
        else:
            tells = (
                f"{size}, {goal_words(goal)} is found with a power of {predicted.value:.2f}, and "
                f"{POWER:g} is wanted"
            )
        if predicted.met:
            return f"Yes: {tells}."
        return f"No: this survey cannot answer that; {tells}. {self._remedy}"

    @property
    def _each(self) -> str:
        return " per version" if self.goal.kind == "change" else ""

    def _of_whom(self, n: int) -> str:
        if self.part == 1:
            return ""
        names = self.goal.names
        of = {1: "it", 2: "both"}.get(len(names), "what it needs")
        return f", of whom {max(int(n * self.part), 1):,} answer {of},"

    @property
    def _remedy(self) -> str:
        ways = []
        if self.n_needed is not None:
            ways.append(f"with n = {self.n_needed:,} it could")
        if self.epsilon_needed is not None:
            ways.append(
                f"with epsilon {format_epsilon(self.epsilon_needed)} it could"
                + PROTECTS.get(self.level_needed, "")
            )
        told = _sentence("; ".join(ways) if ways else f"no n up to {N_MAX:,} would do")
        if self.epsilon_needed is not None:
            return told
        if self.sampling is not None and not self.sampling.met:
            return f"{told} No epsilon is enough for n = {self.n:,}: sampling alone is too wide."
        told += f" No epsilon up to {EPSILON_MAX} is enough for n = {self.n:,}"
        return told + (" under this protocol." if self.sampling is not None else ".")

    def to_dict(self) -> JsonMembers:
        """Return the verdict as the API and ``--json`` give it."""
        return {
            "goal": self.goal.to_dict(),
            "answer": self.answer,
            "n": self.n,
            "epsilon": format_epsilon(self.epsilon),
            "predicted": None if self.predicted is None else self.predicted.value,
            "n_needed": self.n_needed,
            "epsilon_needed": None
            if self.epsilon_needed is None
            else format_epsilon(self.epsilon_needed),
            "sampling_alone": None if self.sampling is None else self.sampling.value,
            "sentence": self.sentence,
        }


def verdicts(
    manifest: Manifest,
    goals: Sequence[Goal],
    *,
    n: int | None = None,
    epsilon: Decimal | str | None = None,
    given: AuditAssumptions | None = None,
    delta: float = DELTA,
    crowd: int | None = None,
) -> JsonMembers:
    """Say whether a draft can answer what is wanted, and what it would take.

    Without n, from 1 to `N_MAX`, the fewest respondents that would do are looked for. `epsilon` is
    in place of the draft's; the gap of `given` plays no part; `delta` and `crowd` are those of
    :func:`hushpoll_analysis.shuffle_guarantee`. It refuses what is outside its interval, none or
    more than `GOALS_MAX` goals, and a value asked for without n.

    The JSON has ``verdict`` in words, ``answer``, ``goals``, ``together`` (questions alone beside
    questions in blocks and drawn, see :func:`side_by_side`), ``shuffled`` (what a trusted shuffler
    would add with that n; None without one, or without a perturbed attribute); where the draft has
    select-alls, ``selects``: what each is published as, and why.
    """
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= N_MAX):
        raise InvalidParameter(
            f"n is {n!r}; give from 1 to {N_MAX:,} respondents, or none to ask how many it takes",
            field="n",
        )
    if len(goals) > GOALS_MAX:
        raise InvalidParameter(
            f"{len(goals)} goals are given; give at most {GOALS_MAX} at a time", field="want"
        )
    if epsilon is not None:
        manifest = replace(manifest, epsilon=parse_epsilon(epsilon))
    published = manifest.resolve()
    goals = [_of_options(goal, published) for goal in goals]
    check_goals(goals, published)
    assumed = given or AuditAssumptions()
    told = [_verdict(manifest, published, goal, n, assumed) for goal in goals]
    respondents = n or max((one.n_needed or 0 for one in told), default=0)
    shuffled = None
    if respondents and published.perturbed:
        shuffled = shuffle_guarantee(published, respondents, delta=delta, crowd=crowd).to_dict()
    return {
        "survey": manifest.name,
        "epsilon": format_epsilon(manifest.epsilon),
        "n": n,
        **_together(told),
        "goals": [one.to_dict() for one in told],
        "together": _side_by_side(manifest, told, assumed),
        "shuffled": shuffled,
        **({"selects": [one.reason for one in manifest.choices]} if manifest.choices else {}),
    }


def _of_options(goal: Goal, published: Published) -> Goal:
    """Return a goal about a select-all as one about its first option: all have the same law."""
    first = {select.name: select.attributes[0] for select in published.selects}
    names = re.split("([/~+])", goal.subject)
    return replace(goal, subject="".join(first.get(name, name) for name in names))


def _side_by_side(
    manifest: Manifest, told: Sequence[GoalVerdict], given: AuditAssumptions
) -> JsonMembers | None:
    known = {one.goal: one.n_needed for one in told}

    def needed(draft: Manifest, goal: Goal) -> int | None:
        if draft == manifest:
            return known[goal]
        published = draft.resolve()

        def enough(people: int, surveys: int) -> bool:
            return outcome(goal, published, people, given, surveys=surveys).met

        return _fewest(goal, enough)

    return side_by_side(manifest, list(known), needed)


def _together(told: Sequence[GoalVerdict]) -> JsonMembers:
    answers = [one.answer for one in told]
    if len(told) == 1:
        return {"answer": answers[0], "verdict": told[0].sentence}
    if "no" in answers:
        missed = ", ".join(str(one.goal) for one in told if one.answer == "no")
        words = f"No: this survey cannot answer all that is wanted; it misses {missed}."
        needs = [one.n_needed for one in told if one.goal.value is not None]
        if needs and None not in needs:
            most = max(need for need in needs if need is not None)
            words += f" With n = {most:,} it could answer all."
        return {"answer": "no", "verdict": words}
    if "needs" in answers:
        most = max(one.n_needed or 0 for one in told)
        return {"answer": "needs", "verdict": f"All that is wanted takes {_respondents(most)}."}
    if "yes" in answers:
        return {"answer": "yes", "verdict": "Yes: this survey can answer all that is wanted."}
    return {"answer": "has", "verdict": "What can be had is below."}


def _verdict(
    manifest: Manifest,
    published: Published,
    goal: Goal,
    n: int | None,
    given: AuditAssumptions,
) -> GoalVerdict:
    goal = resolved(goal, published)
    part = published.share_answering(needs(goal, published))
    now = None
    if goal.value is None:
        if n is None:
            raise InvalidParameter(
                f"{goal} asks which value can be had, and n is asked for, too; give one of them",
                field="want",
            )
        now = outcome(goal, published, n, given)
        if now.noise is None:
            return GoalVerdict(goal, n, manifest.epsilon, now, None, None, None, part=part)
    elif n is not None:
        now = outcome(goal, published, n, given, surveys=PRECISE)

    def met(draft: Published, people: int, surveys: int) -> bool:
        if goal.value is None:
            return told_at_all(goal, draft, people)
        return outcome(goal, draft, people, given, surveys=surveys).met

    needed = _fewest(goal, lambda people, surveys: met(published, people, surveys))
    least = sampling = level = None
    if n is not None and now is not None and not now.met:

        def enough_epsilon(epsilon: Decimal, surveys: int) -> bool:
            return met(replace(manifest, epsilon=epsilon).resolve(), n, surveys)

        asked = [published.attribute(name) for name in goal.names]
        perturbed = not asked or any(attribute.perturbed for attribute in asked)
        least = _smallest_epsilon(goal, manifest.epsilon, enough_epsilon) if perturbed else None
        if least is None and goal.kind != "audit":
            sampling = outcome(goal, published, n, given, in_clear=True)
        if least is not None:
            at_least = replace(manifest, epsilon=least).resolve()
            level = survey_level(at_least.budget.values(), at_least.reach.values())
    return GoalVerdict(goal, n, manifest.epsilon, now, needed, least, sampling, level, part)


def _fewest(goal: Goal, enough: Callable[[int, int], bool]) -> int | None:
    """Return the fewest respondents that are enough, rounded up to three digits."""
    low, high = 0, 2
    while not enough(high, SURVEYS):
        if high >= N_MAX:
            return None
        low, high = high, min(8 * high, N_MAX)
    close = _CLOSE_DRAWN if goal.kind in DRAWN else _CLOSE
    while high - low > max(1, close * high):
        middle = math.isqrt(low * high) if low else high // 2
        middle = min(max(middle, low + 1), high - 1)
        low, high = (low, middle) if enough(middle, SURVEYS) else (middle, high)
    needed = min(round(rounded_up(high)), N_MAX)
    # powers are counted, or stand on few quantiles, so they do not rise everywhere
    while not enough(needed, PRECISE):
        if needed == N_MAX:
            return None
        needed = min(max(round(rounded_up(needed * (1 + close))), needed + 1), N_MAX)
    return needed


def _smallest_epsilon(
    goal: Goal, now: Decimal, enough: Callable[[Decimal, int], bool]
) -> Decimal | None:
    """Return the smallest epsilon above the present one that is enough, up to three digits."""
    if now >= EPSILON_MAX or not enough(EPSILON_MAX, SURVEYS):
        return None
    low, high = float(now), float(EPSILON_MAX)
    close = _CLOSE_DRAWN if goal.kind in DRAWN else _CLOSE
    while high - low > close * high:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(_spelled(middle), SURVEYS) else (middle, high)
    least = _spelled(high)
    while not enough(least, PRECISE):
        if least == EPSILON_MAX:
            return None
        least = _spelled(float(least) * (1 + close))
    return least


def _spelled(epsilon: float) -> Decimal:
    return min(Decimal(f"{rounded_up(epsilon):.3g}"), EPSILON_MAX)


def _respondents(n: int) -> str:
    return f"{n:,} respondent{'' if n == 1 else 's'}"


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
