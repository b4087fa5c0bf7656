"""What the records of a survey tell of its groups."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_training.data.target import Target
from hushpoll_training.learners.evidence import GroupEvidence, Reports
from hushpoll_training.learners.grouping import Grouping, Groups, crossed
from hushpoll_training.learners.parameters import Value


def evidence_of_records(
    records: Records, skipped: Records | None, grouping: Grouping
) -> GroupEvidence:
    """Return what the records of a survey with a protected attribute tell of their groups.

    The rows of those that report that the target was skipped come last.
    """
    published = records.published
    target, attributes = Target.of(published), compared_attributes(published, grouping)

    def indicators(name: str) -> npt.NDArray[np.uint8]:
        own = records.indicators(name)
        return own if skipped is None else np.concatenate([own, skipped.indicators(name)])

    first, *further = (Reports(indicators(one.name), one.oracle) for one in attributes)
    return GroupEvidence(
        first.indicators,
        first.oracle,
        crossed(compared_groups(published, grouping), [one.k for one in attributes]),
        target.p,
        target.q,
        target.skippable,
        tuple(further),
    )


def check_grouping(published: Published, parameters: Mapping[str, Value]) -> None:
    """Refuse parameters of a learner that name groups which a survey does not have, or too many."""
    grouping = Grouping.of(parameters)
    attributes = compared_attributes(published, grouping)
    crossed(compared_groups(published, grouping), [one.k for one in attributes])


def compared_attributes(published: Published, grouping: Grouping) -> tuple[PublishedAttribute, ...]:
    """Return the protected attribute, and those that it is crossed with.

    Refuses the protected attribute and the target as further ones: a label cannot be made
    independent of itself.
    """
    if published.protected is None:
        raise InvalidParameter(
            f"the survey {published.name} declares no protected attribute, so there are no "
            "groups to compare; declare one in the manifest",
            field="protected",
        )
    protected = published.attribute(published.protected.attribute)
    others = {
        one.name: one
        for one in published.attributes
        if one.name != protected.name and one.role != "target"
    }
    for name in grouping.further:
        if name not in others:
            raise InvalidParameter(
                f"further_groups has {name!r}; it must name attributes of the survey besides "
                f"{protected.name} and the target: {', '.join(others) or 'there are none'}",
                field="further_groups",
            )
    return protected, *(others[name] for name in grouping.further)


def compared_groups(published: Published, grouping: Grouping) -> tuple[Groups, ...]:
    """Return the groups of each of :func:`compared_attributes`."""
    protected, *others = compared_attributes(published, grouping)
    assert published.protected is not None  # noqa: S101  (compared_attributes has refused None)
    declared = tuple(
        tuple(protected.domain.index(category) for category in categories)
        for categories in (published.protected.unprivileged, published.protected.privileged)
    )
    return (
        grouping.of_protected(declared, protected.k),
        *(grouping.of_further(one.k, unanswered=one.k - len(one.categories)) for one in others),
    )
