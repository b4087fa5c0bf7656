"""Reports of a whole fleet in blocks of rows, perturbed by the kernels.

For simulation only: the noise comes from a numpy generator, which is not meant for secrets.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hushpoll_client import Published
from hushpoll_fleet.behaviour.plan import Conduct, Role
from hushpoll_fleet.behaviour.poisoning import poisoned
from hushpoll_fleet.behaviour.shares import POISONERS, Behaviour
from hushpoll_fleet.population.coded_respondents import Roster
from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.wire.reports import ID_SIZE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_REPORTS: Final = 10_000
_MOST_BYTES: Final = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Block:
    """Reports of consecutive respondents.

    Attributes
    ----------
    ids : uint8[n, 16]
        Random ids.
    records : uint8[n, L]
        Records.
    behaviours : sequence of Behaviour
        Of each row.
    """

    ids: NDArray[np.uint8]
    records: NDArray[np.uint8]
    behaviours: Sequence[Behaviour]

    def rows(self, *behaviours: Behaviour) -> list[int]:
        """Return the indices of the rows that behave like any of `behaviours`."""
        return [row for row, one in enumerate(self.behaviours) if one in behaviours]

    def some(self, rows: Sequence[int]) -> Block:
        """Return a block of some of the rows."""
        chosen = list(rows)
        return Block(
            self.ids[chosen], self.records[chosen], [self.behaviours[row] for row in chosen]
        )


def block_size(published: Published) -> int:
    """Return the reports per upload: at most 10,000, and at most 8 MiB in all."""
    return max(1, min(MOST_REPORTS, _MOST_BYTES // (ID_SIZE + published.layout.record_size)))


def blocks(
    published: Published,
    roster: Roster,
    roles: Sequence[Role],
    *,
    conduct: Conduct,
    seed: int | None,
    first: int = 0,
) -> Iterator[Block]:
    """Perturb all respondents, a block at a time.

    Parameters
    ----------
    published : Published
        The survey.
    roster : Roster
        The respondents.
    roles : sequence of Role
        The part of each.
    conduct : Conduct
        What poisoners aim at.
    seed : int or None
        The same seed gives the same records, whatever the ids; None draws anew.
    first : int
        Number of the first respondent, a multiple of `block_size`, for a fleet played in parts.

    Raises
    ------
    MissingExtra
        Without the extra ``kernels``.
    """
    try:
        import numpy as np
    except ImportError:
        raise MissingExtra("kernels", "simulating in bulk") from None
    from hushpoll_shared.wire.batch import encode_many

    columns = roster.arrays()
    size = block_size(published)
    for start in range(0, len(roster), size):
        part = {name: column[start : start + size] for name, column in columns.items()}
        number = first + start
        # A stream for each block, so that parts played elsewhere give the same records.
        rng = np.random.default_rng(None if seed is None else [seed, 1, number // size])
        records = encode_many(published, part, rng)
        behaviours = [role.behaviour for role in roles[start : start + size]]
        for row in [row for row, one in enumerate(behaviours) if one in POISONERS]:
            answers = {
                one.name: one.domain[int(part[one.name][row])] for one in published.attributes
            }
            record = poisoned(
                published,
                behaviours[row],
                answers,
                targets=conduct.aims(published),
                rng=conduct.stream("poison", number + row),
            )
            records[row] = np.frombuffer(record, dtype=np.uint8)
        random_bytes = np.frombuffer(os.urandom(ID_SIZE * len(records)), dtype=np.uint8)
        yield Block(random_bytes.reshape(-1, ID_SIZE), records, behaviours)
