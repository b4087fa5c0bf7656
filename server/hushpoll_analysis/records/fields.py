"""Which fields of the record hold a question, and what a block's counts say of some questions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_shared.survey.codec import Field
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.randomization.blocks import Block


def fields_of(published: Published, only: Collection[str] | None = None) -> Sequence[Field]:
    """Return the fields of the record, or those that hold the attributes or blocks named."""
    fields = published.layout.fields
    if only is None:
        return fields
    wanted = set(only)
    return [field for field in fields if field.name in wanted or wanted & _questions(field)]


def _questions(field: Field) -> set[str]:
    return set() if field.block is None else {one.name for one in field.block.questions}


def categories_of(published: Published, field: Field) -> Iterator[str]:
    """Yield the categories of a field; of a block the possible answers to its questions."""
    if field.block is None or field.block.alone:
        yield from published.attribute(field.name).domain
        return
    domains = [question.domain for question in field.block.questions]
    for combination in range(field.block.k):
        codes = field.block.part(combination)
        yield " & ".join(domain[code] for domain, code in zip(domains, codes, strict=True))


def over_others(support: npt.NDArray[Any], block: Block, names: Sequence[str]) -> npt.NDArray[Any]:
    """Return what a block has of some of its questions, summed over the answers to its others.

    From numbers[K, ...] of the block's combinations to [k1, k2, ..., ...], an axis for each
    question named, in that order.
    """
    places = [block.place(name) for name in names]
    if block.tree is not None:
        return _over_tree(support, block, places)
    table = support.reshape(*block.sizes, *support.shape[1:])
    others = tuple(place for place in range(len(block.sizes)) if place not in places)
    kept = sorted(places)
    left = table.sum(axis=others, dtype=support.dtype)
    order = [kept.index(place) for place in places]
    rest = range(len(places), left.ndim)
    return np.ascontiguousarray(left.transpose(*order, *rest))


def _over_tree(support: npt.NDArray[Any], block: Block, places: Sequence[int]) -> npt.NDArray[Any]:
    """Return the same of a block without some combinations, for which there is a 0."""
    shape = [block.sizes[place] for place in places]
    columns = [
        np.frombuffer(block.codes_of(block.questions[place].name), np.uint16).astype(np.int64)
        for place in places
    ]
    left = np.zeros((*shape, *support.shape[1:]), support.dtype)
    np.add.at(left, tuple(columns), support)
    return left
