"""How often audits of a population would decide: their own rule, on surveys drawn from the law.

No closed form predicts how often a rule for small groups with rare positives decides: a normal law
with the delta method's variance said .99 where .78 was true. A row of a survey is one of few kinds
(group, label, prediction, and what the records of group and label say), so a survey is one
multinomial draw, and thousands of audits take less than a second. The generator has a fixed seed:
the same draft always has the same power, with a standard error of at most 1/(2 sqrt(surveys)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.moments import TERMS, Moments
from hushpoll_analysis.auditing.predictions import codes_of_groups, codes_of_labels, sizes_of_sets
from hushpoll_analysis.auditing.sets import conclusive, found_disparate, metric_set
from hushpoll_analysis.estimates.weight_law import weight_law
from hushpoll_analysis.records.answering import labelled_target
from hushpoll_analysis.records.laws import cells_of
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

SURVEYS = 1_500
"""Drawn for a power, whose standard error is then at most .013, and .01 at .8."""

AT_A_TIME = 500
SEED = 20231

Array = npt.NDArray[np.float64]


def finds(moments: Moments, name: str, confidence: float) -> npt.NDArray[np.bool_]:
    """Return in which surveys an audit finds a disparity, bool[surveys]."""
    return found_disparate(moments, name, confidence=confidence)


def concludes(moments: Moments, name: str, confidence: float) -> npt.NDArray[np.bool_]:
    """Return in which surveys an audit can conclude, bool[surveys]."""
    return conclusive(metric_set(moments, name, confidence=confidence), name)


def share_of_surveys(
    decide: Callable[[Moments, str, float], npt.NDArray[np.bool_]],
    published: Published,
    n: int,
    population: Array,
    names: tuple[str, ...],
    *,
    confidence: float,
    outside: float = 0.0,
    surveys: int = SURVEYS,
) -> dict[str, float]:
    """Return the share of surveys in which an audit decides so, by metric.

    `decide` is :func:`finds` or :func:`concludes`. The categories of the protected attribute are
    equally frequent within a group; `population` f64[2, 2, 2] has the shares of those in the groups
    by group, label and prediction, and `outside`, in [0, 1), that of all who are in neither.
    """
    if n < 1:
        raise InvalidParameter(f"n is {n}; it must be at least 1 respondent", field="n")
    terms, chance = _kinds(published, population, outside)
    decided = dict.fromkeys(names, 0)
    for moments in _surveys(terms, chance, n, surveys):
        for name in names:
            decided[name] += int(decide(moments, name, confidence).sum())
    return {name: number / surveys for name, number in decided.items()}


def _kinds(published: Published, population: Array, outside: float) -> tuple[Array, Array]:
    """Return the terms f64[m, 8] of each kind of row, and its probability f64[m]."""
    protected, target = published.protected, labelled_target(published)
    if protected is None:
        raise InvalidParameter(
            f"survey {published.name} declares no protected attribute, so there is nothing to "
            "audit; declare one",
            field="protected",
        )
    attribute = published.attribute(protected.attribute)
    sets = _with_others(attribute, codes_of_groups(published))
    people = population * (1 - outside)
    groups = people.sum(axis=(1, 2)).tolist()
    if len(sets) > 2:
        # nobody is outside where no category is, and the predictions there do not matter
        people = np.concatenate([people, outside * population.mean(axis=0, keepdims=True) * 2])
        groups.append(outside)
    if target is not None and _together(attribute, target):
        return _joint_kinds(published, (attribute, target), sets, people)
    group_law = weight_law(attribute.oracle, sizes_of_sets(attribute, sets), groups)
    label_law = weight_law(None, [1, 1], [0.5, 0.5])
    if target is not None:
        parts = _with_others(target, codes_of_labels(target))
        shares = [*population.sum(axis=(0, 2)).tolist(), 0.0]
        label_law = weight_law(target.oracle, sizes_of_sets(target, parts), shares[: len(parts)])
    terms, chances = [], []
    for (group, label, predicted), share in np.ndenumerate(people):
        weights, weight_chance = group_law[group]
        labels, label_chance = label_law[label]
        of = labels[:, [1, 0]]
        each = [
            weights[:, None, own, None] * of[None] * factor
            for own in (0, 1)
            for factor in (1, predicted)
        ]
        terms.append(np.concatenate(each, axis=-1).reshape(-1, TERMS))
        chances.append(share * np.outer(weight_chance, label_chance).ravel())
    return _rows(terms, chances)


def _together(first: PublishedAttribute, second: PublishedAttribute) -> bool:
    return first.block is not None and first.block == second.block


def _with_others(attribute: PublishedAttribute, sets: Sequence[list[int]]) -> list[list[int]]:
    """Return sets of categories, and one of all others if there are others."""
    rest = sorted(set(range(attribute.k)).difference(*sets))
    return [*sets, rest] if rest else [*sets]


def _rows(terms: list[Array], chances: list[Array]) -> tuple[Array, Array]:
    """Return the terms of kinds of rows that there can be, and their probabilities."""
    probability = np.concatenate(chances)
    possible = probability > 0
    return np.concatenate(terms)[possible], probability[possible] / probability.sum()


def _joint_kinds(
    published: Published,
    asked: tuple[PublishedAttribute, PublishedAttribute],
    sets: list[list[int]],
    people: Array,
) -> tuple[Array, Array]:
    """Return the terms and probabilities of rows whose group and label are in one block."""
    protected, target = asked
    oracle, block = protected.oracle, published.block_of(protected.name)
    assert oracle is not None  # noqa: S101  (questions of blocks are perturbed)
    assert block is not None  # noqa: S101  (it is their block)
    members = cells_of(block, [protected.name, target.name])[0]
    cells = [
        int(members[np.ix_(own, of)].sum()) for own in sets[:2] for of in codes_of_labels(target)
    ]
    shares = people[:2].sum(axis=2).ravel().tolist()
    rest = oracle.k - sum(cells)
    if rest:
        cells.append(rest)
        shares.append(max(1.0 - sum(shares), 0.0))
    # five sets of three points each would make thousands of kinds of rows
    law = weight_law(oracle, cells, shares, points=2)
    terms, chances = [], []
    for (group, label, predicted), share in np.ndenumerate(people):
        weights, chance = law[2 * group + label if group < 2 else 4]
        rows = [
            weights[:, [2 * own + 1, 2 * own]] * factor
            for own in (0, 1)
            for factor in (1, predicted)
        ]
        terms.append(np.concatenate(rows, axis=-1))
        chances.append(share * chance)
    return _rows(terms, chances)


def _surveys(terms: Array, chance: Array, n: int, surveys: int) -> Iterator[Moments]:
    """Yield the moments of surveys, some at a time: means over kinds of fixed products."""
    rng = np.random.default_rng(SEED)
    second = terms[:, :, None] * terms[:, None, :]
    halves = [terms[:, :4], terms[:, 4:]]
    pairs = [(half[:, :, None] * half[:, None, :]).reshape(-1, 16) for half in halves]
    third = [half[:, :, None] * pair[:, None, :] for half, pair in zip(halves, pairs, strict=True)]
    fourth = [pair[:, :, None] * pair[:, None, :] for pair in pairs]
    products = [terms, second, np.stack(third, axis=1), np.stack(fourth, axis=1)]
    table = np.concatenate([part.reshape(len(terms), -1) for part in products], axis=1)
    ends = np.cumsum([8, 64, 128, 512])
    for start in range(0, surveys, AT_A_TIME):
        some = min(AT_A_TIME, surveys - start)
        means = rng.multinomial(n, chance, size=some) / n @ table
        mean, pair, triple, quadruple = np.split(means, ends[:-1], axis=1)
        yield Moments(
            n,
            mean,
            pair.reshape(-1, 8, 8),
            triple.reshape(-1, 2, 4, 4, 4),
            quadruple.reshape(-1, 2, 16, 16),
        )
