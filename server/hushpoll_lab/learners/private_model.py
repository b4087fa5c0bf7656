"""The certificate of a private linear model: how fair the same model without privacy can be.

Mangold et al., Theorem 4.4, from the side of the private model: its weights are known, and how far
they are from those without noise is known with high probability. The rows are in clear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_lab.certificates.distances import check_failure
from hushpoll_lab.certificates.margins import (
    Certificate,
    Tightness,
    certify,
    linear_margins,
    notions,
)
from hushpoll_lab.learners.output_perturbation import LinearModel
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.models.model import Codes, Model, take

FAILURE = 0.01


@dataclass(frozen=True, slots=True)
class ModelCertificate:
    """What is known of the model without privacy, on some rows."""

    certificates: Mapping[str, Certificate]
    """By notion; see :func:`hushpoll_lab.certificates.margins.certify`."""
    labels: Mapping[str, str]
    """What people call the notions."""
    groups: tuple[str, ...]
    """The categories that occur, in the order in which the certificates count them."""
    attribute: str
    """What tells the groups apart."""
    outcomes: tuple[str, str]
    """What the labels 0 and 1 are called."""
    rows: int
    """That have a label."""
    failure: float
    """The chance, at most, that the noise has moved the weights farther than the distance."""
    tightness: Tightness

    @property
    def distance(self) -> float:
        """Between the two models' weights, at most."""
        return next(iter(self.certificates.values())).distance

    def to_json(self) -> JsonMembers:
        """Return the certificate as the command writes it, a row for each level of a notion."""
        levels = []
        for name, found in self.certificates.items():
            for place, (label, group) in enumerate(found.names):
                levels.append(
                    {
                        "notion": name,
                        "notion_is": self.labels[name],
                        "group": None if group is None else self.groups[group],
                        "label": None if label is None else self.outcomes[label],
                        "private": float(found.level[place]),
                        "change": float(found.change[place]),
                        "lower": float(found.lower[place]),
                        "upper": float(found.upper[place]),
                        "vacuous": bool(found.vacuous[place]),
                    }
                )
        return {
            "kind": "fairness certificate",
            "of": "the same model without privacy of its own",
            "confidence": 1 - self.failure,
            "bound": self.tightness,
            "distance": self.distance,
            "attribute": self.attribute,
            "groups": list(self.groups),
            "rows": self.rows,
            "levels": levels,
            "means": {name: found.mean_change for name, found in self.certificates.items()},
            "publishing": (
                "The numbers are computed from these rows without noise; publishing them is not "
                "private towards the people in the rows."
            ),
        }


def certify_model(
    model: Model,
    codes: Codes,
    *,
    groups: str | None = None,
    failure: float = FAILURE,
    tightness: Tightness = "share",
) -> ModelCertificate:
    """Bound the fairness of the model that training without privacy would have given.

    The model is of a linear learner that is private, ``output-perturbation`` or
    ``penalised-dpsgd``, which needs the extra ``dpsgd``. The rows are in clear, with every
    attribute, int64[n]; any will do, as the statement is about their rates, and those without a
    target are left out. The groups are an attribute's categories, the protected one's by default;
    failure is in (0, 1). Refuses a target whose scores are corrected so that the threshold moves,
    groups that are not told, and rows of a single group.
    """
    check_failure(failure)
    fitted = model.fitted
    if not isinstance(fitted, LinearModel):
        raise InvalidParameter(
            f"the model was trained by {fitted.learner.name}, for which no distance to a model "
            "without privacy is known; use a model of output-perturbation or of penalised-dpsgd",
            field="model",
        )
    if abs(model.target.p + model.target.q - 1) > 1e-9:
        raise InvalidParameter(
            f"the scores of the target {model.target.name} are corrected for reports that are the "
            f"truth with probability {model.target.p:.4g} and another given answer with "
            f"{model.target.q:.4g}, so that no prediction turns where the margin is 0; use a model "
            "of a target with two answers, or in clear",
            field="model",
        )
    attribute = _attribute(model, groups)
    label, answered = model.target.labels(codes[model.target.name])
    kept = take(codes, answered)
    names, group = _groups(model, kept, attribute)
    rows = fitted.rows(model.features.from_codes(kept))
    weights = fitted.network.linear_weights
    margins = linear_margins(rows, label[answered], group, weights)
    predicted = (np.asarray(rows @ weights) > 0).astype(np.int64)
    distance = fitted.distance(model.rows, failure)
    certificates = certify(margins, predicted, distance, tightness)
    return ModelCertificate(
        certificates, {name: notion.label for name, notion in notions(margins).items()}, names,
        attribute, (model.target.negative, model.target.positive), int(answered.sum()), failure,
        tightness,
    )  # fmt: skip


def _attribute(model: Model, groups: str | None) -> str:
    published = model.published
    name = groups
    if name is None:
        if published.protected is None:
            raise InvalidParameter(
                f"the survey {published.name} declares no protected attribute; name the attribute "
                "whose categories are the groups",
                field="groups",
            )
        name = str(published.protected.attribute)
    names = [attribute.name for attribute in published.attributes]
    if name not in names or name == model.target.name:
        others = [other for other in names if other != model.target.name]
        raise InvalidParameter(
            f"groups is {name!r}; it must be one of {', '.join(others)}", field="groups"
        )
    return name


def _groups(
    model: Model, codes: Codes, attribute: str
) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    domain = model.published.attribute(attribute).domain
    occurring, group = np.unique(codes[attribute], return_inverse=True)
    if occurring.size < 2:
        raise InvalidParameter(
            f"the {group.size} rows with a target are all of one group of {attribute}; give rows "
            "of two groups or more",
            field="groups",
        )
    return tuple(str(domain[code]) for code in occurring), group.astype(np.int64)
