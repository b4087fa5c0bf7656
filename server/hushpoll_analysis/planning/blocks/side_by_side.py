"""How to randomise a draft's questions, by the respondents that what is wanted takes either way.

Three ways are compared: every question alone, questions together in blocks, and a draw, of whose
blocks each respondent answers some (:mod:`hushpoll_analysis.planning.blocks.ways`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from hushpoll_analysis.planning.blocks.ways import DRAWN, SPLIT, TOGETHER, Way, ways_of
from hushpoll_analysis.planning.goals import Goal
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.json_values import JsonMembers

Needed = Callable[[Manifest, Goal], int | None]


def side_by_side(manifest: Manifest, goals: Sequence[Goal], needed: Needed) -> JsonMembers | None:
    """Compare a draft's questions alone, in blocks, and drawn, for what is wanted.

    Parameters
    ----------
    manifest : Manifest
        The draft. Where it has no block, those are compared that goals of two questions make; where
        it has no draw, one in which goals, marked pairs and audits can still be answered.
    goals : sequence of Goal
        What is wanted, with values.
    needed : callable
        From a draft and a goal to the fewest respondents that would do; None if none would.

    Returns
    -------
    dict or None
        JSON: ``verdict`` in words, ``recommended``, and ``ways``, each with its ``name``, its
        ``blocks``, its ``draws``, and the ``n_needed`` of every goal in order, and of all. None
        where there is one way only, as for a single question.
    """
    wanted = [goal for goal in goals if goal.value is not None]
    if not wanted:
        return None
    found: dict[str, tuple[Way, JsonMembers]] = {}
    for way in ways_of(manifest, wanted):
        told = _told(way, wanted, needed)
        # of several draws the one that takes the fewest is compared with the rest
        if way.name not in found or _people(told) < _people(found[way.name][1]):
            found[way.name] = way, told
    if len(found) < 2:
        return None
    ways = [told for _, told in found.values()]
    best, chosen = min(found.values(), key=lambda one: _people(one[1]))
    others = [told for told in ways if told is not chosen]
    blocks = next((way.groups for way, _ in found.values() if way.name == TOGETHER), [])
    return {
        "verdict": _verdict(best, chosen, others, blocks, wanted),
        "recommended": chosen["name"],
        "ways": ways,
    }


def _told(way: Way, goals: Sequence[Goal], needed: Needed) -> JsonMembers:
    each = [needed(way.draft, goal) for goal in goals]
    most = None if None in each else max(one for one in each if one is not None)
    return {
        "name": way.name,
        "blocks": way.groups,
        "draws": [draw.to_dict() for draw in way.draft.draws],
        "n_needed": each,
        "n_needed_for_all": most,
    }


def _people(told: dict[str, Any]) -> tuple[float, int]:
    """Rank ways by the respondents that they take; the simpler one where it makes no difference."""
    needed = told["n_needed_for_all"]
    place = (SPLIT, TOGETHER, DRAWN).index(told["name"])
    return float("inf") if needed is None else needed, place


def _verdict(
    best: Way,
    chosen: JsonMembers,
    others: list[JsonMembers],
    blocks: list[list[str]],
    goals: Sequence[Goal],
) -> str:
    questions = "; ".join(" and ".join(group) for group in blocks)
    if chosen["n_needed_for_all"] is None:
        if len(others) == 1 and blocks:
            return (
                f"Neither way does: whether {questions} are alone or together, no number of "
                "respondents is enough."
            )
        return (
            "No way does: whether questions are alone, together or drawn, no number of respondents "
            "is enough."
        )
    takes = f"all that is wanted takes {chosen['n_needed_for_all']:,} respondents"
    rest = ", and ".join(_otherwise(other) for other in others)
    if best.name == DRAWN:
        return f"{_drawn(best)}: {takes}, and {rest}, because {_GAIN}.{_price(best)}"
    if best.name == TOGETHER:
        why = (
            "what is wanted of two questions of a block is paid for once"
            if _of_pairs(goals, blocks)
            else "each question of a block has the whole part of epsilon that its block has"
        )
        return f"Put together {questions}: {takes}, and {rest}, because {why}."
    even = all(other["n_needed_for_all"] == chosen["n_needed_for_all"] for other in others)
    reasons = []
    if blocks:
        reasons.append(
            "a block would gain nothing"
            if even
            else "the one answer to a block has so many values that this loses more than its "
            "larger part of epsilon gains"
        )
    if any(other["name"] == DRAWN for other in others):
        reasons.append("fewer would answer what is wanted, and that loses more than epsilon gains")
    why = ", and ".join(reasons)
    start = f"Leave {questions} alone" if blocks else "Let everybody answer every question"
    return f"{start}: {takes}, and {rest}, because {why}."


def _of_pairs(goals: Sequence[Goal], blocks: list[list[str]]) -> bool:
    pairs = [set(goal.names) for goal in goals if len(goal.names) == 2]
    audits = any(goal.kind == "audit" for goal in goals)
    return audits or any(pair <= set(group) for pair in pairs for group in blocks)


_WORDS = {SPLIT: "alone", TOGETHER: "together"}


def _otherwise(told: dict[str, Any]) -> str:
    words = _WORDS.get(told["name"])
    if words is None:
        words = " and ".join(
            f"with {draw['answer']} of {len(draw['blocks'])} drawn" for draw in told["draws"]
        )
    if told["n_needed_for_all"] is None:
        return f"{words} no number is enough"
    return f"{words} it takes {told['n_needed_for_all']:,}"


def _drawn(way: Way) -> str:
    """Say what the draft of a draw is."""
    what = "blocks, drawn" if way.groups else "questions, drawn"
    parts = []
    for draw in way.draft.draws:
        parts.append(
            f"let each respondent answer {draw.answer} of {len(draw.blocks)} {what} at random "
            f"({', '.join(_name(way, block) for block in draw.blocks)})"
        )
    words = " and ".join(parts)
    return f"{words[0].upper()}{words[1:]}"


def _name(way: Way, block: str) -> str:
    """Name a block by its questions, as the draft of the analyst may not have it."""
    for together in way.draft.together:
        if together.name == block:
            return " and ".join(together.attributes) + " together"
    return block


_GAIN: Final = (
    "a device divides epsilon among fewer answers, which gains more than is lost where not "
    "everybody answers"
)


def _price(way: Way) -> str:
    """Say what a draw cannot tell."""
    if all(draw.answer > 1 for draw in way.draft.draws):
        return ""
    if way.groups:
        return (
            " But nobody answers two of these blocks, so nothing can be said together of questions "
            "in different ones."
        )
    return " But nobody answers two of these questions, so nothing can be said of two together."
