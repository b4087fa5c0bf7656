"""Shares of the categories of each perturbed attribute, estimated from training records.

An encoding that applies Bayes' rule to a record needs them as its prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.records.counts import Counts, count
from hushpoll_analysis.records.fields import fields_of
from hushpoll_analysis.records.records import Channel, Records
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import estimate_proportion
from hushpoll_protocols.estimation.likelihood import maximum_likelihood
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_protocols.estimation.shrinkage import shrunk
from hushpoll_shared.survey.published import Published

PRIOR_METHODS: Final = ("shrinkage", "projection", "likelihood")

Priors: TypeAlias = Mapping[str, tuple[float, ...]]
"""Per perturbed field that has features, the share of each category, or of each combination."""


def check_prior_method(method: str) -> None:
    """Refuse anything but one of `PRIOR_METHODS`."""
    if method not in PRIOR_METHODS:
        raise InvalidParameter(
            f"prior is {method!r}; it must be one of {', '.join(PRIOR_METHODS)}", field="prior"
        )


def estimate_priors(records: Records, method: str = "shrinkage") -> dict[str, tuple[float, ...]]:
    """Return the priors from training records, at least one.

    ``shrinkage`` gives frequencies shrunk by what the categories have in common, never 0
    (:mod:`hushpoll_protocols.estimation.shrinkage`); ``projection`` the unbiased ones projected
    onto the simplex, ``likelihood`` the maximum-likelihood ones. The last two rule many rare
    categories out, whatever a record says; `NotConverged` is raised where the maximum is not found.
    """
    check_prior_method(method)
    require_rows(len(records))
    if method == "likelihood":
        layout = records.published.layout
        return {
            name: tuple(maximum_likelihood(oracle, records.answers_of(layout.field(name))).tolist())
            for name, oracle in perturbed_features(records.published)
        }
    return priors_from_counts(records.published, count(records), method)


def priors_from_counts(
    published: Published, counts: Counts, method: str = "shrinkage"
) -> dict[str, tuple[float, ...]]:
    """Return the priors from the counts of the training records alone.

    Refuses counts of no record, and ``likelihood``, which needs the records themselves.
    """
    require_rows(counts.n)
    if method == "likelihood":
        raise InvalidParameter(
            "prior is 'likelihood', which needs the records themselves; use shrinkage or "
            "projection on a cluster",
            field="prior",
        )
    priors = {}
    for name, oracle in perturbed_features(published):
        channel, support = Channel.of(oracle), counts.support[name]
        n = counts.answered.get(name, counts.n)  # of those who answer it, in a draw
        require_rows(n)
        if method == "shrinkage":
            prior = shrunk(support, n, p=channel.p, q=channel.q)
        else:
            estimated = estimate_proportion(support, n, p=channel.p, q=channel.q)
            prior = project_simplex(estimated.frequency)
        priors[name] = tuple(prior.tolist())
    return priors


def perturbed_features(published: Published) -> list[tuple[str, FrequencyOracle]]:
    """Return name and protocol of each perturbed field of the record that has features."""
    features = [one.name for one in published.attributes if one.role != "target"]
    return [
        (field.name, field.oracle)
        for field in fields_of(published, features)
        if field.oracle is not None
    ]
