"""Rows divided into the groups that a fairness report compares.

The groups are the categories of one attribute, the combinations of several, or the two groups that
a manifest declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.pairs import quoted
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.published import Published
from hushpoll_training.evaluation.metrics import NEITHER
from hushpoll_training.models.model import Codes

GROUPS_AT_MOST = 1_000
BY_MANIFEST = "privileged by the manifest"
"""In words, why a group is the reference, where the manifest declares it."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows in groups that do not overlap."""

    attributes: tuple[str, ...]
    """By which the rows are divided."""
    names: tuple[str, ...]
    """Of each group, such as ``gender=Female, race=Black``."""
    group: npt.NDArray[np.int64]
    """int64[n], each row's place in `names`; -1 where a row is in no group."""
    reference: int
    """Place of the group that the others are compared with."""
    reference_is: str
    """In words, why this group is the reference."""


def partition_by(
    columns: Mapping[str, Sequence[str] | npt.NDArray[np.generic]], *, reference: str | None = None
) -> Partition:
    """Divide rows by one or more columns: each combination that occurs is a group.

    The reference, with which the others are compared, is ``attribute=category,attribute=category``
    in any order, each part with quotes or without. The default is the largest group, which gives
    the most precise comparisons. Refuses a reference that is no group (the message lists the
    groups), and more than `GROUPS_AT_MOST` groups.
    """
    arrays = {name: np.asarray(values).astype(str) for name, values in columns.items()}
    if (
        len({values.shape for values in arrays.values()}) != 1
        or not next(iter(arrays.values())).size
    ):
        raise InvalidParameter(
            "groups need at least one column and one row, and columns of one length; got "
            f"{ {name: values.shape for name, values in arrays.items()} }",
            field="groups",
        )
    group = np.zeros(next(iter(arrays.values())).shape, dtype=np.int64)
    labels = [""]
    for name, values in arrays.items():
        categories, place = np.unique(values, return_inverse=True)
        crossed, group = np.unique(group * len(categories) + place, return_inverse=True)
        labels = [
            ", ".join(
                filter(
                    None,
                    [
                        labels[code // len(categories)],
                        f"{name}={categories[code % len(categories)]}",
                    ],
                )
            )
            for code in crossed.tolist()
        ]
        if len(labels) > GROUPS_AT_MOST:
            raise InvalidParameter(
                f"{', '.join(arrays)} make more than {GROUPS_AT_MOST} groups; give fewer "
                "attributes, or attributes with fewer categories",
                field="groups",
            )
    given = None if reference is None else _group_named(reference, arrays, labels)
    largest = int(np.bincount(group).argmax())
    return Partition(
        tuple(arrays),
        tuple(labels),
        group,
        largest if given is None else given,
        "the largest group" if reference is None else "as given",
    )


def _group_named(
    reference: str, columns: Mapping[str, npt.NDArray[np.str_]], labels: Sequence[str]
) -> int:
    """Return the place of the group that a text names."""
    categories = {name: set(np.unique(values).tolist()) for name, values in columns.items()}
    labelled = {
        ", ".join(f"{name}={chosen[name]}" for name in columns)
        for chosen in _choices(reference, categories)
    }
    found = [place for place, label in enumerate(labels) if label in labelled]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidParameter(
            f"reference is {show(reference)}, which may be "
            f"{' or '.join(labels[one] for one in found)}; put each part into quotes, such as "
            '"attribute=category"',
            field="reference",
        )
    raise InvalidParameter(
        f"reference is {show(reference)}, which is no group; the groups are "
        f"{'; '.join(labels[:20])}{' ...' if len(labels) > 20 else ''}",
        field="reference",
    )


def _choices(text: str, left: Mapping[str, set[str]]) -> Iterator[dict[str, str]]:
    """Yield each way in which a text names a category of each of the columns that are left."""
    if not left:
        if not text:
            yield {}
        return
    for name, categories in left.items():
        for part, category in _parts(text, name, categories):
            rest = text[len(part) :]
            others = {other: known for other, known in left.items() if other != name}
            if bool(rest) == bool(others) and (not rest or rest.startswith(",")):
                for chosen in _choices(rest[1:].lstrip(), others):
                    yield {name: category, **chosen}


def _parts(text: str, name: str, categories: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the beginnings of a text that name a category of a column, and the category."""
    for before in {name, quoted(name)}:
        if text.startswith(f"{before}="):
            for category in categories:
                for spelled in {category, quoted(category)}:
                    if text.startswith(spelled, len(before) + 1):
                        yield f"{before}={spelled}", category
    if text.startswith('"'):
        for category in categories:
            whole = quoted(f"{name}={category}")
            if text.startswith(whole):
                yield whole, category


def partition_of(published: Published, codes: Codes, attributes: Sequence[str]) -> Partition:
    """Divide a survey's clear rows by some of its attributes; see :func:`partition_by`."""
    columns = {
        name: np.array(published.attribute(name).domain)[codes[published.attribute(name).name]]
        for name in attributes
    }
    return partition_by(columns)


def sides_of(published: Published, codes: Codes) -> npt.NDArray[np.int64] | None:
    """Return int64[n]: 1 for privileged rows, 0 for unprivileged ones, and -1 for all others.

    Without protected groups in the manifest it returns None.
    """
    protected = published.protected
    if protected is None:
        return None
    domain = published.attribute(protected.attribute).domain
    side = np.full(len(domain), NEITHER, dtype=np.int64)
    side[[domain.index(category) for category in protected.privileged]] = 1
    side[[domain.index(category) for category in protected.unprivileged]] = 0
    return side[codes[protected.attribute]]


def protected_partition(published: Published, codes: Codes) -> Partition | None:
    """Return the manifest's unprivileged and privileged group, or None if it declares none."""
    protected, side = published.protected, sides_of(published, codes)
    if protected is None or side is None:
        return None
    names = (
        f"unprivileged ({' or '.join(protected.unprivileged)})",
        f"privileged ({' or '.join(protected.privileged)})",
    )
    return Partition((protected.attribute,), names, side, 1, BY_MANIFEST)
