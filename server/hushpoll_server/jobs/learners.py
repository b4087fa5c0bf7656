"""What a server may train on a survey's records: learners, allowed intervals, and why not others.

Records are perturbed, so a learner runs here if it can be fitted to them. One that measures rates
on rows in clear cannot, since no row in clear reaches a server.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_server.errors import Refused
from hushpoll_server.jobs.limits import check_groups, limits
from hushpoll_server.services.services import Services
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.documents.kept_results import (
    LearnerDocument,
    LearnerList,
    LearnerParameter,
)

if TYPE_CHECKING:
    # Importing it takes seconds, and needs the extra `train`.
    from hushpoll_training.learners.learner import Learner


def learners(parts: Services, row: VersionRow) -> LearnerList:
    """Return what may be trained on the records of a survey's version, and why not the rest.

    A server without learners refuses: ``missing-extra``.
    """
    try:
        from hushpoll_training.data.target import Target
        from hushpoll_training.encodings.registry import DEFAULT as DEFAULT_ENCODING
        from hushpoll_training.encodings.registry import ENCODINGS
        from hushpoll_training.learner_registry import DEFAULT, LEARNERS, create_learner
    except MissingExtra as error:
        detail = f"{error}, on the web server as well as on its workers"
        raise Refused("missing-extra", detail) from None
    target, reason = None, None
    try:
        target = Target.of(parts.surveys.published(row)).to_json()
    except InvalidParameter as error:
        reason = str(error)
    setting = parts.settings.job_parameter_limits
    return {
        "target": target,
        "reason": reason,
        "default_learner": DEFAULT,
        "default_encoding": DEFAULT_ENCODING,
        "encodings": [
            {"name": name, "description": encoding.description}
            for name, encoding in ENCODINGS.items()
        ],
        "learners": [
            _described(create_learner(name), parts.surveys.published(row), setting)
            for name in LEARNERS
        ],
    }


def _described(learner: Learner, published: Published, setting: str | None) -> LearnerDocument:
    from hushpoll_training.models.recipe import Recipe

    reason = None
    try:
        Recipe(learner).refuse_clear_rows("a job of a server")
        check_groups(learner, published)
        learner.require_extra()
    except (InvalidParameter, MissingExtra) as error:
        reason = str(error)
    claim = learner.claim.to_json()
    tunable = claim["kind"] != "central" and not learner.reads_group and reason is None
    return {
        "name": learner.name,
        "label": learner.label,
        "description": learner.description,
        "reason": reason,
        "private": claim["kind"] == "central",
        "can_be_tuned": bool(learner.space) and tunable,
        "parameters": _parameters(learner, setting),
    }


def _parameters(learner: Learner, setting: str | None) -> list[LearnerParameter]:
    from hushpoll_training.learners.parameters import Names, Range

    most = limits(learner, setting)
    described: list[LearnerParameter] = []
    for name, allowed in learner.bounds.items():
        if isinstance(allowed, Names):
            continue  # a job may give it, but it is no choice of a form: it depends on the survey
        if not isinstance(allowed, Range):
            described.append(
                {
                    "name": name,
                    "kind": "word",
                    "default": allowed.default,
                    "words": list(allowed.words),
                    "low": None,
                    "high": None,
                }
            )
            continue
        limit = most.get(name)
        high = allowed.high if limit is None else min(allowed.high, limit)
        described.append(
            {
                "name": name,
                "kind": "whole number" if allowed.kind is int else "number",
                "default": allowed.default,
                "words": None,
                "low": allowed.low,
                "high": None if math.isinf(high) else high,
            }
        )
    return described
