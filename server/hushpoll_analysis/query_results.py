"""Which function answers which query: from counts or records, on a server and on a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from hushpoll_analysis.estimates.cross_table import joint_shares
from hushpoll_analysis.estimates.frequencies import Estimates as Estimated
from hushpoll_analysis.estimates.frequencies import estimated
from hushpoll_analysis.frames.tabular import ArrayResult
from hushpoll_analysis.multiplicity.dependencies import outcomes_of_pairs
from hushpoll_analysis.multiplicity.simultaneous import shares_together
from hushpoll_analysis.ordered.answered import shares_of_answered
from hushpoll_analysis.ordered.changes import change_of_statistics
from hushpoll_analysis.ordered.summary import summary
from hushpoll_analysis.ordered.together import means_together
from hushpoll_analysis.records.domains import FIELD, Domain
from hushpoll_analysis.records.source import Source
from hushpoll_analysis.relations.changes import change_of_shares
from hushpoll_analysis.relations.conditional import shares_in_groups
from hushpoll_analysis.relations.independence import outcome_of_test
from hushpoll_analysis.verdicts.judging import add_verdict, from_expected
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.estimators import ESTIMATOR_TERMS
from hushpoll_shared.queries.answered_shares import Answered
from hushpoll_shared.queries.changes import Change
from hushpoll_shared.queries.conditional_shares import ConditionalShares
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.queries.ordered_changes import OrderedChange
from hushpoll_shared.queries.simultaneous_estimates import Simultaneous
from hushpoll_shared.queries.simultaneous_means import SimultaneousMeans
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.result import Result
from hushpoll_shared.survey.option_texts import named_attributes, option_labels
from hushpoll_shared.survey.published import Published

R = TypeVar("R", bound=Result)


def estimated_with_means(query: Estimates, source: Source) -> Estimated:
    """Estimate every attribute, of a number its mean and of a follow-up those who were asked.

    Neither is what shares of all people are: records have anchors in place of a number, and not
    asked in place of the answer of who was not. What is too noisy to tell, and an estimator without
    intervals, have neither.
    """
    found = estimated(query, source)
    if ESTIMATOR_TERMS[query.estimator].no_interval is not None:
        return found
    published, level = source.published, query.confidence
    for place, one in enumerate(found):
        attribute = published.attribute(one.name)
        if attribute.number is not None and attribute.perturbed:
            whole = summary(Ordered(attribute=one.name, confidence=level), source).result()
            if not whole.too_noisy("groups"):
                found[place] = replace(one, mean=whole.groups[0].mean)
        elif attribute.ask_if is not None:
            query_of_those = Answered(attribute=one.name, confidence=level)
            of_those = shares_of_answered(query_of_those, source).result()
            if not of_those.too_noisy(one.name):
                found[place] = replace(one, asked=of_those.attributes[0])
    return found


RESULTS: Final[Mapping[type[Query[Any]], Callable[..., ArrayResult | Result]]] = {
    Answered: shares_of_answered,
    Change: change_of_shares,
    ConditionalShares: shares_in_groups,
    CrossTable: joint_shares,
    Dependencies: outcomes_of_pairs,
    Estimates: estimated_with_means,
    Independence: outcome_of_test,
    Ordered: summary,
    OrderedChange: change_of_statistics,
    Simultaneous: shares_together,
    SimultaneousMeans: means_together,
}
"""By the query: a function of it and of its source; of two versions, of the earlier source too."""

OF_A_GROUP: Final = frozenset({Ordered})
"""Queries that take a condition on a perturbed attribute: what they give of one group of `given`.

Shares within such a group are `conditional-shares`: where the group may be empty they have no
bound, for which the rows of `estimates` have no word.
"""

_WITHIN_GROUPS: Final = tuple(
    kind.name for kind in RESULTS if "given" in {one.name for one in kind.parameters()}
)


def result_of(query: Query[R], source: Source, before: Source | None = None) -> R:
    """Return the result of a query from its source and that of the version it is compared with."""
    inside = None if before is None else in_domain(query, before)
    return result_within(query, in_domain(query, source), inside)


def in_domain(query: Query[Any], source: Source) -> Source:
    """Return the source of the reports that a query is about.

    It refuses a condition on an attribute that is asked for itself, and on a perturbed one where
    the statistic has no law of its groups.
    """
    if query.where is None:
        return source
    domain = Domain.of(source.published, query.where)
    asked = query.names()
    for name in domain.codes:
        if name in asked:
            raise InvalidParameter(
                f"{FIELD} has a condition on {name}, which {asked[name]} asks for; leave the "
                "condition out, or ask for another attribute",
                field=FIELD,
            )
    perturbed = domain.perturbed(source.published)
    if perturbed:
        _require_one_group(query, perturbed)
    clear = Domain.of(
        source.published, {name: of for name, of in query.where.items() if name not in perturbed}
    )
    return source.within(clear) if clear.codes else source


def _require_one_group(query: Query[Any], perturbed: Sequence[str]) -> None:
    """Refuse conditions on perturbed attributes of which the query's statistic has no law."""
    name = perturbed[0]
    if type(query) not in OF_A_GROUP:
        raise InvalidParameter(
            f"{FIELD} has a condition on {name}, which is perturbed, so that nobody knows "
            f"whose report is in the domain; {FIELD} takes attributes in clear. Statistics "
            f"within groups have {name} as `given`: {', '.join(_WITHIN_GROUPS)}",
            field=FIELD,
        )
    wanted = (query.where or {})[name]
    if len(perturbed) > 1 or len(wanted) > 1:
        raise InvalidParameter(
            f"{FIELD} has {len(perturbed)} perturbed attributes and {len(wanted)} categories of "
            f"{name}; intervals are known within one category of one perturbed attribute: ask of "
            "each alone",
            field=FIELD,
        )
    if getattr(query, "given", None) is not None:
        raise InvalidParameter(
            f"{FIELD} has a condition on {name}, which is perturbed, and there are groups of "
            f"`given`; no interval is known within both: leave `given` or the condition out",
            field=FIELD,
        )


def result_within(query: Query[R], source: Source, before: Source | None = None) -> R:
    """Return the result of a query from sources of its domain; see :func:`result_of`."""
    maths = RESULTS[type(query)]
    sources = (source,) if before is None else (source, before)
    found = maths(query, *sources)
    result: Any = found.result() if isinstance(found, ArrayResult) else found
    if result.verdict is None:
        result = add_verdict(result, (query, *sources), from_expected(maths))
    told = with_options(query, result, source.published)
    return result_about(query, told)  # type: ignore[no-any-return]  # Query[R] has results of R


def with_options(query: Query[Any], result: R, published: Published) -> R:
    """Return a result that says what the options say that it is about."""
    if result.has_options or not published.selects:
        return result
    labels, asked = option_labels(published), named_attributes(published, query.names())
    about = {name: text for name, text in labels.items() if not asked or name in asked}
    return replace(result, options=about) if about else result


def result_about(query: Query[Any], result: R) -> R:
    """Return a result that says which domain it is about."""
    return result if query.where is None else replace(result, where=query.where)
