"""Means and quantiles of ordered answers, and shares among those who answered, from a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hushpoll_client.analyst.calls import Calls
from hushpoll_shared.spelling.scores import Score, spelled_scores


class OrderedCalls(Calls):
    """Fetches what depends on the order of answers, or on who answered; needs scope ``read``."""

    def ordered_answers(
        self,
        name: str,
        version: int,
        attribute: str,
        *,
        scores: Sequence[Score] | None = None,
        quantiles: Sequence[float] | None = None,
        threshold: float | None = None,
        given: str | None = None,
        interpolation: str | None = None,
        confidence: float | None = None,
    ) -> dict[str, Any]:
        """Fetch mean, quantiles, share at a threshold and NPS of those who answered.

        Parameters
        ----------
        name, version, attribute
            Which.
        scores : sequence of float or (float, float), optional
            What each category but the missing one stands for, in the order of the manifest: a
            number, or an interval; by default the labels are read.
        quantiles : sequence of float, optional
            In the open interval (0, 1); the server's default are the quartiles.
        threshold : float, optional
            Above the lowest score, at most the highest.
        given : str, optional
            Another attribute, whose categories are groups.
        interpolation : str, optional
            ``none`` or ``linear``.
        confidence : float, optional
            In [0.01, 0.999999]; the server's default is 0.95.
        """
        params = {
            "attribute": attribute,
            "scores": None if scores is None else spelled_scores(scores),
            "quantiles": None if quantiles is None else spelled_scores(quantiles),
            "threshold": None if threshold is None else repr(float(threshold)),
            "given": given,
            "interpolation": interpolation,
            "confidence": None if confidence is None else str(confidence),
        }
        return self._statistic(name, version, "ordered-answers", params)

    def answered_shares(
        self,
        name: str,
        version: int,
        *,
        attribute: str | None = None,
        confidence: float | None = None,
    ) -> dict[str, Any]:
        """Fetch shares among those who answered an attribute, or each that can be skipped."""
        params = {
            "attribute": attribute,
            "confidence": None if confidence is None else str(confidence),
        }
        return self._statistic(name, version, "answered-shares", params)
