"""The respondents of a simulation as codes, from a file or drawn."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.survey.attributes import Attribute

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Roster:
    """Respondents with their true answers.

    Attributes
    ----------
    attributes : tuple of Attribute
        The survey's, in manifest order.
    columns : mapping of str to sequence of int
        Per attribute the respondents' codes in [0, k): int64[n], or a tuple of n where no array
        library is at hand.
    """

    attributes: tuple[Attribute, ...]
    columns: Mapping[str, Any]

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
        domains = [attribute.domain for attribute in self.attributes]
        for row in zip(*(map(int, self.columns[name]) for name in names), strict=True):
            yield {
                name: domain[code] for name, domain, code in zip(names, domains, row, strict=True)
            }

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return int64[n] per attribute.

        Raises
        ------
        MissingExtra
            Without numpy (extra ``kernels``).
        """
        try:
            import numpy as np
        except ImportError:
            raise MissingExtra("kernels", "simulating in bulk") from None
        return {name: np.asarray(column, dtype=np.int64) for name, column in self.columns.items()}

    def write_csv(self, path: Path) -> None:
        """Write the true answers as a CSV file that `csv_respondents` reads."""
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([escaped(attribute.name) for attribute in self.attributes])
            writer.writerows(map(escaped, map(str, answers.values())) for answers in self.answers())
