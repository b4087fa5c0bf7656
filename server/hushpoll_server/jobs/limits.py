"""How much a job of this server may compute: the largest value of each of a learner's numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published

if TYPE_CHECKING:
    # Only jobs that train need the extra `train`, and importing it takes seconds.
    from hushpoll_training.learners.learner import Learner, Span


def check_limits(learner: Learner, setting: str | None) -> None:
    """Refuse a learner with a parameter that is too large for a job.

    The setting `job_parameter_limits` goes before the learner's own limits; one that names a
    parameter of no learner is refused too, as it would leave the limit that nobody sees.
    """
    for name, most in limits(learner, setting).items():
        value = learner.parameters[name]
        if most is not None and float(value) > most:
            raise InvalidParameter(
                f"{name} is {value}, above {most}, which is the most of a job on this server; give "
                "less, or export the records and train elsewhere",
                field=f"parameters.{name}",
            )


def check_groups(learner: Learner, published: Published) -> None:
    """Refuse a learner that needs groups, where there are none, or no record tells its own."""
    protected = published.protected
    if learner.compares_groups and protected is None:
        raise InvalidParameter(
            f"the learner {learner.name} compares groups, and the survey declares no protected "
            "attribute; use a learner without mitigation",
            field="learner",
        )
    if learner.compares_groups:
        from hushpoll_training.mitigation.records import check_grouping

        try:
            check_grouping(published, learner.parameters)
        except InvalidParameter as error:
            raise InvalidParameter(str(error), field=f"parameters.{error.field}") from None
    if not learner.needs_groups or (
        protected is not None and published.attribute(protected.attribute).oracle is None
    ):
        return
    hidden = "declares none" if protected is None else f"collects {protected.attribute} perturbed"
    raise InvalidParameter(
        f"the learner {learner.name} needs each record's group in clear, and the survey {hidden}; "
        "use a learner without groups, or train it on rows in clear elsewhere",
        field="learner",
    )


def allowed_space(learner: Learner, setting: str | None) -> dict[str, Span]:
    """Return what a search of a job may try: the learner's space, as far as its limits allow."""
    most = limits(learner, setting)
    space: dict[str, Span] = {}
    for name, span in learner.space.items():
        limit = most.get(name)
        if limit is not None and limit < span.low:
            raise InvalidParameter(
                f"the search of {name} begins at {span.low:g}, above {limit}, which is the most of "
                "a job on this server; export the records and use hushpoll tune elsewhere",
                field="learner",
            )
        space[name] = span if limit is None else span._replace(high=min(span.high, limit))
    if not space:
        raise InvalidParameter(
            f"the learner {learner.name} has no parameters to search; use another learner",
            field="learner",
        )
    return space


def limits(learner: Learner, setting: str | None) -> dict[str, int | float | None]:
    """Return the largest value of each of the learner's numbers, None where any is taken."""
    from hushpoll_training.learner_registry import LEARNERS
    from hushpoll_training.learners.parameters import ranges

    own = ranges(learner.bounds)
    names = {name for each in LEARNERS.values() for name in ranges(each.bounds)}
    limits = {name: allowed.job_limit for name, allowed in own.items()}
    for pair in (setting or "").split(","):
        name, _, number = pair.partition("=")
        if not pair:
            continue
        lowest = own[name].low if name in own else 0
        if name not in names or float(number) < lowest:
            wanted = f"one of {', '.join(sorted(names))}" if name not in names else "a larger limit"
            raise InvalidParameter(
                f"the setting job_parameter_limits of this server has {pair!r}; its operator must "
                f"give {wanted}",
                field="parameters",
            )
        if name in own:
            limits[name] = float(number) if "." in number else int(number)
    return limits
