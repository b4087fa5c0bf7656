"""Weights of single records by what they have in clear, as columns of a file for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.records import Records
from hushpoll_analysis.survey_design.design import SurveyDesign, checked
from hushpoll_analysis.survey_design.raking import Grouping, NotCalibrated, rake
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published

Array = npt.NDArray[np.float64]
WEIGHT: Final = "weight"
STRATUM: Final = "stratum"
STRATUM_SIZE: Final = "stratum_size"
MOST_CELLS: Final = 1 << 20


@dataclass(frozen=True)
class RecordWeights:
    """What a record's answers in clear say of its place in a design."""

    attributes: tuple[str, ...]
    """In clear; a cell is an answer to each."""
    shape: tuple[int, ...]
    """Categories of each."""
    weight: Array
    """f64[cells], people for whom a record of the cell stands, or in proportion to them."""
    stratum: npt.NDArray[np.int64] | None = None
    """int64[cells], number of the stratum, from 0."""
    strata: tuple[str, ...] = ()
    sizes: Array | None = None
    """f64[strata], people in each."""

    @classmethod
    def of(
        cls, published: Published, design: SurveyDesign, parts: Iterable[Records]
    ) -> RecordWeights:
        """Return the design's weights of records, times what strata and clear margins ask for."""
        names = _attributes(published, design)
        others = [one.name for one in published.attributes if one.name not in names]
        if not names or not others:
            raise InvalidParameter(
                "the design names no attribute, or all of them; give weights, strata or margins of "
                "some attributes in clear",
                field="design",
            )
        plan = checked(design, published, others[0])
        shape = tuple(published.attribute(name).k for name in names)
        size = int(np.prod(shape))
        if size > MOST_CELLS:
            raise InvalidParameter(
                f"the design has {size:,} cells, and at most {MOST_CELLS:,} are taken; name fewer "
                "attributes",
                field="design",
            )
        counts = np.zeros(size)
        for part in parts:
            counts += np.bincount(_places(part, names, shape), minlength=size)
        base = np.ones(size)
        if plan.weights is not None:
            base = plan.weights.shares.ravel()[plan.weights.places(names, shape)]
        total = float(base @ counts)
        if not total > 0:
            raise InvalidParameter(
                "all weights are 0, so no record counts; give some records a weight above 0",
                field="weights",
            )
        margins = [
            Grouping(target.places(names, shape), target.shares.ravel()) for target in plan.targets
        ]
        factor = np.ones(size)
        if margins:
            try:
                factor = rake(base * counts / total, margins, plan.bounds).factor
            except NotCalibrated as error:
                target = plan.targets[error.margin]
                raise InvalidParameter(
                    f"no weights give the shares of {' and '.join(target.attributes)}: a category "
                    "that has a share has no record, or the margins cannot hold together; merge "
                    "categories, or leave a margin out",
                    field="margins",
                ) from error
        scale = 1.0 if plan.population is None else plan.population / total
        weight = base * factor * scale
        if plan.strata is None:
            return cls(names, shape, weight)
        stratum = plan.strata.places(names, shape)
        domains = [published.attribute(name).domain for name in plan.strata.attributes]
        called = [
            " & ".join(domain[code] for domain, code in zip(domains, codes, strict=True))
            for codes in np.ndindex(*plan.strata.shares.shape)
        ]
        return cls(names, shape, weight, stratum, tuple(called), plan.strata.shares.ravel())

    def columns(self, records: Records) -> Mapping[str, npt.NDArray[Any]]:
        """Return the columns of records by name; strata as their numbers."""
        place = _places(records, self.attributes, self.shape)
        found: dict[str, npt.NDArray[Any]] = {WEIGHT: self.weight[place]}
        if self.stratum is not None and self.sizes is not None:
            found[STRATUM] = self.stratum[place].astype(np.int32)
            found[STRATUM_SIZE] = self.sizes[self.stratum[place]]
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Return those of the columns."""
        return (WEIGHT,) if self.stratum is None else (WEIGHT, STRATUM, STRATUM_SIZE)


def _attributes(published: Published, design: SurveyDesign) -> tuple[str, ...]:
    """Return the attributes that a design names, which must be in clear."""
    parts = [*design.margins, *filter(None, (design.strata, design.weights))]
    names = tuple(dict.fromkeys(name for part in parts for name in part.attributes))
    for name in names:
        if published.attribute(name).oracle is not None:
            raise InvalidParameter(
                f"the design names {name}, which is perturbed: a weight of single records would "
                "carry its noise; give attributes in clear, or use hushpoll weight, which weighs "
                "by perturbed ones as well",
                field="design",
            )
    return names


def _places(
    records: Records, names: tuple[str, ...], shape: tuple[int, ...]
) -> npt.NDArray[np.int64]:
    codes = tuple(records.codes(name) for name in names)
    return np.ravel_multi_index(codes, shape).astype(np.int64)
