"""A number for each category of an attribute, or for each cell of several, as a design gives it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.decimal_texts import number_of
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]

LARGEST = 1e12
"""Most people of a stratum, and the largest weight or factor."""

SMALLEST = 1e-6
"""Smallest number above 0, so that no square or quotient of them leaves what a float can hold."""

LARGEST_MARGIN = 1024
"""Most cells of a margin or of strata, and of all margins together."""

LARGEST_WEIGHTS = 1 << 16
"""Most cells of weights, which are looked up and not fitted."""


@dataclass(frozen=True, slots=True)
class CellValues:
    """A number for each category of an attribute, or for each cell of several.

    Attributes
    ----------
    attributes : tuple of str
        One or several.
    values : mapping
        From category to number; of several attributes nested, in their order.
    """

    attributes: tuple[str, ...]
    values: JsonObject

    @classmethod
    def of(cls, source: object, *, field: str, inside: str) -> CellValues:
        """Read ``{"attributes": [...], inside: {...}}``, as a design's JSON has it.

        In place of `inside`, ``rows`` may have a list for each cell: its categories in the order of
        the attributes, and its number.

        Raises
        ------
        InvalidParameter
            If it is of another form.
        """
        if not isinstance(source, Mapping) or set(source) not in (
            {"attributes", inside},
            {"attributes", "rows"},
        ):
            raise InvalidParameter(
                f'{field} must be an object with "attributes" and "{inside}" or "rows", such as '
                f'{{"attributes": ["region"], "{inside}": {{"North": ..., "South": ...}}}}',
                field=field,
            )
        names = source["attributes"]
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise InvalidParameter(
                f"{field}.attributes is {show(names)}; give the names of attributes", field=field
            )
        if "rows" in source:
            if not names:
                raise InvalidParameter(
                    f"{field} names no attribute, and its rows are of some; name one or several",
                    field=field,
                )
            return cls(tuple(names), _nested(source["rows"], len(names), field))
        return cls(tuple(names), source[inside])

    def attributes_of(self, published: Published, field: str) -> list[PublishedAttribute]:
        """Return the attributes.

        Raises
        ------
        InvalidParameter
            For none, for one that is unknown, or for one that is named twice.
        """
        if not self.attributes or len(set(self.attributes)) < len(self.attributes):
            names = ", ".join(map(show, self.attributes[:12])) or "(none)"
            raise InvalidParameter(
                f"{field} names the attributes {names}; name one or several different ones",
                field=field,
            )
        return [published.attribute(name, field=field) for name in self.attributes]

    def array(
        self, published: Published, field: str, what: str, most: int = LARGEST_MARGIN
    ) -> Array:
        """Return the numbers f64[k1, ...]; 0 for a missing category that is left out.

        There may be at most `most` cells.

        Raises
        ------
        InvalidParameter
            For an unknown category, one without a number, or a number that is neither 0 nor in
            [1e-6, 1e12].
        """
        attributes = self.attributes_of(published, field)
        cells = math.prod(attribute.k for attribute in attributes)
        if cells > most:
            raise InvalidParameter(
                f"{field}: {' and '.join(self.attributes)} have {cells} cells, and at most "
                f"{most} are taken: name fewer attributes, or ones with fewer categories",
                field=field,
            )
        numbers = np.zeros(tuple(attribute.k for attribute in attributes))
        for codes, number in _numbers(attributes, self.values, field, what, ()):
            numbers[codes] = number
        return numbers

    def to_dict(self, inside: str) -> JsonMembers:
        """Return what :meth:`of` reads."""
        return {"attributes": list(self.attributes), inside: self.values}


def _nested(rows: object, attributes: int, field: str) -> dict[str, Any]:
    """Return rows of categories and a number as nested objects."""
    if not isinstance(rows, list | tuple) or len(rows) > LARGEST_WEIGHTS:
        raise InvalidParameter(
            f"{field}.rows must be a list of at most {LARGEST_WEIGHTS} lists", field=field
        )
    nested: dict[str, Any] = {}
    for place, row in enumerate(rows):
        if (
            not isinstance(row, list | tuple)
            or len(row) != attributes + 1
            or not all(isinstance(category, str) for category in row[:-1])
        ):
            raise InvalidParameter(
                f"{field}.rows[{place}] is {show(row)}; give a category of each attribute, in "
                'their order, and a number, such as ["North", 12.5]',
                field=field,
            )
        inner = nested
        for category in row[:-2]:
            inner = inner.setdefault(category, {})
        if row[-2] in inner:
            raise InvalidParameter(
                f"{field}.rows[{place}] names the cell {', '.join(map(show, row[:-1]))} again; "
                "give each cell one number",
                field=field,
            )
        inner[row[-2]] = row[-1]
    return nested


def _numbers(
    attributes: Sequence[PublishedAttribute],
    values: object,
    field: str,
    what: str,
    above: tuple[str, ...],
) -> Iterator[tuple[tuple[int, ...], float]]:
    attribute, deeper = attributes[0], attributes[1:]
    place = " and ".join((field, *above))
    if not isinstance(values, Mapping):
        raise InvalidParameter(
            f"{place}: give an object with a {what} for each category of {attribute.name}, such as "
            f"{{{attribute.domain[0]!r}: ...}}",
            field=field,
        )
    for category in values:
        if category not in attribute.domain:
            raise InvalidParameter(
                f"{place} has {show(category)}, no category of {attribute.name}; its categories "
                f"are {', '.join(attribute.domain[:12])}",
                field=field,
            )
    for code, category in enumerate(attribute.domain):
        if category not in values:
            if category == attribute.missing:
                continue
            raise InvalidParameter(
                f"{place} has no {what} of {category!r} of {attribute.name}; give one to each "
                "category (the missing one alone may be left out)",
                field=field,
            )
        value = values[category]
        if deeper:
            for codes, inner in _numbers(deeper, value, field, what, (*above, category)):
                yield (code, *codes), inner
            continue
        number = number_of(value)
        if number is None or not (number == 0 or SMALLEST <= number <= LARGEST):
            raise InvalidParameter(
                f"{place}: the {what} of {category!r} is {show(value)}; give 0 or a number in "
                f"[{SMALLEST:.0e}, {LARGEST:.0e}]",
                field=field,
            )
        yield (code,), number
