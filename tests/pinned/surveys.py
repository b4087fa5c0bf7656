"""Pinned per protocol of a whole survey: records, estimates, cross-tables, features and audits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pinned import entry_points
from pinned.entry_points import PROTOCOLS
from pinned.summaries import digest, facts, numbers
from pinned.survey import Codes, draft, people, perturbed_target

PAIRS = (("gender", "region"), ("age", "region"), ("gender", "income"), ("job", "income"))
PARTS = ("expected", "shares", "metrics", "rates")


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what computes the values of each protocol, and of mixed and other surveys."""
    kinds: dict[str, Callable[[], dict[str, Any]]] = {
        name: partial(_survey, draft(protocol=name)) for name in PROTOCOLS
    }
    weights = {"weights": {"gender": 3, "age": 1, "region": 2}}
    for name, split in (("k-based", "k-based"), ("optimal", "optimal"), ("weights", weights)):
        kinds[name] = partial(_survey, draft(split=split))
    kinds["perturbed-target-OUE"] = partial(_survey, perturbed_target("OUE"))
    kinds["perturbed-target-SS"] = partial(_survey, perturbed_target("SS"))
    kinds["confidence"] = _confidence
    kinds["regions"] = _regions
    kinds["outlook"] = _outlook
    kinds["fakes"] = _fakes
    return kinds


def _survey(manifest: dict[str, Any]) -> dict[str, Any]:
    survey, codes, records = _collected(manifest)
    predicted, each_value = _predictions(codes)
    return {
        "digest": survey.digest,
        "epsilons": {one.name: str(one.oracle.epsilon) for one in survey.perturbed},
        "records": digest(records),
        "estimates": _short(entry_points.estimates(survey, records, 0.95)),
        "cross_tables": {
            f"{a} by {b}": _short(entry_points.cross_tables(survey, records, a, b))
            for a, b in PAIRS
        },
        "priors": _priors(survey, records),
        "features": {
            "indicator": digest(entry_points.features(survey, records, "indicator")),
            "posterior": numbers(entry_points.features(survey, records, "posterior")),
        },
        "shape": facts(entry_points.shape(survey, records)),
        "audit": _numbers_of(entry_points.records_audit(survey, records, predicted)),
        "audit, each value": _numbers_of(entry_points.records_audit(survey, records, each_value)),
    }


def _confidence() -> dict[str, Any]:
    """Intervals of another confidence."""
    found = {}
    for protocol in ("GRR", "OLH", "OUE"):
        survey, codes, records = _collected(draft(protocol=protocol))
        predicted, _ = _predictions(codes)
        audit = entry_points.records_audit(survey, records, predicted, confidence=0.99)
        found[protocol] = {
            "estimates": _short(entry_points.estimates(survey, records, 0.8)),
            "audit": _numbers_of(audit),
        }
    return found


def _regions() -> dict[str, Any]:
    """Audits of several groups."""
    found = {}
    for protocol in ("GRR", "THE"):
        survey, codes, records = _collected(draft(protocol=protocol))
        predicted, _ = _predictions(codes)
        audits = entry_points.records_groups_audit(survey, records, predicted)
        found[protocol] = [_numbers_of(one) for one in audits["groups"]]
    return found


def _outlook() -> dict[str, Any]:
    """Audits that say as well what such a survey can find."""
    found = {}
    for protocol in ("GRR", "OUE"):
        survey, codes, records = _collected(draft(protocol=protocol, epsilon="12"))
        predicted, _ = _predictions(codes)
        audit = entry_points.records_audit(survey, records, predicted, outlook=True)
        found[protocol] = _numbers_of(audit)
    return found


def _fakes() -> dict[str, Any]:
    """Surveys of which a part of the reports is not by devices."""
    found = {}
    for protocol in ("OUE", "OLH", "RAPPOR", "THE"):
        survey, _, records = _collected(draft(protocol=protocol))
        fake = records.copy()
        # a seed, or the bits of some categories, that every fake report shares
        fake[::9] = fake[0]
        found[protocol] = facts(entry_points.shape(survey, fake))
    return found


def _collected(manifest: dict[str, Any]) -> tuple[Any, Codes, npt.NDArray[np.uint8]]:
    survey, codes = entry_points.published(manifest), people()
    return survey, codes, entry_points.encode(survey, codes, np.random.default_rng(21))


def _predictions(codes: Codes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return predictions from the attributes in clear, and the same by gender's value."""
    chance = 0.1 + 0.06 * codes["hours"] - 0.2 * (codes["job"] == 2) + 0.1 * codes["income"]
    drawn = np.random.default_rng(22).random(len(chance))
    one = (drawn < chance).astype(np.int64)
    by_value = np.stack([one, (drawn < chance + 0.15).astype(np.int64), one], axis=1)
    return one, by_value


def _priors(survey: Any, records: npt.NDArray[np.uint8]) -> dict[str, Any]:
    found = {}
    for method in ("shrinkage", "projection", "likelihood"):
        priors = entry_points.priors(survey, records, method)
        found[method] = {name: numbers(prior) for name, prior in priors.items()}
    return found


def _numbers_of(audit: dict[str, Any]) -> Any:
    return {part: facts(audit[part]) for part in PARTS}


def _short(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _short(value) for name, value in found.items()}
    return numbers(found) if isinstance(found, np.ndarray) else found
