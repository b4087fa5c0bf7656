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

    Raises
    ------
    InvalidParameter
        If its categories are sets of different sizes, since combinations with a follow-up that is
        not asked are left out of the block.
    """
    sizes = attribute.set_sizes
    if attribute.oracle is not None and sizes is not None and len(set(sizes)) > 1:
        raise InvalidParameter(
            f"{attribute.name} is randomised together with a follow-up or its router, in the block "
            f"{attribute.block}, and this version does not compute this statistic of such a block "
            "yet; ask about questions outside of it, or export the records",
            field="attribute",
        )
    return None if attribute.oracle is None else marginal(attribute.oracle, attribute.k)


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
            f"{attribute.block}, and this version does not compute this statistic of a block yet; "
            "ask for estimates or cross-tables, about the questions that are in no block, or "
            "export the records",
            field="attribute",
        )
