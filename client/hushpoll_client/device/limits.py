"""What the owner of a device allows, whatever a survey asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Self

from hushpoll_protocols import parse_epsilon
from hushpoll_protocols.errors import BudgetExhausted, InvalidParameter, ManifestRefused
from hushpoll_shared.spelling.decimals import parse_weight
from hushpoll_shared.survey.terms import LARGEST_BATCH, check_integer

if TYPE_CHECKING:
    from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, slots=True)
class Limits:
    """The owner's limits.

    Attributes
    ----------
    max_epsilon : Decimal or None
        Largest total epsilon of the survey, in [1e-6, 64]; None sets no limit. A ledger holds it
        against all versions of the survey together.
    max_epsilon_total : Decimal or None
        Largest epsilon of all surveys together, in (0, 1000000]; a ledger holds it.
    required_sensitive : frozenset of str
        Attributes that must never leave in clear.
    required_batch : int or None
        Fewest reports that the survey may release at once, in [1, 10^9]; None sets no limit.
    """

    max_epsilon: Decimal | None = None
    required_sensitive: frozenset[str] = frozenset()
    max_epsilon_total: Decimal | None = None
    required_batch: int | None = None

    @classmethod
    def of(
        cls,
        max_epsilon: object,
        required_sensitive: Iterable[str],
        max_epsilon_total: object = None,
        required_batch: object = None,
    ) -> Self:
        """Check what a caller gave.

        Raises
        ------
        InvalidParameter
            If `max_epsilon`, `max_epsilon_total` or `required_batch` is outside its interval, or
            `required_sensitive` is not a collection of names.
        """
        # A string is a collection of strings, and would quietly protect attributes named by
        # letters.
        if isinstance(required_sensitive, str | bytes):
            raise InvalidParameter(
                f"required_sensitive is the text {required_sensitive!r}; give a set of attribute "
                "names, "
                f"such as {{{required_sensitive!r}}}",
                field="required_sensitive",
            )
        if not isinstance(required_sensitive, Iterable):
            raise InvalidParameter(
                f"required_sensitive is {required_sensitive!r}; give a set of attribute names, "
                "empty to demand nothing",
                field="required_sensitive",
            )
        names = frozenset(required_sensitive)
        for name in names:
            if not isinstance(name, str):
                raise InvalidParameter(
                    f"required_sensitive contains {name!r}; give attribute names (strings)",
                    field="required_sensitive",
                )
        limit = None if max_epsilon is None else parse_epsilon(max_epsilon, field="max_epsilon")
        total = None
        if max_epsilon_total is not None:
            total = parse_weight(max_epsilon_total, field="max_epsilon_total")
        batch = None
        if required_batch is not None:
            batch = check_integer(required_batch, field="required_batch", largest=LARGEST_BATCH)
        return cls(limit, names, total, batch)

    def check(self, published: Published) -> None:
        """Refuse a survey that goes beyond the limits.

        Raises
        ------
        BudgetExhausted
            If its epsilon is above `max_epsilon`.
        ManifestRefused
            If it collects a required attribute in clear, or has no such attribute: a misspelt name
            must not protect nothing. If its minimum batch is below `required_batch`.
        """
        if self.max_epsilon is not None and published.epsilon > self.max_epsilon:
            raise BudgetExhausted(
                f"survey {published.name!r} spends epsilon {published.epsilon}; this device "
                "allows at "
                f"most {self.max_epsilon} (max_epsilon); nothing was randomised. Ask for a survey "
                "with "
                "a smaller epsilon, or raise the limit with its owner's consent"
            )
        if self.required_batch is not None and published.minimum_batch < self.required_batch:
            raise ManifestRefused(
                f"survey {published.name!r} releases batches of {published.minimum_batch} reports; "
                f"this device demands at least {self.required_batch} (required_batch); nothing was "
                "randomised. Ask for a survey with a larger minimum_batch",
                field="minimum_batch",
            )
        known = {attribute.name: attribute for attribute in published.attributes}
        for name in sorted(self.required_sensitive):
            if name not in known:
                raise ManifestRefused(
                    f"required_sensitive names {name!r}, which survey {published.name!r} does not "
                    "ask; "
                    f"its attributes are {', '.join(known)}: correct the name or leave it out",
                    field="required_sensitive",
                )
            if known[name].oracle is None:
                raise ManifestRefused(
                    f"survey {published.name!r} collects {name!r} in clear (role "
                    f"{known[name].role!r}), but required_sensitive demands that it is randomised; "
                    "nothing was sent",
                    field=f"attributes[{name}].role",
                )
