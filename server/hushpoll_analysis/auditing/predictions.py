"""The predictions that an audit takes: with what they were made from, and by which model.

Two of the three conditions under which an audit from records alone is unbiased cannot be seen in
the predictions themselves. So the caller declares them, and :func:`check` refuses what breaks one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.laws import members_of_categories
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Origin = Literal["cross-fitted", "external", "fitted to these rows"]
"""How the model relates to the audited rows."""

AS_DEPLOYED: Final = "as deployed on LDP records"
EACH_VALUE: Final = "as deployed on LDP records, with the protected attribute in clear"
IN_CLEAR: Final = "on inputs in clear"


@dataclass(frozen=True, slots=True)
class AuditPredictions:
    """Predictions for the records of a survey, in their order.

    Attributes
    ----------
    predicted : array[n] or array[n, k] of {0, 1}
        1 the positive category. With k columns: column v is what is predicted if the answer to the
        protected attribute is v, whatever its record says. Columns of categories in neither group
        are not read.
    inputs : tuple of str
        Attributes whose records the prediction of a row was made from; the protected one is an
        input if the model takes it, also where it is evaluated at each value.
    origin : {"cross-fitted", "external", "fitted to these rows"}
        ``cross-fitted``: each row's model was fitted to other rows; ``external``: to none of these
        rows. The third is refused.
    """

    predicted: npt.NDArray[np.generic]
    inputs: tuple[str, ...]
    origin: Origin


def check(published: Published, n: int, predictions: AuditPredictions) -> npt.NDArray[np.int8]:
    """Refuse predictions from which an audit would be biased; return them as int8.

    It refuses a model that saw the rows, and one that takes the target or the same record of the
    protected attribute that weights are made from, by itself or by another question of its block.
    """
    protected = protected_of(published)
    _check_origin(predictions.origin)
    for name in predictions.inputs:
        published.attribute(name)
    target = published.target
    if target is not None and target.name in predictions.inputs:
        raise InvalidParameter(
            f"inputs name {target.name}, the target; predictions that know the label cannot be "
            "audited against it: predict without it",
            field="inputs",
        )
    _check_blocks(published, predictions.inputs)
    predicted = np.asarray(predictions.predicted)
    if predicted.shape not in ((n,), (n, protected.k)):
        raise InvalidParameter(
            f"predictions have the shape {predicted.shape}; give one per record ({n},), or one per "
            f"record and category of {protected.name} ({n}, {protected.k})",
            field="predicted",
        )
    if not np.isin(predicted, (0, 1)).all():
        raise InvalidParameter(
            "predictions hold other values than 0 and 1; give the predicted class, not a score",
            field="predicted",
        )
    if predicted.ndim == 1 and protected.name in predictions.inputs and protected.perturbed:
        raise InvalidParameter(
            f"inputs name {protected.name}, the protected attribute, and there is one prediction a "
            "row: it was made from the same record that tells the row's group, whose noise both "
            "would share. Drop the attribute from the model, or predict at each of its values",
            field="inputs",
        )
    return predicted.astype(np.int8)


def setting(published: Published, predictions: AuditPredictions) -> str:
    """Return on what inputs the model is audited: `AS_DEPLOYED`, `EACH_VALUE` or `IN_CLEAR`."""
    protected = protected_of(published).name
    perturbed = {attribute.name for attribute in published.perturbed}
    if not perturbed & (set(predictions.inputs) - {protected}):
        return IN_CLEAR
    return EACH_VALUE if protected in perturbed.intersection(predictions.inputs) else AS_DEPLOYED


def protected_of(published: Published) -> PublishedAttribute:
    """Return the protected attribute; refuses a survey that declares none."""
    if published.protected is None:
        raise InvalidParameter(
            f"the survey {published.name} declares no protected attribute, so there are no groups "
            "to compare; publish a version that declares protected",
            field="protected",
        )
    return published.attribute(published.protected.attribute)


def codes_of_groups(published: Published) -> tuple[list[int], list[int]]:
    """Return the codes of the unprivileged and of the privileged group."""
    attribute, protected = protected_of(published), published.protected
    assert protected is not None  # noqa: S101  (protected_of has refused None)
    low, high = (
        [attribute.domain.index(category) for category in categories]
        for categories in (protected.unprivileged, protected.privileged)
    )
    return low, high


def codes_of_labels(target: PublishedAttribute) -> tuple[list[int], list[int]]:
    """Return the codes of the negative answers, and of the positive one."""
    yes = target.categories.index(str(target.positive))
    return [code for code in range(len(target.categories)) if code != yes], [yes]


def sizes_of_sets(attribute: PublishedAttribute, sets: Iterable[Iterable[int]]) -> list[int]:
    """Return the values that stand for sets of categories: more where it is in a block."""
    members = members_of_categories(attribute)
    return [sum(members[code] for code in codes) for codes in sets]


def _check_blocks(published: Published, inputs: tuple[str, ...]) -> None:
    """Refuse inputs whose record is that of the group or of the label, by another question."""
    protected = protected_of(published)
    known = {"protected attribute": protected, "target": published.target}
    for role, attribute in known.items():
        block = None if attribute is None else published.block_of(attribute.name)
        if attribute is None or block is None or block.alone:
            continue
        for question in block.questions:
            # of the two themselves the other checks decide
            if question.name in inputs and question not in (protected, attribute):
                raise InvalidParameter(
                    f"inputs name {question.name}, which is randomised together with "
                    f"{attribute.name}, the {role}, in the block {block.name}: one record tells "
                    "both, so that predictions share its noise and the audit would be biased. "
                    f"Drop {question.name} from the model, or publish a version that randomises "
                    "it apart",
                    field="inputs",
                )


def _check_origin(origin: str) -> None:
    if origin not in get_args(Origin):
        raise InvalidParameter(
            f"origin is {origin!r}; it must be cross-fitted or external", field="origin"
        )
    if origin == "fitted to these rows":
        raise InvalidParameter(
            "the model was fitted to the rows that it is audited on, and would look fairer or less "
            "fair there than anywhere else; cross-fit, or take a model fitted to other rows",
            field="origin",
        )
