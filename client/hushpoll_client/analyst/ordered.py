"""Means and quantiles of ordered answers, and shares among those who answered, from a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        reference: str | None = None,
        simultaneous: bool = False,
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
        reference : str, optional
            A category of `given`, which every other group is compared with.
        simultaneous : bool
            Whether all intervals hold together with this confidence.
        """
        params = {
            "attribute": attribute,
            "scores": None if scores is None else spelled_scores(scores),
            "quantiles": None if quantiles is None else spelled_scores(quantiles),
            "threshold": None if threshold is None else repr(float(threshold)),
            "given": given,
            "interpolation": interpolation,
            "confidence": None if confidence is None else str(confidence),
            "reference": reference,
            "simultaneous": "true" if simultaneous else None,
        }
        return self._statistic(name, version, "ordered-answers", params)

    def ordered_changes(
        self,
        name: str,
        version: int,
        attribute: str,
        *,
        since_version: int,
        since_survey: str | None = None,
        since_attribute: str | None = None,
        scores: Sequence[Score] | None = None,
        since_scores: Sequence[Score] | None = None,
        threshold: float | None = None,
        confidence: float | None = None,
        simultaneous: bool = False,
    ) -> dict[str, Any]:
        """Fetch how mean, share at a threshold and NPS have changed since another version.

        Parameters
        ----------
        name, version, attribute
            Which, now.
        since_version, since_survey, since_attribute
            What it is compared with; by default the same survey and attribute.
        scores, since_scores : sequence of float or (float, float), optional
            See :meth:`ordered_answers`; `since_scores` are `scores` by default.
        threshold, confidence, simultaneous
            See :meth:`ordered_answers`; `simultaneous` is about the differences.
        """
        params = {
            "attribute": attribute,
            "since_version": str(since_version),
            "since_survey": since_survey,
            "since_attribute": since_attribute,
            "scores": None if scores is None else spelled_scores(scores),
            "since_scores": None if since_scores is None else spelled_scores(since_scores),
            "threshold": None if threshold is None else repr(float(threshold)),
            "confidence": None if confidence is None else str(confidence),
            "simultaneous": "true" if simultaneous else None,
        }
        return self._statistic(name, version, "ordered-changes", params)

    def simultaneous_means(
        self,
        name: str,
        version: int,
        *,
        attributes: Sequence[str] | None = None,
        given: str | None = None,
        scores: Mapping[str, Sequence[Score]] | None = None,
        confidence: float | None = None,
    ) -> dict[str, Any]:
        """Fetch means of several attributes or groups whose intervals hold together.

        Parameters
        ----------
        name, version
            Which.
        attributes : sequence of str, optional
            By default all that have a scale.
        given : str, optional
            Another attribute, whose categories are groups.
        scores : mapping of str to sequence, optional
            By attribute; see :meth:`ordered_answers`.
        confidence : float, optional
            That all intervals hold; see :meth:`ordered_answers`.
        """
        spelled = ";".join(f"{of}={spelled_scores(each)}" for of, each in (scores or {}).items())
        params = {
            "attributes": None if attributes is None else ",".join(attributes),
            "given": given,
            "scores": spelled or None,
            "confidence": None if confidence is None else str(confidence),
        }
        return self._statistic(name, version, "simultaneous-means", params)

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
