"""Encodings of a record's attributes: the indicator of its support, or the posterior it leaves.

``indicator`` is the paper's OHE and IVE: 1 for each category that the record supports.
``posterior`` is P(v | record) by Bayes' rule under an estimated prior. A record's likelihood takes
two values, `likelihood_ratio` times as large inside the support as outside (see
:mod:`hushpoll_protocols.oracle`), so the posterior is exact given the prior:

    P(v | z) = prior_v r^[v in S(z)] / sum_u prior_u r^[u in S(z)].

A debiased indicator D = (I - q)/(p - q) would be a third encoding in name only: it maps 0 and 1 to
two other numbers per column, in the same order, and a tree splits on order alone. The posterior is
no such map: a column's value depends on what else the record supports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.records.channel import Channel
from hushpoll_analysis.records.counts import Counts, count
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import estimate_proportion
from hushpoll_protocols.estimation.likelihood import maximum_likelihood
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_protocols.estimation.shrinkage import shrunk
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import column

Encoding = Literal["indicator", "posterior"]
PriorMethod = Literal["shrinkage", "projection", "likelihood"]

ENCODINGS: Final[tuple[Encoding, ...]] = get_args(Encoding)
PRIOR_METHODS: Final[tuple[PriorMethod, ...]] = get_args(PriorMethod)

Priors: TypeAlias = Mapping[str, tuple[float, ...]]
"""Per perturbed attribute that is a feature, the probability of each category."""


def priors_for(
    published: Published,
    records: npt.NDArray[np.uint8],
    encoding: str,
    method: str = "shrinkage",
) -> dict[str, tuple[float, ...]] | None:
    """Return the priors that an encoding needs: None for ``indicator``, which needs none.

    Parameters
    ----------
    published : Published
        The survey.
    records : uint8[n, L]
        The training records, well formed, n at least 1 for ``posterior``. The records of rows that
        a model is to be judged on do not belong here.
    encoding : {"indicator", "posterior"}
        What the priors are for.
    method : {"shrinkage", "projection", "likelihood"}
        Frequencies shrunk by what the categories have in common, never 0
        (:mod:`hushpoll_protocols.estimation.shrinkage`); the unbiased ones projected onto the
        simplex, or the maximum-likelihood ones. The last two rule many rare categories out,
        whatever a record says.

    Raises
    ------
    InvalidParameter
        For another encoding or method, or no records.
    NotConverged
        If the maximum of the likelihood is not found.
    """
    check_encoding(encoding)
    if method not in PRIOR_METHODS:
        raise InvalidParameter(
            f"prior is {method!r}; it must be one of {', '.join(PRIOR_METHODS)}", field="prior"
        )
    if encoding == "indicator":
        return None
    require_rows(len(records))
    if method == "likelihood":
        return {
            name: tuple(
                maximum_likelihood(oracle, column(published.layout, records, name)).tolist()
            )
            for name, oracle in _perturbed_features(published)
        }
    return priors_from_counts(published, count(published, records), method)


def priors_from_counts(
    published: Published, counts: Counts, method: str = "shrinkage"
) -> dict[str, tuple[float, ...]]:
    """Return the priors of ``posterior`` from the counts of the training records.

    Parameters
    ----------
    published : Published
        The survey.
    counts : Counts
        Of the training records alone.
    method : {"shrinkage", "projection"}
        See :func:`priors_for`.

    Raises
    ------
    InvalidParameter
        If no record was counted.
    """
    require_rows(counts.n)
    found = {}
    for name, oracle in _perturbed_features(published):
        channel, support = Channel.of(oracle), counts.support[name]
        if method == "shrinkage":
            prior = shrunk(support, counts.n, p=channel.p, q=channel.q)
        else:
            estimated = estimate_proportion(support, counts.n, p=channel.p, q=channel.q)
            prior = project_simplex(estimated.frequency)
        found[name] = tuple(prior.tolist())
    return found


def _perturbed_features(published: Published) -> list[tuple[str, FrequencyOracle]]:
    return [
        (one.name, one.oracle)
        for one in published.attributes
        if one.oracle is not None and one.role != "target"
    ]


def posterior(
    indicators: npt.NDArray[np.uint8], oracle: FrequencyOracle, prior: tuple[float, ...]
) -> npt.NDArray[np.float32]:
    """Return P(v | record), float32[n, k]; its rows sum to 1 up to rounding.

    Parameters
    ----------
    indicators : uint8[n, k]
        Support of each record.
    oracle : FrequencyOracle
        The protocol that made the records.
    prior : tuple of float, k
        In [0, 1], summing to 1; a category of prior 0 has posterior 0.
    """
    ratio = float(oracle.likelihood_ratio)
    chance = np.asarray(prior, dtype=np.float64)
    inside = indicators @ chance
    # divided by r throughout, so that an epsilon of 64 does not cost digits
    outside_weight = 1.0 / ratio
    total = inside + outside_weight * (1.0 - inside)
    weight = np.where(indicators, chance, outside_weight * chance)
    # no support and, up to rounding, no prior outside it either: nothing was learned
    certain = total > 0
    found = np.where(
        certain[:, None], weight / np.where(certain, total, 1.0)[:, None], chance[None, :]
    )
    return found.astype(np.float32)


def check_encoding(encoding: str) -> None:
    """Refuse anything but one of `ENCODINGS`.

    Raises
    ------
    InvalidParameter
        Listing them.
    """
    if encoding not in ENCODINGS:
        raise InvalidParameter(
            f"encoding is {encoding!r}; it must be one of {', '.join(ENCODINGS)}", field="encoding"
        )
