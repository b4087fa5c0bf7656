"""Weighted shares of an attribute, from records with a design or from the counts that are kept.

Whether they can tell anything is known before any answer to the question is looked at. Weights make
n reports worth fewer: Kish's effective number, which depends on the answers to the design's
attributes and not on those to the question. The interval of a share is taken as that of so many
reports without weights, all answers equally frequent. A design with a margin of a perturbed
attribute divides by the shares of its categories among the respondents, so these must be known,
too; they are expected to be those of the population.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.precision import widest, width_of
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.records.answering import part_of_all, require_answered
from hushpoll_analysis.records.counts import JointCounts, count
from hushpoll_analysis.records.pairs import joint_counts
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.survey_design.calibrated import SURE, estimated
from hushpoll_analysis.survey_design.design import CheckedDesign, SurveyDesign, Target, checked
from hushpoll_analysis.survey_design.samples import (
    CountSample,
    RecordSample,
    ordered,
    require_size,
)
from hushpoll_analysis.survey_design.shares import ASSUMPTION, WeightedShares
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_analysis.verdicts.judging import verdict_of
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.qualifying.verdict import Reach, Verdict, share_tells
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published

_DIGITS: Final = 3
"""So many of the part of the reports that the effective ones are."""


def verdict_on(
    published: Published,
    plan: CheckedDesign,
    results: Sequence[WeightedShares],
    n: int | None = None,
) -> Verdict:
    """Return the verdict on weighted shares of one or several attributes; each is a part.

    The plan is the same for all attributes; the shares of the results are not looked at. `n` is
    given where only some of the reports answer each attribute.
    """
    first = results[0]
    parts = {one.attribute: _part(one) for one in results}
    confidence = first.confidence

    def foresee(_: Estimates, sides: Sequence[Expected]) -> list[Reach]:
        (whole,) = sides
        answering = {name: whole.answering((name, *plan.attributes())) for name in parts}
        shares = [
            _of_share(answering[name], name, part, confidence) for name, part in parts.items()
        ]
        for side, names in _alike(answering):
            shares += _of_margins(plan, side, confidence, names)
        return shares

    only = ["weighted shares", *(f"{name}: {part:g}" for name, part in parts.items())]
    for target in plan.targets:
        only += [*target.attributes, *(f"{share:.17g}" for share in target.shares.ravel().tolist())]
    # weighted shares are no query yet: those without weights are told apart by `only`
    query = Estimates(confidence=confidence)
    return verdict_of(query, [Expected(published, n or first.n)], foresee, only)


def _alike(answering: dict[str, Expected]) -> Iterator[tuple[Expected, tuple[str, ...]]]:
    """Yield the numbers of reports that there are, each with the attributes that it is of."""
    by_number: dict[int, list[str]] = {}
    for name, side in answering.items():
        by_number.setdefault(side.n, []).append(name)
    for names in by_number.values():
        yield answering[names[0]], tuple(names)


def _part(found: WeightedShares) -> float:
    """Return the part of the reports that the effective ones are; 1 where that is not known."""
    part = found.effective_n / found.n
    return round(min(part, 1.0), _DIGITS) if np.isfinite(part) else 1.0


def _of_share(side: Expected, name: str, part: float, confidence: float) -> Reach:
    asked = side.published.attribute(name)
    n = max(round(side.n * part), 1)
    half = widest(asked, 1 / asked.k, n, confidence) / 2
    what = f"a weighted share of {name}"
    if n != side.n:
        what += f", for which the weights make the reports worth {n:,}"
    return Reach(part=name, what=what, half_width=half, most=share_tells(asked.k))


def _of_margins(
    plan: CheckedDesign, side: Expected, confidence: float, parts: Sequence[str]
) -> Iterator[Reach]:
    """Yield how well the categories are known by whose shares a perturbed margin divides."""
    for target in plan.targets:
        if len(target.attributes) > 1:  # what its cells are known to, the shares' own sets say
            continue
        asked = side.published.attribute(target.attributes[0])
        if asked.oracle is None:
            continue
        shares = target.shares.tolist()
        place = min((share, code) for code, share in enumerate(shares) if share > 0)[1]
        half = width_of(asked, place, shares[place], side.n, confidence) / 2
        for part in parts:
            yield Reach(
                part=part,
                what=f"the share of {asked.name} = {asked.domain[place]}, by which the design "
                f"divides those of {part}",
                half_width=half,
                most=shares[place] / SURE,
            )


Array = npt.NDArray[np.float64]


def weighted_shares(
    records: Records,
    attribute: str,
    design: SurveyDesign | None = None,
    *,
    weights: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> WeightedShares:
    """Estimate the shares of an attribute's categories in the population.

    Assumptions: respondents are drawn independently within their stratum; within each cell of the
    weights and margins those who answered are like those who did not; devices follow the protocol.
    The attribute, and those of the margins, may be perturbed or in clear. Where some are in a draw,
    all is of the records that answer all of them.

    Parameters
    ----------
    records : Records
        Read several times, in blocks.
    attribute : str
        That is estimated.
    design : SurveyDesign, optional
        Margins, strata, weights of clear cells, population.
    weights : f64[n], optional
        Of each record, at least 0 and not all 0: people for whom the respondent stands. They must
        not depend on perturbed records. Not together with the design's weights of cells.
    confidence : float
        Of each interval, in (0, 1).

    Returns
    -------
    WeightedShares
        With `totals` where there is a population, or where weights without margins count people; of
        questions in a draw only with a population, since the weights of those who answer count few.

    Raises
    ------
    InvalidParameter
        As :func:`hushpoll_analysis.survey_design.design.checked`; for weights of another length,
        negative or all 0; a population smaller than the sample; a category in clear that has a
        share and no respondent; margins that no factors (within the bounds) give; a table that is
        too large; a bad confidence; or no records.
    """
    published = records.published
    plan = checked(design or SurveyDesign(), published, attribute)
    require_rows(len(records))
    given = None if weights is None else _record_weights(weights, len(records))
    needed = (attribute, *plan.attributes())
    if published.draws:
        require_answered(published, needed)
        given = None if given is None else given[records.answer(needed)]
        records = records.answering(needed)
        published = records.published
        require_rows(len(records))
        if given is not None and not given.sum() > 0:
            raise _no_weight()
    outcome = published.attribute(attribute)
    if given is not None and plan.weights is not None:
        raise InvalidParameter(
            "there are weights of records and weights of cells; give one of them", field="weights"
        )
    names = plan.attributes()
    if given is None and len(names) <= 1 and attribute not in names:
        counts = count(records, only=[attribute])
        joint = joint_counts(records, attribute, names[0]) if names else None
        return shares_from_counts(
            published, counts.of(published, attribute), len(records), joint, plan, attribute,
            confidence=confidence,
        )  # fmt: skip
    cells = ordered(
        [published.attribute(name) for target in plan.targets for name in target.attributes]
    )
    cells = tuple(dict.fromkeys(cells))
    require_size(cells, outcome)
    if given is None:
        given = np.ones(len(records)) if plan.weights is None else _of_cells(records, plan.weights)
    weighted = weights is not None or plan.weights is not None
    sample = RecordSample(records, outcome, cells, given)
    support = count(records, only=[attribute]).of(published, attribute)
    found = estimated(sample, outcome, support, plan, confidence, weighted=weighted)
    return _told(found, published, plan)


def _told(found: WeightedShares, published: Published, plan: CheckedDesign) -> WeightedShares:
    """Return shares with their verdict, and without totals that are those of who answers alone."""
    if part_of_all(published, (found.attribute, *plan.attributes())) and plan.population is None:
        found = replace(found, totals=None)
    return replace(found, verdict=verdict_on(published, plan, [found]))


def needs_records(plan: CheckedDesign, attribute: str) -> bool:
    """Return whether the joint counts of one pair of attributes do not suffice for a design."""
    names = plan.attributes()
    return len(names) > 1 or attribute in names


def shares_from_counts(
    published: Published,
    support: npt.NDArray[np.int64],
    n: int,
    joint: JointCounts | None,
    plan: CheckedDesign,
    attribute: str,
    *,
    confidence: float = 0.95,
) -> WeightedShares:
    """Estimate from counts, of a design with one attribute or none; see :func:`weighted_shares`.

    Of questions in a draw the survey is as it is of those who answer all of them.
    :func:`needs_records` is false for the plan, and `joint` is of the attribute and of the design's
    one, if any.
    """
    require_rows(n)
    outcome, names = published.attribute(attribute), plan.attributes()
    if joint is None:
        sample = CountSample.alone(support, n, outcome)
    else:
        cells = published.attribute(names[0])
        weights = None if plan.weights is None else plan.weights.shares
        if weights is not None and not (weights * joint.second).sum() > 0:
            raise _no_weight()
        sample = CountSample(joint, outcome, cells, weights)
        require_size([cells], outcome)
    weighted = plan.weights is not None
    found = estimated(sample, outcome, support, plan, confidence, weighted=weighted)
    return _told(found, published, plan)


def _record_weights(weights: npt.ArrayLike, n: int) -> Array:
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n,):
        raise InvalidParameter(
            f"weights has shape {array.shape}, and there are {n} records; give one weight a record",
            field="weights",
        )
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InvalidParameter(
            f"weights[{place}] is {array[place]}; a weight is a finite number that is at least 0: "
            "give each record one, or drop the records without",
            field="weights",
        )
    if not array.sum() > 0:
        raise _no_weight()
    return array


def _no_weight() -> InvalidParameter:
    return InvalidParameter(
        "all weights are 0, so no record counts; give some records a weight above 0",
        field="weights",
    )


def _of_cells(records: Records, weights: Target) -> Array:
    places = tuple(records.codes(name) for name in weights.attributes)
    return _record_weights(weights.shares[places], len(records))


@dataclass(frozen=True, slots=True)
class SeveralWeightedShares(Tabular):
    """Weighted shares of several attributes.

    Attributes
    ----------
    results : tuple of WeightedShares
        One per attribute, with the same design and confidence.
    verdict : Verdict or None
        Whether they can tell anything; each attribute is a part of it.
    """

    statistic_name: ClassVar[str] = "weighted-shares"

    results: tuple[WeightedShares, ...]
    verdict: Verdict | None = None

    def to_dict(self) -> JsonMembers:
        """Return the shares as the job and ``--json`` give them."""
        first = self.results[0]
        shown = sum(result.intervals for result in self.results)
        return {
            "verdict": to_json(self.verdict),
            "n": max(result.n for result in self.results),
            "confidence": first.confidence,
            "intervals": how_to_read(shown, first.confidence),
            "assumption": ASSUMPTION,
            "attributes": [result.to_dict() for result in self.results],
        }


def weighted_shares_of_several(
    records: Records,
    attributes: Sequence[str],
    design: SurveyDesign | None = None,
    *,
    weights: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    on_attribute: Callable[[int, int], object] | None = None,
) -> SeveralWeightedShares:
    """Estimate the shares of several attributes in the population.

    Assumptions, parameters and errors are those of
    :func:`hushpoll_analysis.survey_design.estimation.weighted_shares`.

    Parameters
    ----------
    records, design, weights, confidence
        See there.
    attributes : sequence of str
        One or several different ones, none of which a margin or the strata name.
    on_attribute : callable, optional
        Called with the numbers of attributes that are done and of all, before each and at the end.
    """
    check_outcomes(records.published, attributes, design or SurveyDesign())
    results = []
    for done, attribute in enumerate(attributes):
        if on_attribute is not None:
            on_attribute(done, len(attributes))
        results.append(
            weighted_shares(records, attribute, design, weights=weights, confidence=confidence)
        )
    if on_attribute is not None:
        on_attribute(len(attributes), len(attributes))
    plan = checked(design or SurveyDesign(), records.published, attributes[0])
    return SeveralWeightedShares(
        tuple(results), verdict_on(records.published, plan, results, len(records))
    )


def check_outcomes(published: Published, attributes: Sequence[str], design: SurveyDesign) -> None:
    """Refuse attributes of which no weighted share can be computed."""
    if not attributes or len(set(attributes)) < len(attributes):
        raise InvalidParameter(
            f"the attributes are {', '.join(attributes) or '(none)'}; name one or several "
            "different ones",
            field="attributes",
        )
    for attribute in attributes:
        checked(design, published, attribute)
