"""What the records say of a question: the law of its protocol, or of its part of a block."""

from __future__ import annotations

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.marginals import Law, marginal
from hushpoll_shared.survey.attributes import PublishedAttribute


def law_of(attribute: PublishedAttribute) -> Law | None:
    """Return the law of an attribute's categories; None in clear.

    Parameters
    ----------
    attribute : PublishedAttribute
        Of a question that is randomised with others the sets of combinations are meant that its
        categories are.
    """
    return None if attribute.oracle is None else marginal(attribute.oracle, attribute.k)


def combinations_of(attribute: PublishedAttribute) -> int:
    """Return how many values of the domain that is randomised stand for a category.

    It is 1, but for a question that is randomised with others.
    """
    return 1 if attribute.oracle is None else attribute.oracle.k // attribute.k


def refuse_block(attribute: PublishedAttribute) -> None:
    """Refuse to read a question that is randomised with others as if it stood alone.

    Raises
    ------
    InvalidParameter
        Naming the question and its block.
    """
    if attribute.block is not None:
        raise InvalidParameter(
            f"{attribute.name} is randomised together with other questions, in the block "
            f"{attribute.block}, so that no part of a record is its own; name the block, or take "
            "questions that are in no block",
            field="attribute",
        )
