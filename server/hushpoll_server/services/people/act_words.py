"""What each act in the action log is called in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hushpoll_server.services.people.roles import ORDER
from hushpoll_shared.jobs.registry import all_jobs, kept_jobs
from hushpoll_shared.querying.registry import all_queries

_VIEWS: Final = {
    **{query.name: query.looked_at for query in all_queries().values()},
    **{f"{job.kept.noun}s": job.kept.looked_at for job in kept_jobs()},
    "codebook": "the codebook",
    "counts": "the numbers of reports",
    "joint-tables": "a table of several questions",
    "overview": "the overview of a survey",
    "report": "a report of results",
    "tidy-results": "results as one table",
    "weighted-shares": "the weighted shares",
}

ACT_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "added-image": "added an image",
        "added-user": "added a user",
        "began-draft": "began a draft",
        "bound-to-provider": "signed in at the identity provider for the first time",
        "cancelled-job": "cancelled a job",
        "changed-draft": "changed a draft",
        "changed-password": "set a user's password",
        "closed": "closed a survey",
        "deleted-draft": "deleted a draft",
        "deleted-records": "deleted a survey's records",
        "exported": "exported records",
        "issued-invitations": "issued invitations",
        "issued-respondent-tokens": "issued tokens for respondents",
        "issued-token": "issued an API token",
        "published": "published a survey",
        "published-results": "made results public",
        "removed-user": "removed a user",
        "replaced-origins": "changed from which sites a survey takes reports",
        "revoked-token": "revoked an API token",
        "rotated-token": "replaced an API token",
        "set-password": "set a password",
        "signed-in": "signed in",
        "signed-out": "ended a session",
        "took-results-back": "took public results back",
        **{f"gave-role-{role}": f"gave the role {role}" for role in ORDER},
        "gave-role-none": "took a role away",
        **{f"deleted-{job.kept.noun}": f"deleted {job.words}" for job in kept_jobs()},
        **{f"asked-for-{job}": f"asked for {kind.words}" for job, kind in all_jobs().items()},
        **{f"fetched-{job}": f"fetched {kind.words}" for job, kind in all_jobs().items()},
        **{f"looked-at-{view}": f"looked at {words}" for view, words in _VIEWS.items()},
    }
)
"""By the code of the act."""


def act_words(act: str) -> str:
    """Return an act in words; those of its code where another release has written it."""
    return ACT_WORDS.get(act, act.replace("-", " "))
