"""The statistics of a version by name: each method asks a query, and gives its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hushpoll_client.analyst.calls import object_of, version_path
from hushpoll_client.analyst.jobs import TIMEOUT_SECONDS, JobCalls, OnLook
from hushpoll_shared.qualifying.domains import Where
from hushpoll_shared.querying.query import Query
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.spelling.scores import Score


class StatisticCalls(JobCalls):
    """Fetches a statistic, of one question or several; all need scope ``read``."""

    def estimates(
        self,
        name: str,
        version: int,
        *,
        confidence: float | None = None,
        estimator: str | None = None,
        where: Where | None = None,
    ) -> JsonMembers:
        """Fetch estimates of every attribute's categories.

        Parameters
        ----------
        confidence : float, optional
            Of the intervals; by default the server's, 0.95.
        estimator : str, optional
            Of :data:`hushpoll_shared.estimators.ESTIMATOR_TERMS`; by default ``unbiased``, the only
            one with an interval.
        where : mapping, optional
            By attribute, the categories of which a report has one; by default all reports.
        """
        return self._answer("estimates", locals())

    def cross_table(
        self, name: str, version: int, a: str, b: str, *, confidence: float | None = None
    ) -> JsonMembers:
        """Fetch the joint frequencies of two attributes, with intervals of a confidence."""
        return self._answer("cross-tables", locals())

    def tidy_results(
        self, name: str, version: int, queries: Sequence[Query[Any] | str] = ()
    ) -> JsonMembers:
        """Fetch the results of several queries as rows with the same members.

        Parameters
        ----------
        queries : sequence of Query or str
            Queries, or their addresses as `Query.address` gives them; by default all about the
            whole survey or one question.

        Returns
        -------
        dict
            ``rows``, ``methods`` and ``left_out``;
            :func:`hushpoll_shared.tidying.tidy_table` makes a table of it.
        """
        addresses = [query if isinstance(query, str) else query.address() for query in queries]
        params = {"queries": " ".join(addresses)} if addresses else None
        path = (*version_path(name, version), "tidy-results")
        return object_of(self._transport.get(*path, params=params))

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
        of, given : str
            The attribute, and the one whose categories are the groups.
        reference : str, optional
            A category of `given`; ``differences`` to it are given as well.
        confidence : float, optional
            In [0.01, 0.999999]; the server's default is 0.95.
        simultaneous : bool
            Whether all intervals hold together with this confidence.
        """
        return self._answer("conditional-shares", locals())

    def independence(
        self, name: str, version: int, a: str, b: str, *, alpha: float | None = None
    ) -> JsonMembers:
        """Fetch a test that two attributes are independent, at the level `alpha` (0.05)."""
        return self._answer("independence", locals())

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
        attribute : str, optional
            By default all of them.
        method : str, optional
            ``max-t`` (the default), ``bonferroni``, or ``anytime``, which holds at all looks.
        confidence : float, optional
            That all intervals hold, in [0.01, 0.999999].
        """
        return self._answer("simultaneous-estimates", locals())

    def dependencies(
        self, name: str, version: int, *, rate: float | None = None, where: Where | None = None
    ) -> JsonMembers:
        """Fetch tests of independence of all pairs, with a part `rate` of false discoveries.

        With `where` they are about reports with some categories of some attributes alone.
        A server refuses where many pairs have rare answers; `dependencies_by_job` takes its time.
        """
        return self._answer("dependencies", locals())

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
            See :meth:`fairness`, also for what is raised.
        """
        where = where and {key: list(categories) for key, categories in where.items()}
        return self._document("dependencies", locals())

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
        since_version, since_survey, since_attribute
            What it is compared with; by default the same survey and attribute.
        mapping, since_mapping : mapping, optional
            From categories to labels; a category that is not named is its own label.
        confidence, simultaneous
            See :meth:`conditional_shares`.
        """
        return self._answer("changes", locals())

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
        return self._answer("ordered-answers", locals())

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
        since_version, since_survey, since_attribute
            What it is compared with; by default the same survey and attribute.
        scores, since_scores : sequence of float or (float, float), optional
            See :meth:`ordered_answers`; `since_scores` are `scores` by default.
        threshold, confidence, simultaneous
            See :meth:`ordered_answers`; `simultaneous` is about the differences.
        """
        return self._answer("ordered-changes", locals())

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
        attributes : sequence of str, optional
            By default all that have a scale.
        given : str, optional
            Another attribute, whose categories are groups.
        scores : mapping of str to sequence, optional
            By attribute; see :meth:`ordered_answers`.
        confidence : float, optional
            That all intervals hold; see :meth:`ordered_answers`.
        """
        return self._answer("simultaneous-means", locals())

    def answered_shares(
        self,
        name: str,
        version: int,
        *,
        attribute: str | None = None,
        confidence: float | None = None,
    ) -> JsonMembers:
        """Fetch shares among those who answered an attribute, or each that can be skipped."""
        return self._answer("answered-shares", locals())
