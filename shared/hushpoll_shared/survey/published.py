"""The published survey: hashed by the server, pinned and checked by every device.

A device trusts none of it. It recomputes every threshold from (protocol, k, epsilon, g, omega,
theta), adds up the epsilons, divides the total by the split itself, and refuses the manifest if
any of it disagrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from hushpoll_protocols import (
    PROTOCOLS,
    InvalidParameter,
    ManifestRefused,
    create,
    format_epsilon,
    parse_epsilon,
)
from hushpoll_shared.spelling.canonical import (
    InvalidJson,
    canonical_json,
    check_keys,
    parse_json,
    sha256_hex,
)
from hushpoll_shared.spelling.decimals import check_canonical
from hushpoll_shared.spelling.text import check_name, is_name, show
from hushpoll_shared.survey.attributes import TEXTS, PublishedAttribute, hex_thresholds
from hushpoll_shared.survey.budget import split_budget
from hushpoll_shared.survey.terms import MOST_ATTRIBUTES, OPTIONAL, Terms, read_terms
from hushpoll_shared.wire.codec import Layout

FORMAT: Final = 1
"""Version of the published form itself."""

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
_KEYS: Final = frozenset({*_REQUIRED, *OPTIONAL})
_CLEAR_REQUIRED: Final = ("name", "role", "categories")
_CLEAR_KEYS: Final = frozenset({*_CLEAR_REQUIRED, *TEXTS})
_PERTURBED_REQUIRED: Final = (*_CLEAR_REQUIRED, "protocol", "epsilon", "parameters", "thresholds")
_PERTURBED_KEYS: Final = _CLEAR_KEYS | frozenset(_PERTURBED_REQUIRED)


@dataclass(frozen=True, kw_only=True, repr=False)
class Published(Terms):
    """A published survey: `Terms` with every perturbed attribute's oracle.

    Two published surveys are equal when their canonical forms are.

    Raises
    ------
    InvalidParameter
        Naming the field, if any of it breaks a rule.
    """

    attributes: tuple[PublishedAttribute, ...]

    def __repr__(self) -> str:
        return f"<survey {self.name} version {self.version}, digest {self.digest}>"

    @classmethod
    def from_json(cls, value: bytes | str | Mapping[str, Any]) -> Published:
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
        check_keys(document, _KEYS, _REQUIRED, where="")
        _check_no_null(document, "")
        _check_translations(document.get("translations"))
        if document["format"] != FORMAT or isinstance(document["format"], bool):
            raise InvalidParameter(
                f"format is {show(document['format'])}; this version reads format {FORMAT}: "
                "update hushpoll",
                field="format",
            )
        attributes = document["attributes"]
        if not isinstance(attributes, list | tuple):
            raise InvalidParameter(
                f"attributes is {show(attributes)}; it must be a list", field="attributes"
            )
        if len(attributes) > MOST_ATTRIBUTES:
            # Before the thresholds of thousands are computed: the manifest may be hostile.
            raise InvalidParameter(
                f"attributes has {len(attributes)} entries; a survey has 1 to {MOST_ATTRIBUTES}",
                field="attributes",
            )
        parse_epsilon(check_canonical(document["epsilon"], field="epsilon"))
        published = cls(
            **read_terms(document, canonical=True),
            attributes=tuple(
                _read_attribute(attribute, f"attributes[{position}]")
                for position, attribute in enumerate(attributes)
            ),
        )
        published._check_budget()
        return published

    def _check_budget(self) -> None:
        spent = sum((Fraction(part) for part in self.budget.values()), Fraction(0))
        if spent > Fraction(self.epsilon):
            # 12 places hold any sum of epsilons, so this spelling is exact.
            written = format_epsilon(Decimal(f"{spent * 10**12 // 1}e-12"))
            raise InvalidParameter(
                f"the epsilons of the attributes sum to {written}, more than the total "
                f"{format_epsilon(self.epsilon)}; do not answer this survey",
                field="epsilon",
            )
        sizes = {attribute.name: attribute.k for attribute in self.perturbed}
        for name, part in split_budget(self.epsilon, sizes, self.split).items():
            if self.budget[name] != part:
                raise InvalidParameter(
                    f"attributes[{name}].epsilon is {format_epsilon(self.budget[name])}, but the "
                    f"{self.split.kind} split of {format_epsilon(self.epsilon)} gives it "
                    f"{format_epsilon(part)}; do not answer this survey",
                    field=f"attributes[{name}].epsilon",
                )

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
        """Epsilon of every perturbed attribute, in record order."""
        return {
            attribute.name: attribute.oracle.epsilon
            for attribute in self.attributes
            if attribute.oracle is not None
        }

    def attribute(self, name: str, *, field: str = "attribute") -> PublishedAttribute:
        """Return the attribute of this name.

        Parameters
        ----------
        name : str
            Of the attribute.
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
        raise InvalidParameter(
            f"{show(name)} is no attribute of {self.name}; "
            f"its attributes are {', '.join(attribute.name for attribute in self.attributes)}",
            field=field,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the published form as JSON, without what is absent."""
        return {"format": FORMAT, **self._terms_dict()}

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
        return Layout.of(self.attributes)


def _read_attribute(value: object, where: str) -> PublishedAttribute:
    """Read one attribute of a published manifest; `where` is its path until its name is known."""
    if not isinstance(value, Mapping):
        raise InvalidParameter(f"{where} is {show(value)}; it must be an object", field=where)
    if is_name(value.get("name")):
        where = f"attributes[{value['name']}]"
    # `protocol` is what tells the two kinds apart: a sensitive attribute without one is refused
    # below.
    perturbed = value.get("role") == "sensitive" or "protocol" in value
    keys, required = (
        (_PERTURBED_KEYS, _PERTURBED_REQUIRED) if perturbed else (_CLEAR_KEYS, _CLEAR_REQUIRED)
    )
    check_keys(value, keys, required, where=where)
    check_name(value["name"], field=f"{where}.name")
    _check_no_null(value, where)
    if not isinstance(value["categories"], list | tuple):
        raise InvalidParameter(
            f"{where}.categories is {show(value['categories'])}; it must be a list of strings",
            field=f"{where}.categories",
        )
    declared = PublishedAttribute(
        name=value["name"],
        role=value["role"],
        categories=tuple(value["categories"]),
        protocol=value.get("protocol"),
        **{key: value.get(key) for key in TEXTS},
    )
    return _with_oracle(declared, value, where) if perturbed else declared


def _check_no_null(value: Mapping[str, Any], where: str) -> None:
    """Refuse a member that is null: what is absent has one spelling, which is to leave it out."""
    for key, inner in value.items():
        if inner is None:
            path = f"{where}.{key}" if where else key
            raise InvalidParameter(f"{path} is null; leave it out", field=path)


def _check_translations(translations: object) -> None:
    """Refuse null, and a mapping of nothing, in translations that are otherwise well formed."""
    if not isinstance(translations, Mapping):
        return
    for tag, words in translations.items():
        if not isinstance(words, Mapping):
            continue
        where = f"translations[{tag}]"
        _check_no_null(words, where)
        for key in ("sections", "attributes"):
            if words.get(key) == {}:
                path = f"{where}.{key}"
                raise InvalidParameter(f"{path} is empty; leave it out", field=path)
        questions = words.get("attributes")
        if isinstance(questions, Mapping):
            for name, question in questions.items():
                if isinstance(question, Mapping):
                    _check_no_null(question, f"{where}.attributes[{name}]"[:200])


def _with_oracle(
    declared: PublishedAttribute, value: Mapping[str, Any], where: str
) -> PublishedAttribute:
    """Rebuild the oracle from what is declared and compare what is claimed of it."""
    epsilon = parse_epsilon(
        check_canonical(value["epsilon"], field=f"{where}.epsilon"), field=f"{where}.epsilon"
    )
    parameters = value["parameters"]
    known = PROTOCOLS[declared.protocol].oracle.parameter_names if declared.protocol else ()
    if not isinstance(parameters, Mapping) or not set(parameters) <= set(known):
        raise InvalidParameter(
            f"{where}.parameters is {show(parameters)}; {declared.protocol} has "
            f"{', '.join(known) or 'none'}: resolve the manifest again",
            field=f"{where}.parameters",
        )
    try:
        oracle = create(value["protocol"], k=declared.k, epsilon=epsilon, **parameters)
    except InvalidParameter as error:
        path = f"{where}.parameters.{error.field}" if error.field in parameters else where
        raise InvalidParameter(f"{where}: {error}", field=path) from None
    for claim, computed in (
        ("parameters", dict(oracle.parameters)),
        ("thresholds", hex_thresholds(oracle)),
    ):
        if value[claim] != computed:
            raise InvalidParameter(
                f"{where}.{claim} is {show(value[claim])}, but {oracle.name} with k = {oracle.k} "
                f"and epsilon = {format_epsilon(epsilon)} gives {computed}; "
                "do not answer this survey",
                field=f"{where}.{claim}",
            )
    return replace(declared, oracle=oracle)


def _difference(document: Mapping[str, Any], published: Mapping[str, Any]) -> str:
    """Name the first top-level field in which two documents differ."""
    return next(
        (
            key
            for key in sorted({*document, *published})
            if key not in document or key not in published or document[key] != published[key]
        ),
        "manifest",
    )
