"""Respondents that a survey of ten questions takes: split, together and drawn.

Four things are wanted of it: all ten shares, a gap between two groups, an audit, and the shares
among those who are asked a follow-up. The planner says how many respondents each takes in each way,
and surveys of that size are simulated. ``scripts/coverage-study --ways`` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis import (
    AuditPredictions,
    Records,
    answered_shares,
    audit,
    conditional_shares,
    frequencies,
)
from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.verdicts import verdicts
from hushpoll_analysis.planning.ways import Way, ways_of
from hushpoll_analysis.verdicts.needed import POWER
from hushpoll_shared import Manifest
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many
from studies.command import study_command

SEED = 2028
EPSILON = "4"
GROUPS = {"attribute": "q1", "privileged": "yes", "unprivileged": "no"}
WIDTH, GAP, DISPARITY, OF_THOSE_ASKED = 0.1, 0.2, 0.3, 0.2

Codes = dict[str, npt.NDArray[np.int64]]


@dataclass(frozen=True)
class Want:
    """One thing that is wanted, and how a simulated survey tells it.

    Attributes
    ----------
    title : str
        In words.
    goal : Goal
        As the planner has it.
    draft : Manifest
        The survey, split.
    people : callable
        From n and a generator to the answers of n people.
    tells : callable
        From records and the answers to a width, or to 1 where what is wanted is found and else 0.
    """

    title: str
    goal: Goal
    draft: Manifest
    people: Callable[[int, np.random.Generator], Codes]
    tells: Callable[[Records, Codes], float]


@dataclass(frozen=True)
class Row:
    """What one way takes, and what surveys of that size said.

    Attributes
    ----------
    want, way : str
        What is wanted, and ``split``, ``together`` or ``drawn``.
    answer : str
        How many blocks of a draw are answered, of how many; else empty.
    predicted : int
        Respondents.
    told : float
        Mean width, or the share of simulated surveys that found what is wanted.
    wanted : float
        The width, or the power.
    simulated : float
        Respondents by the simulated surveys: `predicted` times the square of what was missed.
    """

    want: str
    way: str
    answer: str
    predicted: int
    told: float
    wanted: float
    simulated: float


def draft(**more: Any) -> Manifest:
    """Return the survey of ten yes/no questions."""
    ten = [
        {"name": f"q{one}", "role": "sensitive", "categories": ["no", "yes"]}
        for one in range(1, 11)
    ]
    form = {"name": "ten", "version": 1, "title": "Ten", "epsilon": EPSILON, "protocol": "SS"}
    return Manifest.from_dict(form | {"attributes": ten} | more)


def _even(n: int, rng: np.random.Generator) -> Codes:
    return {f"q{one}": rng.integers(0, 2, n) for one in range(1, 11)}


def _share(records: Records, _: Codes) -> float:
    found = frequencies(records)
    widths = [one.upper - one.lower for one in found]  # type: ignore[operator]  # unbiased
    return float(np.mean(widths))


def _groups(n: int, rng: np.random.Generator) -> Codes:
    codes = _even(n, rng)
    codes["q2"] = (rng.random(n) < np.where(codes["q1"] == 0, 0.5 - GAP / 2, 0.5 + GAP / 2)) * 1
    return codes


def _gap(records: Records, _: Codes) -> float:
    found = conditional_shares(records, "q2", "q1", reference="no")
    return float(_leaves_out_0(found.result().differences[-1]))


def _leaves_out_0(one: Any) -> bool:
    return one.lower is not None and (one.lower > 0 or one.upper < 0)


def _audited() -> Manifest:
    attributes = [dict(one.to_dict()) for one in draft().attributes]
    attributes[1] |= {"role": "target", "positive": "yes", "protocol": "GRR"}
    return draft(attributes=attributes, protected=GROUPS)


def _population() -> npt.NDArray[np.float64]:
    population = AuditAssumptions().with_gap(DISPARITY, "EOD")
    assert population is not None
    return population


def _of_groups(n: int, rng: np.random.Generator) -> Codes:
    shares = _population()
    places = rng.choice(shares.size, n, p=shares.ravel() / shares.sum())
    group, label, predicted = np.unravel_index(places, shares.shape)
    return {**_even(n, rng), "q1": group, "q2": label, "": predicted}


def _disparity(records: Records, codes: Codes) -> float:
    predictions = AuditPredictions(codes[""], (), "external")
    return float(_leaves_out_0(audit(records, predictions, outlook=False).metrics["EOD"]))


def _with_follow_up() -> Manifest:
    attributes = [dict(one.to_dict()) for one in draft().attributes]
    attributes[1] |= {"categories": ["few", "some", "many"], "ask_if": {"q1": ["yes"]}}
    return draft(attributes=attributes, together=[{"name": "both", "attributes": ["q1", "q2"]}])


def _asked(n: int, rng: np.random.Generator) -> Codes:
    codes = _even(n, rng)
    codes["q2"] = np.where(codes["q1"] == 1, rng.integers(0, 3, n), 3)
    return codes


def _among_those_asked(records: Records, _: Codes) -> float:
    (found,) = answered_shares(records, attributes=["q2"])
    return float(np.mean([one.upper - one.lower for one in found.shares]))


def wants() -> tuple[Want, ...]:
    """Return what is wanted of the survey."""
    return (
        Want("ten shares", Goal("width", "q1", WIDTH), draft(), _even, _share),
        Want("a cross-table: gap of a share", Goal("gap", "q2/q1", GAP), draft(), _groups, _gap),
        Want("an audit: EOD", Goal("audit", "EOD", DISPARITY), _audited(), _of_groups, _disparity),
        Want(
            "a follow-up, among those asked",
            Goal("width", "q2", OF_THOSE_ASKED),
            _with_follow_up(),
            _asked,
            _among_those_asked,
        ),
    )


def run_study(*, surveys: int, seed: int) -> list[Row]:
    """Return a row for each way of each want.

    Parameters
    ----------
    surveys : int
        Simulated for each way.
    seed : int
        Of the answers and the records.
    """
    rows = []
    for want in wants():
        compared = verdicts(want.draft, [want.goal])["together"]
        for place, told in enumerate(compared["ways"]):
            way = _way(want, told)
            rng = np.random.default_rng([seed, place])
            rows.append(_simulated(want, way, told["n_needed_for_all"], surveys, rng))
    return rows


def _way(want: Want, told: dict[str, Any]) -> Way:
    """Return the way that the plan compares, with its draft."""
    for way in ways_of(want.draft, [want.goal]):
        draws = [draw.to_dict() for draw in way.draft.draws]
        if (way.name, way.groups, draws) == (told["name"], told["blocks"], told["draws"]):
            return way
    raise AssertionError(told)


def _simulated(want: Want, way: Way, n: int, surveys: int, rng: np.random.Generator) -> Row:
    published = way.draft.resolve()
    told = np.mean([_one(want, published, n, rng) for _ in range(surveys)])
    width = want.goal.kind == "width"
    wanted = (want.goal.value or 0.0) if width else POWER
    missed = told / wanted if width else _steps(wanted) / _steps(float(told))
    (draw,) = way.draft.draws or (None,)
    answer = "" if draw is None else f"{draw.answer} of {len(draw.blocks)}"
    return Row(want.title, way.name, answer, n, float(told), wanted, float(n * missed**2))


def _one(want: Want, published: Published, n: int, rng: np.random.Generator) -> float:
    codes = want.people(n, rng)
    asked = {name: np.asarray(values, np.int64) for name, values in codes.items() if name}
    return want.tells(Records.trusted(published, encode_many(published, asked, rng)), codes)


def _steps(power: float) -> float:
    """Return the standard errors by which a difference is away that is found with a power."""
    law = NormalDist()
    return law.inv_cdf(0.975) + law.inv_cdf(min(max(power, 0.01), 0.99))


def markdown(rows: Sequence[Row]) -> str:
    """Return the table."""
    lines = [
        "| wanted | way | predicted respondents | simulated respondents | simulated, wanted |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        way = f"{row.way}, {row.answer}" if row.answer else row.way
        lines.append(
            f"| {row.want} | {way} | {row.predicted:,} | {row.simulated:,.0f} | "
            f"{row.told:.3f}, {row.wanted:g} |"
        )
    return "\n".join(lines)


main = study_command(
    run_study,
    markdown,
    help="Respondents needed: split, together and drawn, predicted and simulated.",
    seed=SEED,
    surveys=200,
)

if __name__ == "__main__":
    main()
