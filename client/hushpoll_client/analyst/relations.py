"""How answers to several questions depend on each other, as a server estimates it."""

from __future__ import annotations

from collections.abc import Mapping

from hushpoll_client.analyst.calls import version_path
from hushpoll_client.analyst.jobs import TIMEOUT_SECONDS, JobCalls, OnLook
from hushpoll_shared.qualifying.domains import Where
from hushpoll_shared.queries.changes import Change
from hushpoll_shared.queries.conditional_shares import ConditionalShares
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.queries.simultaneous_estimates import Simultaneous
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject


class RelationCalls(JobCalls):
    """Fetches conditional shares and tests of independence; all need scope ``read``."""

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
            ConditionalShares,
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
        return self._asked(name, version, Independence, a=a, b=b, alpha=alpha)

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
            name, version, Simultaneous, attribute=attribute, method=method, confidence=confidence
        )

    def dependencies(
        self, name: str, version: int, *, rate: float | None = None, where: Where | None = None
    ) -> JsonMembers:
        """Fetch tests of independence of all pairs, with a part `rate` of false discoveries.

        With `where` they are about reports with some categories of some attributes alone.
        A server refuses where many pairs have rare answers; `dependencies_by_job` takes its time.
        """
        return self._asked(name, version, Dependencies, rate=rate, where=where)

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
            Change,
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
