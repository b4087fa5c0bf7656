"""Means and quantiles of ordered answers, and shares among those who answered, from a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hushpoll_client.analyst.calls import Calls
from hushpoll_shared.queries.answered_shares import Answered
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.queries.ordered_changes import OrderedChange
from hushpoll_shared.queries.simultaneous_means import SimultaneousMeans
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.scores import Score


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
    ) -> JsonMembers:
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
        return self._asked(
            name,
            version,
            Ordered,
            attribute=attribute,
            scores=scores,
            quantiles=quantiles,
            threshold=threshold,
            given=given,
            interpolation=interpolation,
            confidence=confidence,
            reference=reference,
            simultaneous=simultaneous,
        )

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
    ) -> JsonMembers:
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
        return self._asked(
            name,
            version,
            OrderedChange,
            attribute=attribute,
            since_version=since_version,
            since_survey=since_survey,
            since_attribute=since_attribute,
            scores=scores,
            since_scores=since_scores,
            threshold=threshold,
            confidence=confidence,
            simultaneous=simultaneous,
        )

    def simultaneous_means(
        self,
        name: str,
        version: int,
        *,
        attributes: Sequence[str] | None = None,
        given: str | None = None,
        scores: Mapping[str, Sequence[Score]] | None = None,
        confidence: float | None = None,
    ) -> JsonMembers:
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
        return self._asked(
            name,
            version,
            SimultaneousMeans,
            attributes=attributes,
            given=given,
            scores=scores,
            confidence=confidence,
        )

    def answered_shares(
        self,
        name: str,
        version: int,
        *,
        attribute: str | None = None,
        confidence: float | None = None,
    ) -> JsonMembers:
        """Fetch shares among those who answered an attribute, or each that can be skipped."""
        return self._asked(name, version, Answered, attribute=attribute, confidence=confidence)
