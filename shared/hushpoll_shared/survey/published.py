"""The published survey: hashed by the server, pinned and checked by every device.

A device trusts none of it. It recomputes every threshold from (protocol, k, epsilon, g, omega,
theta), adds up the epsilons, divides the total by the split itself, and refuses the manifest if
any of it disagrees.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any, Final

from hushpoll_protocols import (
    InvalidParameter,
    ManifestRefused,
    format_epsilon,
    parse_epsilon,
)
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.base64url import b64decode
from hushpoll_shared.spelling.canonical import (
    InvalidJson,
    canonical_json,
    check_keys,
    parse_json,
    sha256_hex,
)
from hushpoll_shared.spelling.decimals import check_canonical
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.codec import Layout
from hushpoll_shared.survey.option_texts import said_of_options
from hushpoll_shared.survey.published_attributes import (
    LATER_KEYS,
    check_no_null,
    checked_oracle,
    read_attribute,
)
from hushpoll_shared.survey.questions.attributes import PublishedAttribute, claims
from hushpoll_shared.survey.questions.follow_ups import check_follow_ups, routers_of
from hushpoll_shared.survey.randomization.blocks import (
    LARGEST_RECORD,
    Block,
    blocks_of,
    check_together,
    domain_sizes,
    with_oracles,
)
from hushpoll_shared.survey.randomization.budget import (
    split_budget,
    total_epsilon,
)
from hushpoll_shared.survey.randomization.drawn_selects import (
    check_selects,
)
from hushpoll_shared.survey.randomization.draws import Draw, check_claims, with_draws
from hushpoll_shared.survey.terms import INVITED, MOST_ATTRIBUTES, OPTIONAL, Terms, read_terms

FORMAT: Final = 1
"""Version of the published form: every question is asked of everybody and randomised alone."""

BLOCKS_FORMAT: Final = 2
"""Version of the published form with blocks of several, draws, follow-ups or numbers."""

FORMATS: Final = (FORMAT, BLOCKS_FORMAT)
"""What this version reads; a format is written only where a survey needs it."""

_REQUIRED: Final = (
    "format",
    "name",
    "version",
    "title",
    "epsilon",
    "split",
    "submission",
    "minimum_batch",
    "attributes",
)
KEY_SIZE: Final = 32
_KEYS: Final = frozenset({*_REQUIRED, *OPTIONAL, "invitation_key"})
_BLOCKS_KEYS: Final = frozenset({*_KEYS, "together", "selects", "draws", "matrices"})


@dataclass(frozen=True, kw_only=True, repr=False)
class Published(Terms):
    """A published survey: `Terms` with every perturbed attribute's oracle.

    Two published surveys are equal when their canonical forms are.

    Parameters
    ----------
    invitation_key : str or None
        The public key by which a device of an invited survey checks what it gets for its
        invitation: 32 bytes in base64url. The server fills it in as it publishes the survey; a
        draft that is resolved has none.

    Raises
    ------
    InvalidParameter
        Naming the field, if any of it breaks a rule.
    """

    attributes: tuple[PublishedAttribute, ...]
    invitation_key: str | None = None

    def __repr__(self) -> str:
        return f"<survey {self.name} version {self.version}, digest {self.digest}>"

    @classmethod
    def from_json(cls, value: bytes | str | JsonObject) -> Published:
        """Read a published manifest, believing nothing of it that can be recomputed.

        Parameters
        ----------
        value : bytes, str or mapping
            The JSON text, in its one spelling (RFC 8785), or the parsed value.

        Raises
        ------
        ManifestRefused
            Naming the field: a text in another spelling, an unknown or missing key, a value outside
            its rules, a decimal not in its one spelling, a threshold or parameter that is not what
            the protocol gives, epsilons that sum to more than the total or are not those of the
            split.
        """
        try:
            spelling = value.encode() if isinstance(value, str) else value
            if not isinstance(spelling, bytes):
                spelling = canonical_json(value)
            document = parse_json(spelling)
            if canonical_json(document) != spelling:
                raise InvalidJson(
                    "it is not canonical JSON (RFC 8785), without blanks and with one spelling "
                    "of each number; serve it as it was published"
                )
            published = cls._read(document)
        except InvalidJson as error:
            fault = str(error).partition("; ")[0]
            raise ManifestRefused(
                f"the published manifest is refused: {fault}; check that the address is a hushpoll "
                "server's",
                field=error.field,
            ) from None
        except InvalidParameter as error:
            raise ManifestRefused(
                f"the published manifest is refused: {error}", field=error.field
            ) from None
        if spelling != published.canonical:
            field = _difference(document, published.to_dict())
            raise ManifestRefused(
                f"the published manifest is refused: {field} is not in its one published form; "
                "resolve the manifest again",
                field=field,
            )
        return published

    @classmethod
    def _read(cls, document: object) -> Published:
        if not isinstance(document, Mapping):
            raise InvalidParameter(
                f"it is {show(document)}; it must be a JSON object", field="manifest"
            )
        form = document.get("format")
        if form is not None and (type(form) is not int or form not in FORMATS):
            # Before its keys: a later format has some that this version does not know.
            raise refusal_of("format")(
                f"is {show(form)}; this version reads the formats "
                f"{' and '.join(map(str, FORMATS))}: update hushpoll"
            )
        if form == BLOCKS_FORMAT:
            check_keys(document, _BLOCKS_KEYS, _REQUIRED, where="")
        else:
            check_keys(document, _KEYS, _REQUIRED, where="")
        check_no_null(document, "")
        _check_translations(document.get("translations"))
        attributes = document["attributes"]
        if not isinstance(attributes, list | tuple):
            raise refusal_of("attributes")(f"is {show(attributes)}; it must be a list")
        if len(attributes) > MOST_ATTRIBUTES:
            # Before the thresholds of thousands are computed: the manifest may be hostile.
            raise refusal_of("attributes")(
                f"has {len(attributes)} entries; a survey has 1 to {MOST_ATTRIBUTES}"
            )
        later = any(
            isinstance(one, Mapping) and not one.keys().isdisjoint(LATER_KEYS) for one in attributes
        )
        uses = later or bool({"together", "selects", "draws", "matrices"} & document.keys())
        if form == BLOCKS_FORMAT and not uses:
            raise refusal_of("together")(
                f"and draws are missing, and no attribute has {' or '.join(LATER_KEYS)}; such a "
                f"survey is published in format {FORMAT}: resolve the manifest again"
            )
        parse_epsilon(check_canonical(document["epsilon"], field="epsilon"))
        terms = read_terms(document, canonical=True)
        owners = {name: block for block in terms["together"] for name in block.attributes}
        declared = [
            read_attribute(attribute, f"attributes[{position}]", owners, form == BLOCKS_FORMAT)
            for position, attribute in enumerate(attributes)
        ]
        check_follow_ups(declared)
        check_selects(terms["selects"], declared, terms["together"])
        check_together(terms["together"], declared)
        sizes = domain_sizes(declared, terms["together"])
        oracles = {
            block.name: checked_oracle(
                block.protocol, sizes[block.name], claimed, f"together[{block.name}]"
            )
            for block, claimed in zip(terms["together"], document.get("together", ()), strict=True)
        }
        resolved = with_oracles(declared, terms["together"], oracles)
        if terms["draws"]:
            resolved = with_draws(resolved, terms["draws"])
        key = document.get("invitation_key")
        if key is None and terms.get("submission") == INVITED:
            raise refusal_of("invitation_key")(
                "is missing, and submission is invited; publish the survey on a server, which "
                "fills it in"
            )
        published = cls(**terms, attributes=resolved, invitation_key=key)
        published._check_budget()
        if published.draws:
            check_claims(document["draws"], published.draws, published.budget)
        return published

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.invitation_key is not None:
            _check_key(self.invitation_key)
            if self.submission != INVITED:
                raise refusal_of("invitation_key")(
                    f"is given, and submission is {self.submission}; only a survey with submission "
                    "invited has a key"
                )
        size = self.layout.record_size if self.later_format else 0
        if size > LARGEST_RECORD:
            widest = max(self.blocks, key=lambda block: block.oracle.record_size)
            raise InvalidParameter(
                f"a record of this survey has {size} bytes; with {' or '.join(self.later_format)} "
                f"it has at most {LARGEST_RECORD}: give {widest.name}, whose part has "
                f"{widest.oracle.record_size} bytes, the protocol OLH, which sends 18 for any "
                "number of answers, or fewer questions",
                field=self.later_format[0],
            )

    def _check_budget(self) -> None:
        if self.draws:
            self._check_blocks(self._divided[1])
            return
        spent = sum((Fraction(part) for part in self.budget.values()), Fraction(0))
        if spent > Fraction(self.epsilon):
            # 12 places hold any sum of epsilons, so this spelling is exact.
            written = format_epsilon(Decimal(f"{spent * 10**12 // 1}e-12"))
            raise InvalidParameter(
                f"the epsilons of the attributes sum to {written}, more than the total "
                f"{format_epsilon(self.epsilon)}; do not answer this survey",
                field="epsilon",
            )
        several = {block.name for block in self.together}
        self._check_blocks(
            split_budget(
                self.epsilon, self.domain_sizes, self.split, several=several, apart=self.apart
            )
        )

    def _check_blocks(self, parts: Mapping[str, Decimal]) -> None:
        several = {block.name for block in self.together}
        for block in self.blocks:
            path = f"{'together' if block.name in several else 'attributes'}[{block.name}].epsilon"
            if block.oracle.epsilon != parts[block.name]:
                raise refusal_of(path)(
                    f"is {format_epsilon(block.oracle.epsilon)}, but the {self.split.kind} split "
                    f"of {format_epsilon(self.epsilon)} gives it "
                    f"{format_epsilon(parts[block.name])}; do not answer this survey"
                )

    @cached_property
    def _divided(self) -> tuple[dict[str, Decimal], dict[str, Decimal]]:
        """Epsilon of each draw and each block outside draws, and of every block, by the split."""
        return self.parts_by(self.split)

    @property
    def later_format(self) -> tuple[str, ...]:
        """Fields of the manifest for which it is published in `BLOCKS_FORMAT`; none in `FORMAT`."""
        used = {
            "together": self.together,
            "selects": self.selects,
            "draws": self.draws,
            "matrices": self.matrices,
            **{
                key: any(getattr(attribute, key) is not None for attribute in self.attributes)
                for key in LATER_KEYS
            },
        }
        return tuple(field for field, value in used.items() if value)

    @property
    def perturbed(self) -> tuple[PublishedAttribute, ...]:
        """The attributes that leave a device only through a protocol, in record order."""
        return tuple(attribute for attribute in self.attributes if attribute.oracle is not None)

    @property
    def clear(self) -> tuple[PublishedAttribute, ...]:
        """The attributes that leave a device as they are answered, in record order."""
        return tuple(attribute for attribute in self.attributes if attribute.oracle is None)

    @property
    def target(self) -> PublishedAttribute | None:
        """The attribute that is predicted, if there is one."""
        return next(
            (attribute for attribute in self.attributes if attribute.role == "target"), None
        )

    @property
    def budget(self) -> dict[str, Decimal]:
        """Epsilon of every block outside draws and of every draw, by its name, in record order.

        It is what a respondent is charged, whichever blocks of a draw are answered.
        """
        if self.draws:
            return dict(self._divided[0])
        return {block.name: block.oracle.epsilon for block in self.blocks}

    def answering(self, names: Collection[str]) -> Published:
        """Return the survey as it is of those records that answer these questions.

        The blocks of these questions are in no draw there, since all of the records answer them;
        where each stands in a record is the same.
        """
        wanted = {one.block or one.name for one in map(self.attribute, names) if one.draw}
        if not wanted:
            return self
        survey = copy(self)
        attributes = tuple(
            replace(one, draw=None) if (one.block or one.name) in wanted else one
            for one in self.attributes
        )
        for name in ("blocks", "layout"):  # which are computed from the attributes, once
            vars(survey).pop(name, None)
        vars(survey)["attributes"] = attributes
        return survey

    def share_answering(self, names: Collection[str]) -> Fraction:
        """Return the chance in [0, 1] that a device answers all of these questions."""
        blocks = {one.block or one.name for one in map(self.attribute, names)}
        share = Fraction(1)
        for draw in self.draws:
            wanted, d, s = len(blocks.intersection(draw.blocks)), len(draw.blocks), draw.answer
            share *= Fraction(comb(d - wanted, s - wanted), comb(d, s)) if wanted <= s else 0
        return share

    def draw_of(self, block: str) -> Draw | None:
        """Return the draw that a block is in, if it is in one."""
        return next((draw for draw in self.draws if block in draw.blocks), None)

    @cached_property
    def reach(self) -> dict[str, Decimal]:
        """Epsilon of all that tells about the answers of every block, by its name, in record order.

        Whether a follow-up was asked depends on the answer to its router, so what is sent of the
        follow-up tells about the router as well: its block counts, unless it is the router's own.
        As many blocks of a draw count as a device answers.
        """
        routers = {
            block.name: set(routers_of([one.name for one in block.questions], self.attributes))
            for block in self.blocks
        }
        told = {
            block.name: [
                other
                for other in self.blocks
                if other is block or any(one.name in routers[other.name] for one in block.questions)
            ]
            for block in self.blocks
        }
        left = {draw.name: draw.answer for draw in self.draws}
        return {
            name: total_epsilon(other.oracle.epsilon for other in _answered(others, dict(left)))
            for name, others in told.items()
        }

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """What is randomised, in record order; a perturbed question alone is a block of one."""
        return blocks_of(self.attributes, self.together)

    def block_of(self, name: str) -> Block | None:
        """Return the block that an attribute is in; None for one in clear.

        Raises
        ------
        InvalidParameter
            If the survey has no such attribute.
        """
        attribute = self.attribute(name)
        if attribute.oracle is None:
            return None
        wanted = attribute.block or name
        return next(block for block in self.blocks if block.name == wanted)

    def attribute(self, name: str, *, field: str = "attribute") -> PublishedAttribute:
        """Return the attribute of this name.

        Parameters
        ----------
        field : str
            The caller's parameter that `name` was given by, which a refusal names.

        Raises
        ------
        InvalidParameter
            If the survey has none.
        """
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        for select in self.selects:
            if select.name == name:
                raise InvalidParameter(
                    f"{name} is a select-all, and one attribute is asked for; name one of its "
                    f"options: {said_of_options(self, select)}",
                    field=field,
                )
        from hushpoll_shared.spelling.nearest import remedy_for  # a device needs it for no answer

        raise InvalidParameter(
            f"{show(name)} is no attribute of {self.name}"
            + remedy_for(name, [attribute.name for attribute in self.attributes]),
            field=field,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the published form as JSON, without what is absent."""
        form = BLOCKS_FORMAT if self.later_format else FORMAT
        document = {"format": form, **self._terms_dict()}
        if self.invitation_key is not None:
            document["invitation_key"] = self.invitation_key
        oracles = {block.name: block.oracle for block in self.blocks}
        for entry in document.get("together", ()):
            entry |= claims(oracles[entry["name"]])
        for entry in document.get("draws", ()):
            entry["epsilon"] = format_epsilon(self.budget[entry["name"]])
        return document

    @cached_property
    def canonical(self) -> bytes:
        """The published form in RFC 8785 canonical JSON."""
        return canonical_json(self.to_dict())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of `canonical`, 64 lower-case hexadecimal digits."""
        return sha256_hex(self.canonical)

    @cached_property
    def layout(self) -> Layout:
        """Where each attribute stands in a record."""
        return Layout.of(self.attributes, self.blocks, self.draws, self.selects)


def _answered(blocks: Sequence[Block], left: dict[str, int]) -> Iterator[Block]:
    """Yield blocks that a device can answer at once; `left` says how many of each draw it can.

    The blocks of a draw have one epsilon, so it does not matter which.
    """
    for block in blocks:
        draw = block.questions[0].draw
        if draw is None:
            yield block
        elif left[draw]:
            left[draw] -= 1
            yield block


def _check_key(value: object) -> None:
    """Refuse a key that is not spelled as one; whether it is one, is found out where it is used."""
    field = "invitation_key"
    if isinstance(value, str) and len(value) <= 64:
        try:
            if len(b64decode(value, field=field)) == KEY_SIZE:
                return
        except InvalidParameter:
            pass
    raise refusal_of(field)(
        f"is {show(value)}; it is {KEY_SIZE} bytes in base64url, which the server fills in as it "
        "publishes a survey with submission invited: leave it out of a draft"
    )


def _check_translations(translations: object) -> None:
    """Refuse null, and a mapping of nothing, in translations that are otherwise well formed."""
    if not isinstance(translations, Mapping):
        return
    for tag, words in translations.items():
        if not isinstance(words, Mapping):
            continue
        where = f"translations[{tag}]"
        check_no_null(words, where)
        for key in ("sections", "attributes", "selects", "select_help", "matrices"):
            if words.get(key) == {}:
                path = f"{where}.{key}"
                raise refusal_of(path)("is empty; leave it out")
        questions = words.get("attributes")
        if isinstance(questions, Mapping):
            for name, question in questions.items():
                if isinstance(question, Mapping):
                    check_no_null(question, f"{where}.attributes[{name}]"[:200])


def _difference(document: JsonObject, published: JsonObject) -> str:
    """Name the first top-level field in which two documents differ."""
    return next(
        (
            key
            for key in sorted({*document, *published})
            if key not in document or key not in published or document[key] != published[key]
        ),
        "manifest",
    )
