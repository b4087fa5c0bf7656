"""Predictions on records for an audit, by cross-fitted models or by one that was fitted elsewhere.

They must not use the protected attribute's own record. It tells a row's group, noise included; a
prediction from that same record would go along with its noise, which then passes for a difference
between the groups. So either the model does without the attribute, or it is evaluated at each value
of it in turn, in clear, and an audit weighs each of these predictions by the row's weight in that
value.

A model looks better, and its groups more or less alike, on the rows that it was fitted to. So in
cross-fitting the records are dealt into folds, a model is fitted to all folds but one and predicts
that one. What is audited is the average of these models, each fitted to (K-1)/K of the records. All
folds share the seed of the learner: they then differ from the model that `hushpoll train` fits with
that seed by the rows left out and nothing else. Folds are dealt at random
(:mod:`hushpoll_training.audits.dealing`), not stratified on the target: from the folds of the
others a row's model would then know a little of its label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack

from hushpoll_analysis.auditing.predictions import AuditPredictions, protected_of
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import FOLDS, PROTECTED_INPUTS
from hushpoll_shared.survey.published import Published
from hushpoll_training.audits.dealing import folds_in_order, order_of
from hushpoll_training.data.target import THRESHOLD, Target
from hushpoll_training.encodings.encoding import Features
from hushpoll_training.encodings.indicator import one_hot_features
from hushpoll_training.learners.learner import (
    FitOptions,
    Fitted,
)
from hushpoll_training.models.model import Model, records_design, reported_labels
from hushpoll_training.models.recipe import Recipe


@dataclass(frozen=True, slots=True)
class AuditInputs:
    """The columns that predictions are made from."""

    features: Features
    """All columns; without the protected attribute where it is dropped."""
    values: tuple[int, ...]
    """Codes of the protected attribute to evaluate at: those of the two groups; empty if
    dropped."""

    @classmethod
    def of(
        cls, published: Published, protected_input: str, features: Features | None = None
    ) -> AuditInputs:
        """Return the inputs of one of `PROTECTED_INPUTS`; by default indicators of all attributes.

        Refuses a survey without a protected attribute, or with nothing else that could be an input.
        """
        if protected_input not in PROTECTED_INPUTS:
            raise InvalidParameter(
                f"protected input is {protected_input!r}; it must be one of "
                f"{', '.join(PROTECTED_INPUTS)}",
                field="protected_input",
            )
        attribute, groups = protected_of(published), published.protected
        features = features or one_hot_features(published)
        block = published.block_of(attribute.name)
        if protected_input == "each-value" and groups is not None:
            if block is not None and not block.alone:
                raise InvalidParameter(
                    f"protected input is 'each-value', and {attribute.name} is randomised together "
                    f"with other questions, in the block {block.name}, whose columns are of all of "
                    "them; choose dropped",
                    field="protected_input",
                )
            members = (*groups.privileged, *groups.unprivileged)
            return cls(features, tuple(attribute.domain.index(member) for member in members))
        if not features.without(attribute.name).attributes:
            raise InvalidParameter(
                f"without {attribute.name} the survey {published.name} has no attribute to predict "
                "from; evaluate at each value instead (each-value)",
                field="protected_input",
            )
        return cls(features.without(attribute.name), ())

    def predict(
        self,
        fitted: Fitted,
        target: Target,
        rows: csr_matrix,
        *,
        threads: int = 1,
    ) -> npt.NDArray[np.int8]:
        """Return the predicted classes of encoded rows in these columns, int8[n] or int8[n, k].

        1 is where the chance is above one half. There are k columns where the protected attribute
        has been evaluated at each value; those of values in neither group are 0.
        """

        def positive(table: csr_matrix) -> npt.NDArray[np.int8]:
            chance = target.correct(fitted.scores(table, threads=threads))
            return (chance > THRESHOLD).astype(np.int8)

        if not self.values:
            return positive(rows)
        at = self._substitution(rows)
        k = protected_of(self.features.published).k
        predicted = np.zeros((rows.shape[0], k), dtype=np.int8)
        for value in self.values:
            predicted[:, value] = positive(at(value))
        return predicted

    def _substitution(self, rows: csr_matrix) -> Callable[[int], csr_matrix]:
        """Return a function that puts a value in place of the protected attribute's records."""
        name = protected_of(self.features.published).name
        place = self.features.columns_of(name)
        before, after = rows[:, : place.start], rows[:, place.stop :]

        def at(value: int) -> csr_matrix:
            codes = np.full(rows.shape[0], value, dtype=np.int64)
            own = csr_matrix(self.features.encode_clear(name, codes), dtype=np.float32)
            return hstack([before, own, after], format="csr", dtype=np.float32)

        return at


def cross_fit(
    records: Records,
    recipe: Recipe,
    options: FitOptions,
    *,
    folds: int = FOLDS,
    protected_input: str = "dropped",
) -> AuditPredictions:
    """Predict every record by a model of the other folds.

    Parameters
    ----------
    records : Records
        Records of a survey with a target and a protected attribute.
    recipe : Recipe
        Learner and encoding. A prior is estimated from each model's own training records, so that
        it knows nothing of the audited ones either.
    options : FitOptions
        The seed deals the folds, and is the learner's in each of them. Progress is over all folds.
        The order of the records does not matter: their predictions stay the same in another one.
    folds : int
        In [2, n].
    protected_input : {"dropped", "each-value"}
        See :mod:`hushpoll_training.audits.predictions`.

    Raises
    ------
    InvalidParameter
        For a bad argument, a survey without target or protected attribute, a target that gives no
        labels, a fold without which the others hold one class only, or a learner that is private
        itself.
    """
    recipe.refuse_repeated_fits("cross-fitting")
    recipe.refuse_clear_rows("an audit")
    recipe.refuse_further_groups("an audit")
    recipe.refuse_missing(records.published)
    target = Target.of(records.published)
    inputs = AuditInputs.of(records.published, protected_input)
    order = order_of(records, options.seed)
    records, fold = records.take(order), folds_in_order(len(records), folds)
    answered = reported_labels(records)[1]
    needs_prior, columns = recipe.encoding.needs_prior, inputs.features.attributes
    features = replace(inputs.features, encoding=recipe.encoding)
    rows = None if needs_prior else features.from_records(records)
    parts = []
    for number in range(folds):
        inside, outside = fold != number, fold == number
        if rows is None:
            labelled = records.take(answered & inside)
            features = replace(features, priors=recipe.encoding.fit(labelled).priors)
            training, audited = None, features.from_records(records.take(outside))
        else:
            training, audited = rows[inside], rows[outside]
        fitted = recipe.learner.fit(
            records_design(features, records.take(inside), training), options.part(number, folds)
        )
        predicting = replace(inputs, features=features)
        parts.append(predicting.predict(fitted, target, audited, threads=options.threads))
    predicted = np.empty((len(records), *parts[0].shape[1:]), dtype=np.int8)
    for number, part in enumerate(parts):
        predicted[order[fold == number]] = part
    return AuditPredictions(predicted, columns, "cross-fitted")


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
        A model of this survey or of another version of it: its attributes have the same names and
        domains.
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
    model.recipe.refuse_further_groups("an audit")
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
    known = {asked.name: asked for asked in published.attributes if asked.role != "target"}
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
