"""Regressions as analysts see them: what was asked for, what was found, their end.

A regression is the result of a job ``regress``, and has the job's id. It is kept until it is
deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from hushpoll_analysis.records.hidden_groups import ClearGroups
from hushpoll_server.services.results.kept_results import KeptResults
from hushpoll_server.store.jobs import JobRow
from hushpoll_shared.wire.documents import ReleaseTimes
from hushpoll_shared.wire.regression_documents import (
    RegressionDocument,
    RegressionEntry,
    RegressionSummary,
)

KIND: Final = "regress"


class Regressions(KeptResults[RegressionEntry]):
    """Regressions of survey versions."""

    kind = KIND
    noun = work = "regression"

    def result(self, job: JobRow) -> RegressionDocument:
        """Return what it says, as `hushpoll regress --json` prints it; raises as `document`."""
        found: RegressionDocument = self.document(job)
        return found


def summary_of(
    document: RegressionDocument, variables: Sequence[str], about_release: ReleaseTimes
) -> RegressionSummary:
    """Return what a list of regressions says of one.

    Parameters
    ----------
    document : mapping
        The regression, JSON.
    variables : sequence of str
        The attributes that it reads, the outcome first.
    about_release : mapping
        What ``Releases.describe`` says of the release that it is of.
    """
    return {
        "n": document["n"],
        "confidence": document["confidence"],
        "released_at": about_release["released_at"],
        "formula": document["formula"],
        "family": document["family"],
        "outcome": document["outcome"]["name"],
        "predictors": list(variables[1:]),
        "verdict": document["verdict"]["says"],
        "converged": document["convergence"]["converged"],
        "sentences": list(document["sentences"]),
        "smallest_group": document.get("smallest_group"),
    }


def why_withheld(
    groups: ClearGroups,
    found: RegressionDocument | RegressionSummary,
    names: Collection[str],
    *,
    complete: bool,
) -> str | None:
    """Return why a reader without the right to export does not see a regression; None: they do.

    Parameters
    ----------
    groups : ClearGroups
        What the reader may see of attributes in clear.
    found : mapping
        The regression or its summary, JSON.
    names : collection of str
        The attributes of its formula.
    complete : bool
        Whether it is of all reports that will ever be.
    """
    kept_to = found.get("smallest_group")  # those of an earlier release have none
    if kept_to is not None and kept_to >= groups.smallest:
        return None
    return groups.why_not_kept(names, complete=complete)
