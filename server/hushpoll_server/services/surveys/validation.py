"""Whether a draft could be published on this server: all its problems at once, and its warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hushpoll_protocols.errors import ManifestRefused
from hushpoll_server.services.surveys.plans import require_few_categories
from hushpoll_server.services.surveys.surveys import SurveyService, refusal_of_weak
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.drafts.manifest_problems import (
    ManifestProblem,
    manifest_problems,
    problem_of,
)
from hushpoll_shared.spelling.text import is_name
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True)
class Validation:
    """What a check of a draft has found."""

    problems: tuple[ManifestProblem, ...]
    """For which it would be refused."""
    published: Published | None
    """What would be published; None if there are problems in the manifest itself."""
    hardly_protected: str | None
    """For which it is published with ``allow_weak`` alone."""


def validate(draft: object, surveys: SurveyService) -> Validation:
    """Check a draft, the manifest as JSON, as publishing would, without publishing it."""
    try:
        require_few_categories(draft)
    except ManifestRefused as error:
        return Validation((problem_of(draft, error.field, str(error)),), None, None)
    problems = manifest_problems(draft)
    if problems:
        return Validation(problems, None, None)
    published = Manifest.from_dict(draft).resolve()
    taken = surveys.refusal_of_version(published)
    if taken is not None:
        problems = (problem_of(draft, taken.field or "version", taken.detail),)
    missing = surveys.refusal_of_logo(published)
    if missing is not None:
        problems = (*problems, problem_of(draft, missing.field or "logo", str(missing)))
    weak = refusal_of_weak(published)
    return Validation(problems, published, None if weak is None else weak.detail)


def named(draft: object) -> str | None:
    """Return the name of a draft's survey; None if it has none that a survey can have."""
    name = draft.get("name") if isinstance(draft, Mapping) else None
    return name if is_name(name) else None
