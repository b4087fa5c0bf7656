"""What is known of a sample beside its records: margins, strata, weights and population.

A margin is the known distribution of the population over the categories of one attribute, or over
the cells of several. Strata are parts of the population with known sizes, from each of which the
respondents were drawn without replacement. Weights of clear cells say how many people a respondent
of each category stands for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.survey_design.cell_values import (
    LARGEST,
    LARGEST_MARGIN,
    LARGEST_WEIGHTS,
    CellValues,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.decimal_texts import number_of
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.published import Published

Array = npt.NDArray[np.float64]

ROUNDING = 0.001
"""By how much shares may miss 1, as published percentages do; they are scaled to it."""

AGREEMENT = 0.002
"""By how much two margins may differ in an attribute that both have."""


@dataclass(frozen=True, slots=True)
class Target:
    """A distribution that the weighted records must have.

    Attributes
    ----------
    attributes : tuple of str
        In the order of the axes.
    shares : f64[k1, ...]
        At least 0, summing to 1.
    """

    attributes: tuple[str, ...]
    shares: Array

    def over(self, attributes: Sequence[str]) -> Array:
        """Return the distribution of some of its attributes, in their order."""
        rest = tuple(axis for axis, name in enumerate(self.attributes) if name not in attributes)
        kept = [name for name in self.attributes if name in attributes]
        summed = self.shares.sum(axis=rest)
        return np.asarray(np.transpose(summed, [kept.index(name) for name in attributes]))

    def places(self, names: Sequence[str], shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Return the category of each cell over these attributes, int64[cells]."""
        codes = np.unravel_index(np.arange(math.prod(shape)), shape)
        of_names = dict(zip(names, codes, strict=True))
        own = tuple(of_names[name] for name in self.attributes)
        return np.ravel_multi_index(own, self.shares.shape).astype(np.int64)


@dataclass(frozen=True, slots=True)
class SurveyDesign:
    """What is known of the sample and of its population.

    Attributes
    ----------
    margins : tuple of CellValues
        Known shares of the population.
    strata : CellValues or None
        Sizes, in people, of the parts from which the respondents were drawn without replacement;
        of attributes in clear.
    weights : CellValues or None
        Weight of a respondent by attributes in clear: people for whom the respondent stands. A
        sealed record has no id, so a server cannot know a weight in any other way.
    population : int or None
        People in the population, from which respondents were drawn without replacement.
    bounds : (float, float) or None
        Smallest and largest factor by which margins may change a respondent's weight.
    """

    margins: tuple[CellValues, ...] = ()
    strata: CellValues | None = None
    weights: CellValues | None = None
    population: int | None = None
    bounds: tuple[float, float] | None = None

    @classmethod
    def from_dict(cls, source: object) -> SurveyDesign:
        """Read a design as a file or a request gives it.

        Raises
        ------
        InvalidParameter
            For another form; what it names is compared with a survey by :func:`checked`.
        """
        names = tuple(cls.__slots__)
        if not isinstance(source, Mapping) or not set(source) <= set(names):
            unknown = (
                f" (it has {', '.join(sorted(map(show, set(source) - set(names)))[:12])})"
                if isinstance(source, Mapping)
                else ""
            )
            raise InvalidParameter(
                f"a design must be an object with some of {', '.join(names)}{unknown}",
                field="design",
            )
        margins = source.get("margins") or []
        if not isinstance(margins, list | tuple):
            raise InvalidParameter(
                "margins must be a list; give one object a margin", field="margins"
            )
        parts = {
            name: None
            if source.get(name) is None
            else CellValues.of(source[name], field=name, inside=inside)
            for name, inside in (("strata", "sizes"), ("weights", "weights"))
        }
        bounds = source.get("bounds")
        if bounds is not None and (not isinstance(bounds, list | tuple) or len(bounds) != 2):
            raise InvalidParameter(
                f"bounds is {show(bounds)}; give the smallest and the largest factor, such as "
                "[0.3, 3]",
                field="bounds",
            )
        return cls(
            margins=tuple(
                CellValues.of(margin, field=f"margins[{place}]", inside="shares")
                for place, margin in enumerate(margins)
            ),
            strata=parts["strata"],
            weights=parts["weights"],
            population=source.get("population"),
            bounds=None if bounds is None else (bounds[0], bounds[1]),
        )


@dataclass(frozen=True, slots=True)
class CheckedDesign:
    """A design that fits its survey."""

    targets: tuple[Target, ...]
    """Margins, the strata's own among them."""
    strata: Target | None
    """Sizes of the strata in people."""
    weights: Target | None
    """Weights of clear cells."""
    population: float | None
    """People; of strata their sum."""
    bounds: tuple[float, float] | None
    """The least and the most of the factors."""

    def attributes(self) -> tuple[str, ...]:
        """Return the attributes whose answers it needs, each once."""
        parts = [*self.targets, *([self.weights] if self.weights is not None else [])]
        return tuple(dict.fromkeys(name for part in parts for name in part.attributes))


def _refuse_numbers(names: Sequence[str], published: Published, field: str) -> None:
    rounded = {one.name for one in published.attributes if one.rounded}
    for name in rounded.intersection(names):
        raise InvalidParameter(
            f"{name} is answered by a number, and of each answer the records have one of the two "
            "anchors beside it: shares of single numbers are not known. Leave it out, and ask for "
            f"its mean (hushpoll ordered {published.name} {name}), which may be within groups",
            field=field,
        )


def checked(design: SurveyDesign, published: Published, outcome: str) -> CheckedDesign:
    """Compare a design with a survey and with the attribute that is estimated."""
    published.attribute(outcome)
    _refuse_numbers([outcome], published, "attribute")
    for margin in design.margins:
        _refuse_numbers(margin.attributes, published, "margins")
    targets = [
        _shares(margin, published, f"margins[{place}]")
        for place, margin in enumerate(design.margins)
    ]
    strata = weights = None
    population = _population(design.population)
    if design.strata is not None:
        sizes = _in_clear(design.strata, published, "strata").array(published, "strata", "size")
        total = float(sizes.sum())
        if total <= 0:
            raise InvalidParameter("strata: all sizes are 0; give sizes in people", field="strata")
        if population is not None and abs(population - total) > 0.5:
            raise InvalidParameter(
                f"population is {population:g}, and the strata have {total:g} people together; "
                "leave out the population",
                field="population",
            )
        population = total
        strata = Target(design.strata.attributes, sizes)
        targets.insert(0, Target(strata.attributes, sizes / total))
    if design.weights is not None:
        cells = _in_clear(design.weights, published, "weights").array(
            published, "weights", "weight", LARGEST_WEIGHTS
        )
        weights = Target(design.weights.attributes, cells)
    for target in targets:
        if outcome in target.attributes:
            raise InvalidParameter(
                f"the shares of {outcome} are to be estimated, and a margin or the strata say that "
                "they are known; leave them out, or estimate another attribute",
                field="attribute",
            )
    _refuse_block([outcome, *(name for one in targets for name in one.attributes)], published)
    categories = sum(target.shares.size for target in targets)
    if categories > LARGEST_MARGIN:
        raise InvalidParameter(
            f"the margins have {categories} categories together, and at most {LARGEST_MARGIN} are "
            "taken: leave some out",
            field="margins",
        )
    for first, second in combinations(targets, 2):
        _require_agreement(first, second, published)
    return CheckedDesign(tuple(targets), strata, weights, population, _bounds(design.bounds))


def _refuse_block(names: Sequence[str], published: Published) -> None:
    """Refuse two questions of one block: one record tells both, and products would be biased."""
    first: dict[str, str] = {}
    for name in dict.fromkeys(names):
        block = published.block_of(name)
        if block is None:
            continue
        other = first.setdefault(block.name, name)
        if other != name:
            raise InvalidParameter(
                f"{other} and {name} are randomised together, in the block {block.name}, and "
                "weighting multiplies what their records say, which one record for both would "
                f"bias; leave the margin of one of them out, or ask for the cross-table of {other} "
                f"and {name}",
                field="margins",
            )


def _shares(margin: CellValues, published: Published, field: str) -> Target:
    shares = margin.array(published, field, "share")
    total = float(shares.sum())
    if abs(total - 1) > ROUNDING + 1e-9:
        raise InvalidParameter(
            f"{field}: the shares of {' and '.join(margin.attributes)} add up to {total:.6g}; give "
            "shares that add up to 1",
            field=field,
        )
    return Target(margin.attributes, shares / total)


def _in_clear(values: CellValues, published: Published, field: str) -> CellValues:
    for attribute in values.attributes_of(published, field):
        if attribute.oracle is not None:
            raise InvalidParameter(
                f"{field} names {attribute.name}, which is perturbed, so no record says in which "
                f"category it is; give {field} by attributes in clear, or the known shares of "
                f"{attribute.name} as a margin",
                field=field,
            )
    return values


def _require_agreement(first: Target, second: Target, published: Published) -> None:
    common = [name for name in first.attributes if name in second.attributes]
    if not common:
        return
    one, two = first.over(common), second.over(common)
    place = np.unravel_index(int(np.argmax(np.abs(one - two))), one.shape)
    if abs(one[place] - two[place]) > AGREEMENT:
        cell = ", ".join(
            f"{name} = {published.attribute(name).domain[code]}"
            for name, code in zip(common, place, strict=True)
        )
        raise InvalidParameter(
            f"two margins contradict each other: of {cell} one says {one[place]:.6g} and the other "
            f"{two[place]:.6g}; correct one of them",
            field="margins",
        )


def _population(value: object) -> float | None:
    if value is None:
        return None
    number = number_of(value)
    if number is None or not 1 <= number <= LARGEST:
        raise InvalidParameter(
            f"population is {show(value)}; give a number of people in [1, {LARGEST:.0e}]",
            field="population",
        )
    return number


def _bounds(value: tuple[float, float] | None) -> tuple[float, float] | None:
    if value is None:
        return None
    low, high = map(number_of, value)
    if low is None or high is None or not 0 <= low < 1 < high <= LARGEST:
        raise InvalidParameter(
            f"bounds are {show(value[0])} and {show(value[1])}; the smallest factor must be in "
            "[0, 1) and the largest above 1, such as 0.3 and 3",
            field="bounds",
        )
    return low, high
