"""Every kind of job that there is, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hushpoll_shared.jobs.analyses import DependencyTests, Regress, Shape, Table, Weight
from hushpoll_shared.jobs.collecting import Invite, Remind, Seal
from hushpoll_shared.jobs.files import Export, Report
from hushpoll_shared.jobs.job import Job, KeptJob
from hushpoll_shared.jobs.training import Fairness, Train, Tune

JOBS: Final[Mapping[str, type[Job]]] = MappingProxyType(
    {
        job.name: job
        for job in (
            Seal,
            Export,
            Train,
            Tune,
            Fairness,
            Shape,
            Table,
            Weight,
            DependencyTests,
            Regress,
            Report,
            Invite,
            Remind,
        )
    }
)
"""In the order of the commands' help."""

KEPT_JOBS: Final = tuple(job for job in JOBS.values() if issubclass(job, KeptJob))
"""Those whose results are kept until they are deleted."""
