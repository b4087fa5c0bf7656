"""Predictions for an audit by a model that was fitted elsewhere, to none of the audited records."""

from __future__ import annotations

from dataclasses import replace

from hushpoll_analysis.auditing.predictions import AuditPredictions, protected_of
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_training.audits.audit_inputs import AuditInputs
from hushpoll_training.models.model import Model


def external_predictions(
    model: Model,
    records: Records,
    *,
    protected_input: str = "dropped",
    threads: int = 1,
) -> AuditPredictions:
    """Predict records by a model that the caller declares to have been fitted to none of them.

    Parameters
    ----------
    model : Model
        Of this survey or of another version of it: its attributes have the same names and domains.
    records : Records
        None of which the model was fitted to.
    protected_input : {"dropped", "each-value"}
        A model that takes the protected attribute has to be evaluated at each value.
    threads : int
        For scoring.

    Raises
    ------
    InvalidParameter
        If an attribute of the model is not one of the survey's with the same categories, the
        target is another, or the model takes a protected attribute that is to be dropped.
    """
    published = records.published
    protected = protected_of(published).name
    _check_meaning(model, published)
    takes = protected in model.features.attributes
    if takes and protected_input == "dropped":
        raise InvalidParameter(
            f"the model takes {protected}, the protected attribute, whose record also tells a "
            "row's group; evaluate it at each value instead (each-value), or fit one without it",
            field="protected_input",
        )
    # the model's own columns and priors, filled from records of this survey's protocols
    features = replace(model.features, published=published)
    inputs = AuditInputs.of(published, protected_input if takes else "dropped", features)
    predicted = inputs.predict(
        model.fitted,
        model.target,
        inputs.features.from_records(records),
        threads=threads,
    )
    return AuditPredictions(predicted, model.features.attributes, "external")


def _check_meaning(model: Model, published: Published) -> None:
    known = {one.name: one for one in published.attributes if one.role != "target"}
    for name in model.features.attributes:
        domain = model.published.attribute(name).domain
        if name not in known or known[name].domain != domain:
            raise InvalidParameter(
                f"the model takes {name} with {len(domain)} categories, and {published.name} "
                f"version {published.version} does not ask for just these; give a model of the "
                "same questions",
                field="model",
            )
    target = published.target
    if target is not None and (target.name, target.positive) != (
        model.target.name,
        model.target.positive,
    ):
        raise InvalidParameter(
            f"the model predicts whether {model.target.name} is {model.target.positive}, and the "
            f"target of {published.name} is {target.name}, positive {target.positive}; give a "
            "model of the same target",
            field="model",
        )
