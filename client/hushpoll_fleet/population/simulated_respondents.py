"""Simulated respondents as codes, and the true shares with which estimates are compared."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.survey.questions.attributes import Attribute

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hushpoll_fleet.population.population import Population


@dataclass(frozen=True)
class SimulatedRespondents:
    """Respondents with their true answers."""

    attributes: tuple[Attribute, ...]
    """The survey's, in manifest order."""

    columns: Mapping[str, Any]
    """Codes in [0, answer_codes) by attribute: int64[n], or a tuple of n where no array
    library is at hand.
    """

    @classmethod
    def of_rows(cls, attributes: Sequence[Attribute], rows: Sequence[Sequence[int]]) -> Self:
        """Build from one sequence of codes per respondent, in the order of `attributes`."""
        columns: Sequence[tuple[int, ...]] = list(zip(*rows, strict=True)) or [()] * len(attributes)
        names = (attribute.name for attribute in attributes)
        return cls(tuple(attributes), dict(zip(names, columns, strict=True)))

    def __len__(self) -> int:
        return len(self.columns[self.attributes[0].name])

    def answers(self) -> Iterator[dict[str, str | int | None]]:
        """Give each respondent's answers as categories."""
        names = [attribute.name for attribute in self.attributes]
        read = [
            attribute.answer_of if attribute.number else attribute.domain.__getitem__
            for attribute in self.attributes
        ]
        for row in zip(*(map(int, self.columns[name]) for name in names), strict=True):
            yield {name: of(code) for name, of, code in zip(names, read, row, strict=True)}

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return int64[n] per attribute; needs numpy (extra ``kernels``)."""
        try:
            import numpy as np
        except ImportError:
            raise MissingExtra("kernels", "simulating in bulk") from None
        return {name: np.asarray(column, dtype=np.int64) for name, column in self.columns.items()}

    def write_csv(self, path: Path) -> None:
        """Write the true answers as a CSV file that `read_respondents` reads."""
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([escaped(attribute.name) for attribute in self.attributes])
            writer.writerows(map(escaped, map(str, answers.values())) for answers in self.answers())


def marginals(
    respondents: SimulatedRespondents, population: Population | None
) -> list[dict[str, Any]]:
    """Return the true shares of every attribute's categories, ``drawn`` and of the ``population``.

    Each is in [0, 1]; ``drawn`` is None without respondents, and ``population``, summed over all
    combinations of the attributes that it depends on, where there is none or they are too many. Of
    a number that is randomised they are those of the anchors that stand for the answers, on average
    over the draw.
    """
    shares = []
    for attribute in respondents.attributes:
        counts = _drawn(attribute, Counter(map(int, respondents.columns[attribute.name])).items())
        joint = population.joint(attribute.name) if population is not None else None
        exact = _drawn(attribute, enumerate(() if joint is None else joint.tolist()))
        shares.append(
            {
                "name": attribute.name,
                "categories": [
                    {
                        "category": category,
                        "drawn": counts[code] / len(respondents) if len(respondents) else None,
                        "population": None if joint is None else exact[code],
                    }
                    for code, category in enumerate(attribute.domain)
                ],
            }
        )
    return shares


def _drawn(attribute: Attribute, shares: Iterable[tuple[int, float]]) -> list[float]:
    """Return shares of the codes of answers as shares of the domain, on average over the draw."""
    drawn = [0.0] * attribute.k
    for code, share in shares:
        for place, part in attribute.standing_for(code):
            drawn[place] += share * part
    return drawn
