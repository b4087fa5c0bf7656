"""The statistics of a version by name: each method asks a query, and gives its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hushpoll_client.analyst.calls import version_path
from hushpoll_client.analyst.jobs import TIMEOUT_SECONDS, JobCalls, OnLook
from hushpoll_shared.qualifying.domains import Where
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.spelling.scores import Score


class StatisticCalls(JobCalls):
    """Fetches a statistic, of one question or several; all need scope ``read``."""

    def conditional_shares(
        self,
        name: str,
        version: int,
        of: str,
        given: str,
        *,
        reference: str | None = None,
        confidence: float | None = None,
        simultaneous: bool = False,
    ) -> JsonMembers:
        """Fetch the shares of an attribute's categories within each category of another.

        Parameters
        ----------
        name, version
            Which.
        of, given : str
            The attribute, and the one whose categories are the groups.
        reference : str, optional
            A category of `given`; ``differences`` to it are given as well.
        confidence : float, optional
            In [0.01, 0.999999]; the server's default is 0.95.
        simultaneous : bool
            Whether all intervals hold together with this confidence.
        """
        return self._asked(
            name,
            version,
            "conditional-shares",
            of=of,
            given=given,
            reference=reference,
            confidence=confidence,
            simultaneous=simultaneous,
        )

    def independence(
        self, name: str, version: int, a: str, b: str, *, alpha: float | None = None
    ) -> JsonMembers:
        """Fetch a test that two attributes are independent, at the level `alpha` (0.05)."""
        return self._asked(name, version, "independence", a=a, b=b, alpha=alpha)

    def simultaneous_estimates(
        self,
        name: str,
        version: int,
        *,
        attribute: str | None = None,
        method: str | None = None,
        confidence: float | None = None,
    ) -> JsonMembers:
        """Fetch estimates of an attribute, or of all, whose intervals hold together.

        Parameters
        ----------
        name, version
            Which.
        attribute : str, optional
            By default all of them.
        method : str, optional
            ``max-t`` (the default), ``bonferroni``, or ``anytime``, which holds at all looks.
        confidence : float, optional
            That all intervals hold, in [0.01, 0.999999].
        """
        return self._asked(
            name,
            version,
            "simultaneous-estimates",
            attribute=attribute,
            method=method,
            confidence=confidence,
        )

    def dependencies(
        self, name: str, version: int, *, rate: float | None = None, where: Where | None = None
    ) -> JsonMembers:
        """Fetch tests of independence of all pairs, with a part `rate` of false discoveries.

        With `where` they are about reports with some categories of some attributes alone.
        A server refuses where many pairs have rare answers; `dependencies_by_job` takes its time.
        """
        return self._asked(name, version, "dependencies", rate=rate, where=where)

    def dependencies_by_job(
        self,
        name: str,
        version: int,
        *,
        rate: float | None = None,
        where: Where | None = None,
        timeout: float = TIMEOUT_SECONDS,
        on_look: OnLook | None = None,
    ) -> JsonMembers:
        """Have a worker make the tests of :meth:`dependencies`; needs ``read``.

        Parameters
        ----------
        name, version, rate, where
            See :meth:`dependencies`.
        timeout, on_look
            See :meth:`fairness`.

        Raises
        ------
        TransportError, JobFailed
            See :meth:`fairness`.
        """
        inside = where and {one: list(categories) for one, categories in where.items()}
        return self._document(
            "dependencies", name, version, timeout, on_look, rate=rate, where=inside
        )

    def changes(
        self,
        name: str,
        version: int,
        attribute: str,
        *,
        since_version: int,
        since_survey: str | None = None,
        since_attribute: str | None = None,
        mapping: Mapping[str, str] | None = None,
        since_mapping: Mapping[str, str] | None = None,
        confidence: float | None = None,
        simultaneous: bool = False,
    ) -> JsonMembers:
        """Fetch how the shares of an attribute have changed since another version or survey.

        Parameters
        ----------
        name, version, attribute
            Which, now.
        since_version, since_survey, since_attribute
            What it is compared with; by default the same survey and attribute.
        mapping, since_mapping : mapping, optional
            From categories to labels; a category that is not named is its own label.
        confidence, simultaneous
            See :meth:`conditional_shares`.
        """
        return self._asked(
            name,
            version,
            "changes",
            attribute=attribute,
            since_version=since_version,
            since_survey=since_survey,
            since_attribute=since_attribute,
            mapping=mapping,
            since_mapping=since_mapping,
            confidence=confidence,
            simultaneous=simultaneous,
        )

    def weighted_shares(
        self,
        name: str,
        version: int,
        attribute: str,
        design: JsonObject | None = None,
        *,
        confidence: float | None = None,
    ) -> JsonMembers:
        """Fetch shares of the population by weights, strata and known margins.

        Parameters
        ----------
        name, version, attribute
            Which.
        design : mapping, optional
            ``margins``, ``strata``, ``weights``, ``population`` and ``bounds``, each if there is
            one; the documentation of the route describes them.
        confidence : float, optional
            In [0.01, 0.999999]; the server's default is 0.95.
        """
        body: JsonMembers = {"attribute": attribute, "design": dict(design or {})}
        if confidence is not None:
            body["confidence"] = confidence
        return self._post(body, *version_path(name, version), "weighted-shares")

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
            "ordered-answers",
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
            "ordered-changes",
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
            "simultaneous-means",
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
        return self._asked(
            name, version, "answered-shares", attribute=attribute, confidence=confidence
        )
