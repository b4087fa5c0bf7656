"""Every kind of job that there is, by its name; loaded when one is first asked for.

A client starts any of them, and most commands start none.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Final

from hushpoll_shared.jobs.job import Job, KeptJob

_CLASSES: Final = (
    *("collecting:Seal", "files:Export"),
    *("training:Train", "training:Tune", "training:Fairness"),
    *("analyses:Shape", "analyses:Table", "analyses:Weight"),
    *("analyses:DependencyTests", "analyses:Regress"),
    *("files:Report", "collecting:Invite", "collecting:Remind"),
)
"""In the order of the commands' help."""


@cache
def all_jobs() -> Mapping[str, type[Job]]:
    """Return the kinds of jobs by name, in the order of the commands' help."""
    places = (one.split(":") for one in _CLASSES)
    kinds: list[type[Job]] = [
        getattr(import_module(f"hushpoll_shared.jobs.{module}"), kind) for module, kind in places
    ]
    return MappingProxyType({kind.name: kind for kind in kinds})


@cache
def kept_jobs() -> tuple[type[KeptJob], ...]:
    """Return those whose results are kept until they are deleted."""
    return tuple(job for job in all_jobs().values() if issubclass(job, KeptJob))
