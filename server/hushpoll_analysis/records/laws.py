"""What the records say of a question: the law of its protocol, or of its part of a block."""

from __future__ import annotations

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.marginals import Law, UnevenSets, marginal
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.blocks import Block


def refuse_draw(attribute: PublishedAttribute) -> None:
    """Refuse to read a question that some respondents answer as if all had.

    Raises
    ------
    InvalidParameter
        Naming the question and its draw.
    """
    if attribute.draw is not None:
        raise InvalidParameter(
            f"{attribute.name} is in the draw {attribute.draw}, of which each respondent answers "
            "some blocks; this version does not compute this statistic of such questions yet. Ask "
            "about questions that everybody answers, or for estimates, cross-tables, means and "
            "shares in groups",
            field="attribute",
        )


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
        not asked are left out of the block, or if it is in a draw.
    """
    refuse_draw(attribute)
    sizes = attribute.set_sizes
    if attribute.oracle is not None and sizes is not None and len(set(sizes)) > 1:
        raise _refused_tree(attribute.name, attribute.block)
    return None if attribute.oracle is None else marginal(attribute.oracle, attribute.k)


def sets_of(attribute: PublishedAttribute) -> Law | UnevenSets | None:
    """Return the law of an attribute's categories, also where they are sets of different sizes."""
    refuse_draw(attribute)
    sizes = attribute.set_sizes
    if attribute.oracle is None or sizes is None or len(set(sizes)) == 1:
        return law_of(attribute)
    return UnevenSets(attribute.oracle, sizes)


def law_of_cells(block: Block, cells: int) -> Law:
    """Return the law of the cells of a table of some questions of a block.

    Parameters
    ----------
    block : Block
        That the questions are in.
    cells : int
        The product of their numbers of categories.

    Raises
    ------
    InvalidParameter
        If the cells are sets of different sizes, since combinations with a follow-up that is not
        asked are left out of the block.
    """
    if block.tree is not None:
        raise _refused_tree(", ".join(one.name for one in block.questions), block.name)
    return marginal(block.oracle, cells)


def _refused_tree(names: str, block: str | None) -> InvalidParameter:
    return InvalidParameter(
        f"{names}: randomised together with a follow-up or its router, in the block {block}; this "
        "version does not compute this statistic of such questions yet. Ask about questions that "
        "are not in it, or for estimates, means, cross-tables and shares in groups within it",
        field="attribute",
    )


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
