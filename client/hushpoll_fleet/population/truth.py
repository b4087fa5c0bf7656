"""What estimates are to be compared with: shares of the population and of the draw."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from hushpoll_fleet.population.coded_respondents import Roster

if TYPE_CHECKING:
    from hushpoll_fleet.population.population import Population


def marginals(roster: Roster, population: Population | None) -> list[dict[str, Any]]:
    """Return the true shares of every attribute's categories.

    Parameters
    ----------
    roster : Roster
        The respondents.
    population : Population or None
        What they were drawn from; None for a file.

    Returns
    -------
    list of dict
        Per attribute ``name`` and ``categories``, each with ``category``; ``drawn``, its share of
        the respondents in [0, 1], or None if there are none; ``population``, its exact share of the
        population, summed over all combinations of the attributes that it depends on, or None where
        there is no population or the combinations are too many.
    """
    found = []
    for attribute in roster.attributes:
        counts = Counter(map(int, roster.columns[attribute.name]))
        joint = population.joint(attribute.name) if population is not None else None
        exact = [None] * attribute.k if joint is None else joint.tolist()
        found.append(
            {
                "name": attribute.name,
                "categories": [
                    {
                        "category": category,
                        "drawn": counts[code] / len(roster) if len(roster) else None,
                        "population": exact[code],
                    }
                    for code, category in enumerate(attribute.domain)
                ],
            }
        )
    return found
