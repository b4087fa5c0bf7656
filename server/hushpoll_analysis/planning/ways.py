"""The ways in which the questions of a draft can be randomised: alone, in blocks, and drawn.

A draw that the draft does not have is made of all its blocks, but for those that must be answered
with others: the target, and in one of two candidates each question that is wanted in several pairs.
How many a device answers is the number of least variance of the shares that are wanted, among those
with which a respondent answers each pair that is wanted or marked, and the group with the label.
A select-all is one block of the draw, or stays outside of it as it is published alone, whichever
has the smaller variances.

They are compared by the respondents that what is wanted takes either way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from hushpoll_analysis.planning.goals import Goal, needs
from hushpoll_analysis.planning.planner import total_variance
from hushpoll_analysis.records.answering import audited
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.randomization.blocks import Together
from hushpoll_shared.survey.randomization.budget import Split
from hushpoll_shared.survey.randomization.draws import SHORTHAND, Draw

SPLIT: Final = "split"
TOGETHER: Final = "together"
DRAWN: Final = "drawn"

ANSWERED: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Numbers of blocks that a device may answer, of which the best is looked for."""


@dataclass(frozen=True)
class Way:
    """One way to randomise the questions of a draft."""

    name: str
    """`SPLIT`, `TOGETHER` or `DRAWN`."""
    draft: Manifest

    @property
    def groups(self) -> list[list[str]]:
        """The questions that are randomised together."""
        return [list(block.attributes) for block in self.draft.together]


def ways_of(manifest: Manifest, goals: Sequence[Goal]) -> Iterator[Way]:
    """Yield the ways in which a draft can be published for its goals; of draws there may be two."""
    blocks = manifest.together or blocks_of_pairs(manifest, goals)
    everybody = undrawn(manifest)
    candidates = [Way(SPLIT, apart(everybody))]
    if blocks:
        candidates.append(Way(TOGETHER, joined(everybody, blocks)))
    for way in candidates:
        if _published(way.draft) is not None:
            yield way
    if manifest.draws:
        yield Way(DRAWN, manifest)
        return
    bases = [joined(everybody, blocks)] if blocks else []
    if not manifest.together:
        bases.append(everybody)
    for base in bases:
        drawn = best_draw(base, goals, hubs=base is everybody)
        if drawn is not None:
            yield Way(DRAWN, drawn)


def _published(draft: Manifest) -> Published | None:
    try:
        return draft.resolve()
    except InvalidParameter:
        return None


def blocks_of_pairs(manifest: Manifest, goals: Sequence[Goal]) -> tuple[Together, ...]:
    """Return the blocks of the questions that goals need in pairs, where both are perturbed."""
    perturbed = {one.name for one in manifest.attributes if one.perturbed}
    groups: list[set[str]] = []
    for pair in map(set, _pairs(manifest, goals)):
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


def _pairs(manifest: Manifest, goals: Sequence[Goal]) -> list[tuple[str, ...]]:
    """Return the pairs of questions that goals are about; of an audit with labels its own."""
    pairs = []
    target = next((one.name for one in manifest.attributes if one.role == "target"), None)
    for goal in goals:
        if goal.kind != "audit":
            pairs.append(goal.names)
        elif METRICS[goal.subject].uses_labels and manifest.protected and target is not None:
            pairs.append((manifest.protected.attribute, target))
    return pairs


def undrawn(manifest: Manifest) -> Manifest:
    """Return a draft of which everybody answers every block; a draw's weight is shared out."""
    if not manifest.draws:
        return manifest
    split = _shared_out(manifest.split, ((draw.name, draw.blocks) for draw in manifest.draws))
    return replace(manifest, draws=(), split=split)


def _shared_out(split: Split, parts: Iterable[tuple[str, Sequence[str]]]) -> Split:
    """Return a split that divides each weight that is named among the parts beside it."""
    weights = dict(split.weights)
    for name, of in parts if weights else ():
        weights |= dict.fromkeys(of, round(weights.pop(name) / len(of), 6))
    return replace(split, weights=tuple(weights.items()))


def _summed_up(split: Split, parts: Iterable[tuple[str, Sequence[str]]]) -> Split:
    """Return a split that gives each name the weights of the parts beside it."""
    weights = dict(split.weights)
    for name, of in parts if weights else ():
        weights[name] = sum((weights.pop(part) for part in of), Decimal(0))
    return replace(split, weights=tuple(weights.items()))


def apart(manifest: Manifest) -> Manifest:
    """Return a draft whose questions are randomised alone; a block's weight is shared out."""
    protocols = {name: one.protocol for one in manifest.together for name in one.attributes}
    blocks = ((block.name, block.attributes) for block in manifest.together)
    split = _shared_out(manifest.split, blocks)
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
    split = _summed_up(split, ((block.name, block.attributes) for block in blocks))
    return replace(manifest, together=tuple(blocks), split=split)


def best_draw(manifest: Manifest, goals: Sequence[Goal], *, hubs: bool) -> Manifest | None:
    """Return a draft without draws as one with a draw over its blocks.

    Variances of the shares that goals want decide how many blocks are answered. With `hubs`
    everybody answers the questions that several pairs have. None where no draw answers all that the
    draft needs of two questions.
    """
    published = _published(manifest)
    if published is None:
        return None
    required = _required(published, manifest, goals)
    counts = Counter(name for pair in required for name in pair)
    kept = {name for name, number in counts.items() if number > 1} if hubs else set()
    if published.target is not None:
        kept.add(published.target.name)
    owners = {one.name: one.block or one.name for one in published.perturbed}
    owners |= {name: one.name for one in published.selects for name in one.attributes}
    always = {owners[name] for name in kept if name in owners}
    selects = {one.name for one in manifest.questions}
    found: list[tuple[float, int, Manifest]] = []
    wanted = {name for goal in goals for name in needs(goal, published)}
    for outside in [always, always | selects] if selects else [always]:
        blocks = tuple(name for name in manifest.domain_sizes if name not in outside)
        for answer in ANSWERED:
            if answer >= len(blocks):
                break
            draft = _with_draw(manifest, blocks, answer, list(manifest.domain_sizes))
            survey = None if draft is None else _published(draft)
            if draft is None or survey is None:
                continue
            if all(survey.share_answering(pair) for pair in required):
                found.append((total_variance(survey, wanted), answer, draft))
    return min(found, key=lambda one: one[:2])[2] if found else None


def _required(
    published: Published, manifest: Manifest, goals: Sequence[Goal]
) -> list[tuple[str, ...]]:
    """Return the perturbed questions that must be answered together, once each."""
    perturbed = {one.name for one in published.perturbed}
    together = [needs(goal, published) for goal in goals]
    together += [*manifest.pairs, audited(published)]
    groups = (tuple(name for name in names if name in perturbed) for names in together)
    return list(dict.fromkeys(group for group in groups if len(group) > 1))


def _with_draw(
    manifest: Manifest, blocks: tuple[str, ...], answer: int, owners: Sequence[str]
) -> Manifest | None:
    """Return the draft with a draw; None for a select-all of too many selections."""
    taken = {*owners, *(one.name for one in manifest.attributes)}
    name, number = SHORTHAND, 1
    while name in taken:
        name, number = f"{SHORTHAND}-{number}", number + 1
    split, always = manifest.split, [one for one in dict.fromkeys(owners) if one not in blocks]
    if split.weights:
        split = _summed_up(split, [(name, blocks)])
    elif always and split.kind in ("uniform", "k-based"):
        even = [*((one, Decimal(1)) for one in always), (name, Decimal(answer))]
        split = Split("weights", tuple(even))
    elif split.kind == "k-based":
        split = Split("uniform")
    try:
        return replace(manifest, draws=(Draw(name, blocks, answer),), split=split)
    except InvalidParameter:
        return None


Needed = Callable[[Manifest, Goal], int | None]


def side_by_side(manifest: Manifest, goals: Sequence[Goal], needed: Needed) -> JsonMembers | None:
    """Compare a draft's questions alone, in blocks, and drawn, for what is wanted.

    Where the draft has no block, those are compared that goals of two questions make; where it has
    no draw, one in which goals, marked pairs and audits can still be answered. `needed` gives the
    fewest respondents that would do for a goal, None if none would.

    The JSON has ``verdict`` in words, ``recommended``, and ``ways``, each with its ``name``, its
    ``blocks``, its ``draws``, and the ``n_needed`` of every goal in order, and of all. It is None
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
            f"({_listed([_name(way, block) for block in draw.blocks])})"
        )
    words = " and ".join(parts)
    return f"{words[0].upper()}{words[1:]}"


_MOST_NAMED: Final = 6
"""Blocks that a sentence names one by one."""


def _listed(names: list[str]) -> str:
    """Name blocks, and of many the first; the draft has all of them."""
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:2])} and {len(names) - 2} more"


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
