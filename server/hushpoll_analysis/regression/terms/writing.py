"""Writing a formula for who has chosen an outcome and predictors, and has not typed one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from hushpoll_analysis.regression.terms.formulas import is_scored
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.published import Published

OUTCOME: Final = "outcome"
PREDICTORS: Final = "predictors"
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SAFE: Final = frozenset(" _-<>=.,")


def formula_of(
    published: Published,
    outcome: str,
    predictors: Sequence[str],
    *,
    references: Mapping[str, str] | None = None,
    interaction: tuple[str, str] | None = None,
    family: str | None = None,
) -> str:
    """Return the formula of chosen questions.

    A randomised question whose answers are all numbers is read as a number (``score``), as one in
    clear is, unless a reference makes categories of it.

    Parameters
    ----------
    outcome : str
        An attribute.
    predictors : sequence of str
        At least one other attribute.
    references : mapping of str to str, optional
        By predictor, the answer with which its others are compared.
    interaction : (str, str), optional
        Two of the predictors, of which the slope of one may depend on the other.
    family : str, optional
        Model of the outcome; one of categories takes them as they are, and no score.

    Raises
    ------
    InvalidParameter
        With the field ``outcome``, ``predictors``, ``reference`` or ``interaction``.
    """
    if not outcome:
        raise InvalidParameter(
            "no outcome is chosen; choose the question whose answer is to be explained",
            field=OUTCOME,
        )
    named = published.attribute(outcome, field=OUTCOME).name
    chosen = list(dict.fromkeys(predictors))
    if not chosen:
        raise InvalidParameter(
            "no predictor is chosen; choose at least one question on which the outcome may depend",
            field=PREDICTORS,
        )
    if named in chosen:
        raise InvalidParameter(
            f"{named} is the outcome and a predictor; leave it out on one side", field=PREDICTORS
        )
    references = references or {}
    factors = {name: _factor(published, name, references.get(name)) for name in chosen}
    terms = list(factors.values())
    if interaction is not None:
        if len(set(interaction)) != 2 or not set(interaction) <= set(chosen):
            raise InvalidParameter(
                f"the interaction is of {show(interaction[0])} and {show(interaction[1])}; choose "
                "two different questions that are chosen as predictors, too",
                field="interaction",
            )
        terms.append(":".join(factors[name] for name in interaction))
    left = _quoted(named)
    if family in (None, "linear"):
        left = _factor(published, named, None)
    return f"{left} ~ {' + '.join(terms)}"


def _factor(published: Published, name: str, reference: str | None) -> str:
    attribute = published.attribute(name, field=PREDICTORS)
    quoted = _quoted(name)
    if reference is not None:
        if reference not in attribute.domain:
            raise InvalidParameter(
                f"the reference of {name} is {show(reference)}, which is no answer to it; choose "
                "one of its answers",
                field="reference",
            )
        return f"C({quoted}, ref={_text(reference)})"
    if attribute.oracle is not None and is_scored(attribute.domain):
        return f"score({quoted})"
    return quoted


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"`{name}`"


def _text(category: str) -> str:
    """Return a category as a literal that no reader of a formula takes for anything else."""
    return "'" + "".join(map(_character, category)) + "'"


def _character(one: str) -> str:
    if one.isalnum() or one in _SAFE:
        return one
    return f"\\x{ord(one):02x}" if ord(one) < 256 else f"\\U{ord(one):08x}"
