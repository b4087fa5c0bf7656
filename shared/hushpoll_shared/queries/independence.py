"""Whether two attributes are independent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from hushpoll_shared.qualifying.verdict import Reach
from hushpoll_shared.querying.query import Query, parameter
from hushpoll_shared.querying.result import Result, Section, Tells, member

Conclusion = Literal["dependent", "no dependence found"]
Reference = Literal["chi-square", "drawn tables"]

SMALLEST_EXPECTED: Final = (
    "People expected in the emptiest cell if the attributes are independent, at the estimated "
    "shares."
)
REFERENCE: Final = (
    "Where the p-value comes from: the chi-square distribution or, with rare answers, tables that "
    "are drawn under independence."
)
TABLES: Final = "Tables that were drawn; null with the chi-square distribution."

NUMBERS: Final = {
    "statistic": "chi-square",
    "degrees": "degrees of freedom",
    "p_value": "p-value",
}
"""What a test comes to, none of it with an interval."""


def p_in_words(value: float, tables: int | None) -> str:
    """Return a p-value; the smallest that drawn tables can give is a bound."""
    smallest = tables is not None and value <= 1 / (tables + 1)
    return f"{'<=' if smallest else '='} {value:.2g}"


@dataclass(frozen=True, kw_only=True)
class OutcomeOfTest(Result):
    """A test that two attributes are independent; it has no interval."""

    title: ClassVar[str] = "independence"
    notes_heading: ClassVar[str] = "The test and its figures"

    a: str
    b: str
    n: int
    statistic: float
    degrees: int = member("Of freedom, of the chi-square distribution.")
    p_value: float = member("By drawn tables it is at least one over their number.")
    alpha: float
    conclusion: Conclusion
    power: float = member("For which the detectable dependence is given.")
    smallest_detectable: float | None = member(
        "Smallest phi that is found with this power, for the kind of dependence that is easiest to "
        "see through the noise; null where no dependence, however strong, would be."
    )
    largest_detectable: float | None = member("The same for the hardest kind.")
    largest_possible: float = member(
        "Phi of the strongest dependence between two such attributes: the root of k - 1, k being "
        "the categories of the attribute that has fewer."
    )
    smallest_expected: float = member(SMALLEST_EXPECTED)
    reference: Reference = member(REFERENCE)
    tables: int | None = member(TABLES)

    def sections(self) -> Iterator[Section]:
        """Yield the one row of a table file; the text is a sentence."""
        hidden = ("n", "alpha", "power", "about")
        part = "test"
        yield Section(
            of=type(self),
            rows=(self,),
            labels={"a": "a", "b": "b"},
            hidden=hidden,
            part=part,
            tells=Tells(category=(), numbers=NUMBERS),
        )

    def reaches(self) -> Iterator[Reach]:
        """Yield nothing: what a test finds is foreseen without it."""
        yield from ()

    def categories_of(self) -> tuple[str, ...]:
        """Return the two."""
        return self.a, self.b

    def notes(self) -> Iterator[str]:
        """Yield the outcome in words."""
        degrees = f"{self.degrees} degree{'' if self.degrees == 1 else 's'} of freedom"
        words = (
            f"{self.a} and {self.b}: {self.conclusion}, p {p_in_words(self.p_value, self.tables)} "
            f"(chi-square {self.statistic:.2f} with {degrees}, level {self.alpha:g}). "
            "A test has no interval."
        )
        if self.degrees:
            words += f" {self._finding()}"
        if self.tables is not None:
            words += (
                f" Some answers are rare: {self.smallest_expected:.2g} people are expected in the "
                "emptiest cell. So the p-value is not that of the chi-square distribution, but "
                f"comes from {self.tables:,} tables drawn under independence."
            )
        yield words

    def _finding(self) -> str:
        """Return which dependence a test finds; none is stronger than the largest possible phi."""
        chance = f"with a chance of {self.power:g}"
        easy, hard = self.smallest_detectable, self.largest_detectable
        most = f"(phi is at most {self.largest_possible:.3f})"
        if easy is None:
            return (
                f"No dependence between these two, however strong {most}, would be found {chance}."
            )
        found = f"W{chance[1:]} it finds a dependence of phi = {easy:.3f} of the easiest kind"
        if hard is None:
            return f"{found}, but none of the hardest kind, however strong {most}."
        return f"{found} and of {hard:.3f} of the hardest."

    def methods(self) -> Mapping[str, object]:
        """Return what the numbers are about."""
        return {
            "power of the detectable": self.power,
            "no detectable": "Not even a dependence of the largest possible phi would be found "
            "with that power.",
            "interval": "A test has no interval.",
        }


@dataclass(frozen=True, kw_only=True)
class Independence(Query[OutcomeOfTest]):
    """Test whether two attributes are independent, with the noise of perturbed ones allowed for.

    It has no interval. The answer says how strong a dependence such a survey would find.
    """

    name: ClassVar[str] = "independence"
    command: ClassVar[str] = "relate independence"
    summary: ClassVar[str] = "Test whether two attributes are independent."
    example: ClassVar[str] = "gender health"
    looked_at: ClassVar[str] = "tests of independence"
    family: ClassVar[str] = "relations"

    a: str = parameter("An attribute.", positional=True, attribute=True)
    b: str = parameter("Another attribute.", positional=True, attribute=True)
    alpha: float = parameter("Level of the test.", 0.05, least=1e-9, most=0.5)
