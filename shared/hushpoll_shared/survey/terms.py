"""The fields that a draft and a published survey have in common, and their checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from hushpoll_protocols import InvalidParameter, format_epsilon, parse_epsilon
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.clock import parse_timestamp
from hushpoll_shared.spelling.json_values import members_of
from hushpoll_shared.spelling.text import (
    TITLE_LENGTH,
    check_name,
    check_text,
    check_texts,
    number_of_entries,
    show,
)
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.follow_ups import check_follow_ups
from hushpoll_shared.survey.questions.matrices import Matrix, check_matrices, read_matrices
from hushpoll_shared.survey.questions.presentation import Logo, read_logo
from hushpoll_shared.survey.questions.protected import Protected, read_protected
from hushpoll_shared.survey.questions.selects import (
    Selection,
    read_selects,
)
from hushpoll_shared.survey.randomization.blocks import (
    Together,
    check_split,
    check_together,
    domain_sizes,
    read_together,
)
from hushpoll_shared.survey.randomization.budget import UNIFORM, Split
from hushpoll_shared.survey.randomization.drawn_selects import (
    check_drawn_selects,
    check_selects,
    parts_of,
    units_of,
    with_limits,
)
from hushpoll_shared.survey.randomization.draws import (
    Draw,
    check_draws,
    check_split_of_draws,
    divide,
    read_draws,
)
from hushpoll_shared.survey.wording import (
    Translation,
    Wording,
    check_language,
    check_translations,
    read_translations,
    wording,
)

OPEN: Final = "open"
TOKEN: Final = "token"  # noqa: S105  # a kind of submission
INVITED: Final = "invited"
SUBMISSIONS: Final = (OPEN, TOKEN, INVITED)
DAILY: Final = "daily"
WEEKLY: Final = "weekly"
AT_THE_END: Final = "end"
IMMEDIATE: Final = "immediate"
RELEASES: Final = (DAILY, WEEKLY, AT_THE_END, IMMEDIATE)
LARGEST_VERSION: Final = 2**31 - 1
LARGEST_BATCH: Final = 10**9
MOST_ATTRIBUTES: Final = 256
DEFAULT_BATCH: Final = 100
SMALL_BATCH: Final = 20
"""Minimum batches below this are warned of."""
TEXTS: Final = ("title", "description", "operator", "purpose", "thanks")
"""Fields that an author types as text."""
OPTIONAL: Final = (
    *("description", "operator", "purpose", "language", "translations", "shared_device"),
    *("opens", "closes", "protected", "release", "thanks", "logo"),
)
"""Fields that a draft and a published survey may leave out."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The fields of a survey, but for those that resolving its budget adds."""

    name: str
    """1 to 64 characters out of ``a-z 0-9 _ -``."""
    version: int
    """In [1, 2^31 - 1]."""
    title: str
    """Up to 200 characters."""
    epsilon: Decimal
    """Total budget of one respondent, in [1e-6, 64]."""
    attributes: tuple[Attribute, ...]
    """1 to 256, in the order of the record; names differ; at most one target."""
    split: Split = UNIFORM
    """How the budget is divided among draws and blocks outside draws; a perturbed attribute alone
    is a block."""
    together: tuple[Together, ...] = ()
    """Blocks of several questions."""
    selects: tuple[Selection, ...] = ()
    """Which attributes are one select-all question; in a draft that is one attribute."""
    draws: tuple[Draw, ...] = ()
    """Sets of blocks of which each device answers some."""
    matrices: tuple[Matrix, ...] = ()
    """Which attributes are the items of one matrix; in a draft's file that is one attribute."""
    description: str | None = None
    """Up to 5000 characters, with line feeds."""
    operator: str | None = None
    """Who asks and is responsible, up to 200 characters."""
    purpose: str | None = None
    """What the answers are used for, up to 2000 characters, with line feeds."""
    language: str | None = None
    """Language tag of the survey's own words, such as ``en`` or ``pt-BR``."""
    translations: tuple[Translation, ...] = ()
    """The same words in other languages, in the order of their tags."""
    shared_device: bool = False
    """Whether several people may answer on one device, each with a ledger of their own."""
    opens: str | None = None
    """UTC ``YYYY-MM-DDTHH:MM:SSZ``: reports are taken from here on."""
    closes: str | None = None
    """Reports are taken until before this time."""
    protected: Protected | None = None
    """Groups of a fairness report."""
    submission: str = "open"
    """``"open"``, ``"token"`` (one single-use token per respondent) or ``"invited"`` (an invitation
    per respondent, redeemed for a token that the server cannot link to it)."""
    minimum_batch: int = DEFAULT_BATCH
    """Fewest reports that any statistic is computed from, in [1, 10^9]."""
    release: str = DAILY
    """When analysts are given what has come in since they were last given something: ``"daily"``
    (at UTC midnight), ``"weekly"`` (as the Monday begins), ``"end"`` (once the survey is over) or
    ``"immediate"`` (whenever they ask)."""
    thanks: str | None = None
    """What is read after answering, up to 2000 characters, with line feeds."""
    logo: Logo | None = None
    """A picture above the title of the hosted page."""

    def __post_init__(self) -> None:
        check_name(self.name, field="name")
        check_integer(self.version, field="version", largest=LARGEST_VERSION)
        check_text(self.title, field="title", longest=TITLE_LENGTH)
        object.__setattr__(self, "epsilon", parse_epsilon(self.epsilon))
        check_texts(vars(self), "description", "operator", "purpose", "thanks")
        self._check_presentation()
        self._check_period()
        self._check_attributes()
        check_matrices(
            self.matrices,
            self.attributes,
            selects=self.selects,
            blocks={block.name: block.attributes for block in self.together},
            draws=[draw.name for draw in self.draws],
        )
        check_translations(self)
        check_selects(self.selects, self.attributes, self.together)
        check_together(self.together, self.attributes)
        check_split(self.split, self.together, self.selects)
        sizes = self.domain_sizes
        check_draws(self.draws, self.attributes, self.together, sizes)
        check_drawn_selects(self.draws, self.selects)
        check_split_of_draws(self.split, units_of(sizes, self.selects), self.draws)
        if self.protected is not None:
            self.protected.check(self.attributes)
        if self.submission not in SUBMISSIONS:
            raise refusal_of("submission")(
                f"is {show(self.submission)}; it is one of {', '.join(SUBMISSIONS)}"
            )
        check_integer(self.minimum_batch, field="minimum_batch", largest=LARGEST_BATCH)
        if self.release not in RELEASES:
            raise refusal_of("release")(
                f"is {show(self.release)}; it is one of {', '.join(RELEASES)}"
            )

    @property
    def domain_sizes(self) -> dict[str, int]:
        """Domain size of every block, by name, in record order."""
        return domain_sizes(self.attributes, self.together)

    @property
    def apart(self) -> dict[str, tuple[str, ...]]:
        """The options of every select-all that all are randomised alone, by the question's name."""
        drawn = {name for draw in self.draws for name in draw.blocks}
        alone = {name: k for name, k in self.domain_sizes.items() if name not in drawn}
        return parts_of(self.selects, alone)

    def parts_by(self, split: Split) -> tuple[dict[str, Decimal], dict[str, Decimal]]:
        """Return the epsilon of each draw and each block outside draws, and of every block."""
        return divide(
            self.epsilon,
            self.domain_sizes,
            split,
            together=self.together,
            draws=self.draws,
            apart=self.apart,
        )

    @property
    def opens_at(self) -> datetime | None:
        """When the survey opens, aware, in UTC."""
        return None if self.opens is None else parse_timestamp(self.opens, field="opens")

    @property
    def closes_at(self) -> datetime | None:
        """When the survey closes, aware, in UTC."""
        return None if self.closes is None else parse_timestamp(self.closes, field="closes")

    @property
    def languages(self) -> tuple[str, ...]:
        """Tags of the languages that the survey can be read in, its own first."""
        own = () if self.language is None else (self.language,)
        return (*own, *(translation.language for translation in self.translations))

    def wording(self, language: str | None = None) -> Wording:
        """Return what a respondent reads, in the survey's own language if none is named."""
        named = {translation.language: translation for translation in self.translations}
        if language is not None and language not in self.languages:
            raise InvalidParameter(
                f"{self.name} is not written in {show(language)}; its languages are "
                f"{', '.join(self.languages) or 'not stated'}",
                field="language",
            )
        return wording(self, None if language is None else named.get(language))

    def _check_presentation(self) -> None:
        if self.language is not None:
            check_language(self.language, field="language")
        if type(self.shared_device) is not bool:
            raise refusal_of("shared_device")(f"is {show(self.shared_device)}; it is true or false")

    def _check_period(self) -> None:
        opens, closes = self.opens_at, self.closes_at
        if opens is not None and closes is not None and not opens < closes:
            raise refusal_of("closes")(
                f"is {self.closes}, not after opens, {self.opens}; move one of them"
            )

    def _check_attributes(self) -> None:
        check_number_of_attributes(len(self.attributes))
        seen: set[str] = set()
        for attribute in self.attributes:
            if attribute.name in seen:
                raise InvalidParameter(
                    f"attributes has two entries named {attribute.name}; names differ: rename one",
                    field=f"attributes[{attribute.name}].name",
                )
            seen.add(attribute.name)
        _check_sections(self.attributes)
        check_follow_ups(self.attributes)
        targets = [attribute.name for attribute in self.attributes if attribute.role == "target"]
        if len(targets) > 1:
            raise InvalidParameter(
                f"attributes has {len(targets)} targets, {', '.join(targets)}; "
                "a survey has at most one: give the others another role",
                field=f"attributes[{targets[1]}].role",
            )
        if not any(attribute.perturbed for attribute in self.attributes):
            raise InvalidParameter(
                f"no attribute is perturbed, so epsilon {format_epsilon(self.epsilon)} would "
                "protect nothing; make at least one attribute sensitive",
                field="attributes",
            )

    def _terms_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            **members_of(self, "name", "version", "title"),
            "epsilon": format_epsilon(self.epsilon),
            "split": self.split.to_json(),
            **members_of(self, "submission", "minimum_batch", "attributes", "description"),
            **members_of(
                self, "operator", "purpose", "language", "opens", "closes", "thanks", "logo"
            ),
        }
        if self.translations:
            document["translations"] = {
                translation.language: translation.to_dict() for translation in self.translations
            }
        lists = [key for key in ("together", "selects", "draws", "matrices") if getattr(self, key)]
        document |= members_of(self, *lists)
        if self.shared_device:
            document["shared_device"] = True
        document |= members_of(self, "protected")
        # Surveys published before this term existed mean the same, and keep their digest.
        if self.release != DAILY:
            document["release"] = self.release
        return document


_READ_AS_THEY_ARE: Final = (
    *("name", "version", "title", "epsilon", "description", "operator", "purpose", "language"),
    *("shared_device", "opens", "closes", "submission", "minimum_batch", "release", "thanks"),
)


def read_terms(document: Mapping[str, Any], *, canonical: bool) -> dict[str, Any]:
    """Return the arguments of `Terms` that a document states, but for the attributes.

    Values of a `canonical` one, which is published, are written in their one spelling.
    """
    terms = {key: document[key] for key in _READ_AS_THEY_ARE if document.get(key) is not None}
    if document.get("split") is not None:
        terms["split"] = Split.parse(document["split"], canonical=canonical)
    terms["selects"] = read_selects(document.get("selects"))
    together = read_together(document.get("together"), published=canonical)
    terms["together"] = with_limits(together, terms["selects"])
    terms["draws"] = read_draws(document.get("draws"), published=canonical)
    terms["matrices"] = read_matrices(document.get("matrices"))
    terms["translations"] = read_translations(document.get("translations"))
    terms["logo"] = read_logo(document.get("logo"))
    terms["protected"] = read_protected(document.get("protected"), canonical=canonical)
    return terms


def _check_sections(attributes: Sequence[Attribute]) -> None:
    """Refuse a section whose questions do not stand together."""
    begun: set[str] = set()
    current: str | None = None
    for attribute in attributes:
        if attribute.section != current and attribute.section in begun:
            raise InvalidParameter(
                f"the section {show(attribute.section)} of {attribute.name} begins a second time; "
                "put the questions of a section next to each other",
                field=f"attributes[{attribute.name}].section",
            )
        current = attribute.section
        if current is not None:
            begun.add(current)


def check_number_of_attributes(number: int) -> None:
    """Refuse a survey with no attribute, or with more than `MOST_ATTRIBUTES`."""
    if not 1 <= number <= MOST_ATTRIBUTES:
        raise refusal_of("attributes")(
            f"has {number_of_entries(number)}; a survey has 1 to {MOST_ATTRIBUTES}: add or remove "
            "some"
        )


def check_integer(value: object, *, field: str, largest: int) -> int:
    """Return an integer in [1, `largest`]; refuses anything else."""
    if type(value) is not int or not 1 <= value <= largest:
        raise refusal_of(field)(f"is {show(value)}; it must be an integer in [1, {largest}]")
    return value
