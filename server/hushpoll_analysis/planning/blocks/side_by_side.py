"""Whether to put questions together, by the respondents that what is wanted takes either way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from hushpoll_analysis.planning.goals import Goal
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.blocks import Together
from hushpoll_shared.survey.budget import Split
from hushpoll_shared.survey.manifest import Manifest

SPLIT: Final = "split"
TOGETHER: Final = "together"

Needed = Callable[[Manifest, Goal], int | None]


def side_by_side(
    manifest: Manifest, goals: Sequence[Goal], needed: Needed
) -> dict[str, Any] | None:
    """Compare a draft's questions alone with its blocks, or with blocks of the pairs wanted.

    Parameters
    ----------
    manifest : Manifest
        The draft. Where it has no block, those are compared that goals of two questions make.
    goals : sequence of Goal
        What is wanted, with values.
    needed : callable
        From a draft and a goal to the fewest respondents that would do; None if none would.

    Returns
    -------
    dict or None
        JSON: ``verdict`` in words, ``recommended``, and ``ways``, each with its ``name``, its
        ``blocks`` and the ``n_needed`` of every goal in order, and of all. None where no question
        could be put together for these goals, or blocks that could be are refused.
    """
    wanted = [goal for goal in goals if goal.value is not None]
    blocks = manifest.together or blocks_of_pairs(manifest, wanted)
    if not wanted or not blocks:
        return None
    try:
        drafts = {SPLIT: apart(manifest), TOGETHER: joined(manifest, blocks)}
        for draft in drafts.values():
            draft.resolve()
    except InvalidParameter:
        return None
    names = [list(block.attributes) for block in blocks]
    ways = [_way(name, drafts[name], names, wanted, needed) for name in drafts]
    best = min(ways, key=_people)
    return {
        "verdict": _verdict(ways, best, names, wanted),
        "recommended": best["name"],
        "ways": ways,
    }


def blocks_of_pairs(manifest: Manifest, goals: Sequence[Goal]) -> tuple[Together, ...]:
    """Return the blocks of the questions that goals name in pairs, where both are perturbed."""
    perturbed = {one.name for one in manifest.attributes if one.perturbed}
    groups: list[set[str]] = []
    for goal in goals:
        pair = set(goal.names)
        if len(pair) != 2 or not pair <= perturbed:
            continue
        touched = [group for group in groups if group & pair]
        groups = [group for group in groups if not group & pair]
        groups.append(pair.union(*touched))
    taken = {one.name for one in manifest.attributes}
    blocks = []
    for group in groups:
        names = tuple(one.name for one in manifest.attributes if one.name in group)
        number = 1
        while f"together-{number}" in taken:
            number += 1
        taken.add(f"together-{number}")
        blocks.append(Together(f"together-{number}", names))
    return tuple(blocks)


def apart(manifest: Manifest) -> Manifest:
    """Return a draft whose questions are randomised alone; a block's weight is shared out."""
    protocols = {name: one.protocol for one in manifest.together for name in one.attributes}
    split = manifest.split
    if split.weights and manifest.together:
        weights = dict(split.weights)
        for block in manifest.together:
            part = round(weights.pop(block.name) / len(block.attributes), 6)
            weights |= dict.fromkeys(block.attributes, part)
        split = replace(split, weights=tuple(weights.items()))
    attributes = tuple(
        replace(one, protocol=one.protocol or protocols.get(one.name))
        for one in manifest.attributes
    )
    return replace(manifest, attributes=attributes, together=(), split=split)


def joined(manifest: Manifest, blocks: Sequence[Together]) -> Manifest:
    """Return a draft with these blocks; its own where it has some.

    A block has the weights of its questions together. The split k-based, a rule for questions
    alone, becomes uniform.
    """
    if manifest.together:
        return manifest
    split = Split("uniform") if manifest.split.kind == "k-based" else manifest.split
    if split.weights:
        weights = dict(split.weights)
        for block in blocks:
            weights[block.name] = sum((weights.pop(name) for name in block.attributes), Decimal(0))
        split = replace(split, weights=tuple(weights.items()))
    return replace(manifest, together=tuple(blocks), split=split)


def _way(
    name: str,
    draft: Manifest,
    names: list[list[str]],
    goals: Sequence[Goal],
    needed: Needed,
) -> dict[str, Any]:
    each = [needed(draft, goal) for goal in goals]
    most = None if None in each else max(one for one in each if one is not None)
    return {
        "name": name,
        "blocks": names if name == TOGETHER else [],
        "n_needed": each,
        "n_needed_for_all": most,
    }


def _people(way: dict[str, Any]) -> tuple[float, bool]:
    """Rank ways by the respondents that they take; alone where it makes no difference."""
    needed = way["n_needed_for_all"]
    return float("inf") if needed is None else needed, way["name"] == TOGETHER


def _verdict(
    ways: list[dict[str, Any]],
    best: dict[str, Any],
    names: list[list[str]],
    goals: Sequence[Goal],
) -> str:
    questions = "; ".join(" and ".join(group) for group in names)
    other = next(way for way in ways if way is not best)
    if best["n_needed_for_all"] is None:
        return (
            f"Neither way does: whether {questions} are alone or together, no number of "
            "respondents is enough."
        )
    takes = f"all that is wanted takes {best['n_needed_for_all']:,} respondents"
    rest = (
        "no number is enough"
        if other["n_needed_for_all"] is None
        else f"it takes {other['n_needed_for_all']:,}"
    )
    pairs = any(
        set(goal.names) <= set(group) for goal in goals for group in names if len(goal.names) == 2
    )
    if best["name"] == TOGETHER:
        why = (
            "what is wanted of two questions of a block is paid for once"
            if pairs
            else "each question of a block has the whole part of epsilon that its block has"
        )
        return f"Put together {questions}: {takes}, and alone {rest}, because {why}."
    why = (
        "the one answer to a block has so many values that this loses more than its larger part "
        "of epsilon gains"
        if other["n_needed_for_all"] != best["n_needed_for_all"]
        else "a block would gain nothing"
    )
    return f"Leave {questions} alone: {takes}, and together {rest}, because {why}."
