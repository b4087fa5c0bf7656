"""What would leave the device, in words, before anything does: clear answers first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushpoll_client.randomization import Answers
    from hushpoll_shared.published import Published


@dataclass(frozen=True, slots=True)
class ClearLine:
    """An attribute that leaves in clear.

    Attributes
    ----------
    name, question : str or None
        As in the manifest.
    answer : str or None
        The category that would be sent; None where the preview was made without answers. Not in the
        repr.
    """

    name: str
    question: str | None
    answer: str | None = field(repr=False)

    def __str__(self) -> str:
        shown = "your answer as it is" if self.answer is None else self.answer
        return f"{_label(self.name, self.question)}: {shown}"


@dataclass(frozen=True, slots=True)
class PerturbedLine:
    """An attribute that leaves randomised.

    Attributes
    ----------
    name, question : str or None
        As in the manifest.
    protocol : str
        Name of the protocol.
    k : int
        Number of possible answers, the ``missing`` one included.
    epsilon : Decimal
        Privacy loss charged for this attribute.
    best_guess : Decimal
        Chance in [1/k, 1] that the best guess from what is sent is right, if all answers were
        equally likely beforehand.
    largest_posterior : Decimal
        The most probable that any answer can become from anything that may be sent, same
        assumption.
    """

    name: str
    question: str | None
    protocol: str
    k: int
    epsilon: Decimal
    best_guess: Decimal
    largest_posterior: Decimal

    def __str__(self) -> str:
        return (
            f"{_label(self.name, self.question)}: randomised by {self.protocol} with epsilon "
            f"{self.epsilon}. The best guess from what is sent is right "
            f"{_percent(self.best_guess)} of "
            f"the time, a blind guess among {self.k} answers {_percent(Fraction(1, self.k))}; "
            "whatever is sent, no answer becomes more likely than "
            f"{_percent(self.largest_posterior)}."
        )


@dataclass(frozen=True, slots=True)
class Preview:
    """What one report holds; ``str()`` gives the page to show to a respondent.

    Attributes
    ----------
    title, survey, version, digest
        Which survey.
    epsilon : Decimal
        Total privacy loss that the survey may charge.
    clear : tuple of ClearLine
        Attributes sent in clear, in manifest order. They can betray randomised ones by correlation.
    perturbed : tuple of PerturbedLine
        Attributes sent randomised, in manifest order.
    record_size : int
        Bytes of the record, the same for all answers.
    """

    title: str
    survey: str
    version: int
    digest: str
    epsilon: Decimal
    clear: tuple[ClearLine, ...]
    perturbed: tuple[PerturbedLine, ...]
    record_size: int

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.title} ({self.survey}, version {self.version})"
        yield ""
        if self.clear:
            yield "Sent in clear, readable by the survey's operator:"
            yield from (f"  {line}" for line in self.clear)
            yield "  Clear answers can hint at the randomised ones where the two go together."
        else:
            yield "Nothing is sent in clear."
        yield ""
        yield "Randomised on this device before anything is sent:"
        yield from (f"  {line}" for line in self.perturbed)
        yield f"  Privacy loss in all: at most epsilon {self.epsilon}."
        yield ""
        yield f"The record has {self.record_size} bytes whatever the answers are."
        yield f"Survey digest: {self.digest}"


def build_preview(published: Published, answers: Answers | None) -> Preview:
    """Describe the report that `answers` would become.

    Raises
    ------
    InvalidParameter
        If the answers do not fit the survey; see `randomize`.
    """
    codes = None if answers is None else published.layout.code_answers(answers)
    clear: list[ClearLine] = []
    perturbed: list[PerturbedLine] = []
    for attribute in published.attributes:
        oracle = attribute.oracle
        if oracle is None:
            answer = None if codes is None else attribute.domain[codes[attribute.name]]
            clear.append(ClearLine(attribute.name, attribute.question, answer))
            continue
        disclosure = oracle.disclosure()
        perturbed.append(
            PerturbedLine(
                attribute.name,
                attribute.question,
                oracle.name,
                oracle.k,
                oracle.epsilon,
                disclosure.best_guess,
                disclosure.largest_posterior,
            )
        )
    return Preview(
        title=published.title,
        survey=published.name,
        version=published.version,
        digest=published.digest,
        epsilon=published.epsilon,
        clear=tuple(clear),
        perturbed=tuple(perturbed),
        record_size=published.layout.record_size,
    )


def _label(name: str, question: str | None) -> str:
    return name if question is None else f"{name} ({question})"


def _percent(chance: Decimal | Fraction) -> str:
    # Rounded up: a preview may overstate what is revealed, never understate it.
    exact = chance if isinstance(chance, Decimal) else _decimal(chance)
    return f"{(exact * 100).quantize(Decimal('0.1'), rounding=ROUND_CEILING)} %"


def _decimal(chance: Fraction) -> Decimal:
    return Decimal(chance.numerator) / Decimal(chance.denominator)
