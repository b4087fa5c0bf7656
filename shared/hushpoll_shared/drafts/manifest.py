"""The draft of a survey: what its author writes, before the budget is resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hushpoll_protocols import InvalidParameter, create
from hushpoll_shared.drafts.named_questions import check_pairs, read_pairs
from hushpoll_shared.spelling.canonical import canonical_json, check_keys
from hushpoll_shared.spelling.text import normalized, show
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import (
    Attribute,
    PublishedAttribute,
    check_protocol,
)
from hushpoll_shared.survey.questions.selects import (
    SelectAll,
)
from hushpoll_shared.survey.randomization.blocks import (
    LARGEST_RECORD,
    Together,
    check_together,
    common_protocol,
    domain_sizes,
    with_oracles,
)
from hushpoll_shared.survey.randomization.budget import OPTIMAL, Split
from hushpoll_shared.survey.randomization.drawn_selects import (
    check_sizes_in_draws,
    check_uses,
    units_of,
)
from hushpoll_shared.survey.randomization.draws import Draw, draw_of_shorthand, with_draws
from hushpoll_shared.survey.randomization.draws import units_of as draw_units_of
from hushpoll_shared.survey.terms import (
    TEXTS,
    Terms,
    check_number_of_attributes,
    read_terms,
)

if TYPE_CHECKING:
    from pathlib import Path

    from hushpoll_shared.survey.randomization.select_choice import Choice


@dataclass(frozen=True, kw_only=True)
class Manifest(Terms):
    """A draft: `Terms` with the author's shorthands.

    Parameters
    ----------
    protocol : str or None
        Protocol of every sensitive attribute that names none.
    population : mapping or None
        A synthetic population for simulation; never published.
    pairs : tuple of (str, str)
        Attributes whose relation the survey is to tell, for its launch plan; never published.

    Raises
    ------
    InvalidParameter
        Naming the field or the attribute, if any of it breaks a rule.
    """

    protocol: str | None = None
    population: Mapping[str, Any] | None = field(default=None, hash=False)
    pairs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        check_uses(self.attributes, self.together, self.protected)
        super().__post_init__()
        if self.protocol is not None:
            check_protocol(self.protocol, field="protocol")
        for name, protocol in self._protocols().items():
            if protocol is None:
                several = any(block.name == name for block in self.together)
                what = f"the block {name} names" if several else f"{name} is sensitive and names"
                raise InvalidParameter(
                    f"{what} no protocol, and the survey names none either; give the survey a "
                    f"protocol, such as SS, or the {'block' if several else 'attribute'} one",
                    field=f"{self._path(name)}.protocol",
                )
        self._check_anchors()
        if self.population is not None:
            if not isinstance(self.population, Mapping):
                raise InvalidParameter(
                    f"population is {show(self.population)}; it must be a mapping",
                    field="population",
                )
            try:
                canonical_json(self.population)
            except InvalidParameter as error:
                raise InvalidParameter(f"population: {error}", field="population") from None
        if self.pairs:
            check_pairs(self.pairs, [attribute.name for attribute in self.attributes])
        if self.questions:
            check_sizes_in_draws(self.questions, self.draws)
            self._expanded({})

    @classmethod
    def from_dict(cls, value: object) -> Manifest:
        """Read a draft.

        Text is brought into Unicode normal form C, ``range`` is expanded, a single protected
        category may stand for a list.

        Parameters
        ----------
        value : object
            The JSON or YAML value.

        Raises
        ------
        InvalidParameter
            Naming the field or the attribute; also for any key that is not known.
        """
        # A device reads no draft, so it does not pay for importing what only drafts need.
        from hushpoll_shared.drafts.attributes import (
            naming_matrices,
            read_entry,
            spread_translations,
        )
        from hushpoll_shared.drafts.fields import names, required
        from hushpoll_shared.drafts.named_questions import refuse_matrix_names, refuse_option_names
        from hushpoll_shared.drafts.survey_fields import SURVEY

        needed = required(SURVEY)
        if not isinstance(value, Mapping):
            raise InvalidParameter(
                f"the manifest is {'empty' if value is None else show(value)}; it must be a "
                f"mapping with {', '.join(needed)}",
                field="manifest",
            )
        check_keys(value, names(SURVEY), needed, where="")
        attributes = value["attributes"]
        if not isinstance(attributes, list | tuple):
            raise InvalidParameter(
                f"attributes is {show(attributes)}; it must be a list of attributes",
                field="attributes",
            )
        # Before the ranges of thousands are expanded: the draft may be hostile.
        check_number_of_attributes(len(attributes))
        texts = {key: normalized(value.get(key)) for key in TEXTS}
        groups = _normalized_groups(value.get("protected"))
        terms = read_terms({**value, **texts, "protected": groups}, canonical=False)
        entries = [read_entry(one, position=position) for position, one in enumerate(attributes)]
        declared = tuple(attribute for entry in entries for attribute in entry.attributes)
        matrices = tuple(entry.matrix for entry in entries if entry.matrix is not None)
        refuse_matrix_names(value, matrices)
        refuse_option_names(value, declared)
        together = (*terms["together"], *(entry.block for entry in entries if entry.block))
        terms |= {
            "together": together,
            "matrices": matrices,
            "translations": spread_translations(terms["translations"], matrices),
            "draws": _draws(value, terms["draws"], declared, together),
        }
        with naming_matrices(matrices):
            draft = cls(
                **terms,
                attributes=declared,
                protocol=value.get("protocol"),
                population=value.get("population"),
                pairs=read_pairs(value.get("pairs")),
            )
        _check_labels(draft)
        return draft

    def to_dict(self) -> dict[str, Any]:
        """Return the draft as JSON; `from_dict` reads it back to an equal manifest."""
        document = self._terms_dict()
        for key in ("protocol", "population"):
            value = getattr(self, key)
            if value is not None:
                document[key] = value
        if self.pairs:
            document["pairs"] = [list(pair) for pair in self.pairs]
        if not self.matrices:
            return document
        from hushpoll_shared.drafts.attributes import with_matrices

        return with_matrices(document, self.matrices, self.together)

    @property
    def questions(self) -> tuple[SelectAll, ...]:
        """The select-alls of the draft, each one attribute."""
        return tuple(one for one in self.attributes if isinstance(one, SelectAll))

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """What each sensitive select-all is published as, and why, in order."""
        from hushpoll_shared.survey.randomization.budget import part_of
        from hushpoll_shared.survey.randomization.select_choice import choose

        sensitive = [one for one in self.questions if one.perturbed]
        if not sensitive:
            return ()
        base = self._expanded({})
        owners: dict[str, str] = {}
        for draw in self.draws:
            owners |= dict.fromkeys(draw.blocks, draw.name)
        split = base.published_split()
        units = draw_units_of(units_of(base.domain_sizes, base.selects), base.draws)
        parts = {name: part_of(self.epsilon, share) for name, share in split.shares(units).items()}
        _, of_blocks = base.parts_by(split)
        parts |= {name: of_blocks[name] for name in owners if name in of_blocks}
        sizes = {one.name: (1 if one.k <= 256 else 2) for one in base.attributes}
        sizes |= {draw.name: -(-len(draw.blocks) // 8) for draw in self.draws}
        for name, (protocol, k) in base.perturbed().items():
            sizes[name] = create(protocol, k=k, epsilon=of_blocks[name]).record_size
        protocols = self._protocols()
        return tuple(
            choose(
                question,
                protocols[question.name] or "",
                parts[question.name],
                room=LARGEST_RECORD
                - sum(sizes.values())
                + sum(sizes[name] for name in question.selection.attributes),
                draw=owners.get(question.name),
            )
            for question in sensitive
        )

    @cached_property
    def expanded(self) -> Manifest:
        """The draft with the options of select-alls as attributes, as they are published."""
        if not self.questions:
            return self
        return self._expanded({choice.name: choice.best.form for choice in self.choices})

    def _expanded(self, forms: Mapping[str, tuple[str, int]]) -> Manifest:
        from hushpoll_shared.drafts.select_expansion import expansion

        return replace(self, **expansion(self, forms))

    def budget(self) -> dict[str, Decimal]:
        """Return the epsilon of every draw and every block outside draws, in record order.

        Raises
        ------
        InvalidParameter
            If a part falls under 1e-6, naming the block or the draw.
        """
        if self.questions:
            return self.expanded.budget()
        return self.parts_by(self.published_split())[0]

    def published_split(self) -> Split:
        """Return the split as it will be published: `optimal` as the weights that it comes to.

        Raises
        ------
        InvalidParameter
            If the total is too small for so many blocks.
        """
        if self.split.kind != OPTIMAL:
            return self.split
        if self.questions:
            return self.expanded.published_split()
        # A device never resolves a draft, so it does not pay for the search's import.
        from hushpoll_shared.survey.randomization.optimal import optimal_split

        apart = {name: len(options) for name, options in self.apart.items()}
        units = {
            unit: perturbed
            for (name, perturbed), unit in zip(
                self.perturbed().items(), self.split_units(), strict=True
            )
        }
        return optimal_split(self.epsilon, units, apart=apart, draws=self.draws)

    def split_units(self) -> list[str]:
        """Return the entry of the split that each block has its epsilon from, in record order."""
        owners = {name: unit for unit, names in self.apart.items() for name in names}
        return [owners.get(name, name) for name in self.domain_sizes]

    def perturbed(self) -> dict[str, tuple[str, int]]:
        """Return the protocol and the domain size of every block, in record order."""
        if self.questions:
            return self.expanded.perturbed()
        protocols = self._protocols()
        return {
            name: (protocol, k)
            for name, k in self.domain_sizes.items()
            if (protocol := protocols[name]) is not None
        }

    def _check_anchors(self) -> None:
        """Refuse a split that depends on how many anchors a number has, where that is not known."""
        for attribute in self._without_anchors():
            if self.split.kind in ("k-based", OPTIMAL):
                raise InvalidParameter(
                    f"split is {self.split.kind}, which depends on how many anchors "
                    f"{attribute.name} has, and they are chosen by its epsilon; choose uniform or "
                    f"weights, or name its anchors in attributes[{attribute.name}].number.anchors",
                    field="split",
                )

    def _without_anchors(self) -> tuple[Attribute, ...]:
        """Return the randomised numbers whose anchors are chosen when the draft is resolved."""
        return tuple(
            attribute
            for attribute in self.attributes
            if attribute.number is not None and attribute.perturbed and not attribute.number.anchors
        )

    def with_anchors(self) -> Manifest:
        """Return the draft with the anchors that every randomised number will be published with."""
        unknown = self._without_anchors()
        if not unknown:
            return self
        # A device never resolves a draft, so it does not pay for importing how they are chosen.
        from hushpoll_shared.survey.questions.anchors import choose_anchors

        # of a number in a draw what it is given where it is answered
        expanded = self.expanded
        _, budget = expanded.parts_by(expanded.published_split())
        protocols = self._protocols()
        chosen = {}
        for attribute in unknown:
            number, protocol = attribute.number, protocols[attribute.name]
            if number is not None and protocol is not None:
                anchors = choose_anchors(attribute, number, protocol, budget[attribute.name])
                chosen[attribute.name] = replace(
                    attribute,
                    number=replace(number, anchors=anchors),
                    categories=tuple(map(str, anchors)),
                )
        return replace(
            self,
            attributes=tuple(chosen.get(one.name, one) for one in self.attributes),
        )

    def _protocols(self) -> dict[str, str | None]:
        """Return the protocol of every block, None where nothing names one."""
        by_name = {attribute.name: attribute for attribute in self.attributes}
        declared = {block.name: block for block in self.together}
        protocols: dict[str, str | None] = {}
        for name in self.domain_sizes:
            block = declared.get(name)
            questions = [by_name[one] for one in (block.attributes if block else (name,))]
            own = block.protocol if block else None
            protocols[name] = common_protocol(name, own, questions) or self.protocol
        return protocols

    def _path(self, name: str) -> str:
        """Return the path of a block in the manifest."""
        several = any(block.name == name for block in self.together)
        return f"{'together' if several else 'attributes'}[{name}]"

    def resolve(self) -> Published:
        """Resolve the budget and the protocols' parameters into the form that is published.

        Raises
        ------
        InvalidParameter
            If a part of the budget is outside its interval or a protocol refuses its (k, epsilon),
            naming the block.
        """
        return self._resolved

    @cached_property
    def _resolved(self) -> Published:
        # a plan asks for it many times
        if self.questions:
            return self.expanded.resolve()
        if self._without_anchors():
            return self.with_anchors().resolve()
        split = self.published_split()
        _, budget = self.parts_by(split)
        oracles = {}
        for name, (protocol, k) in self.perturbed().items():
            try:
                oracles[name] = create(protocol, k=k, epsilon=budget[name])
            except InvalidParameter as error:
                path = f"{self._path(name)}.{error.field}"
                raise InvalidParameter(f"{name}: {error}", field=path) from None
        owners = {name: block.name for block in self.together for name in block.attributes}
        attributes = []
        for attribute in self.attributes:
            oracle = oracles.get(owners.get(attribute.name, attribute.name))
            values = {
                **_values(attribute, Attribute),
                "protocol": None if oracle is None else oracle.name,
                "number": None if attribute.number is None else attribute.number.published(),
            }
            attributes.append(
                PublishedAttribute(**values, oracle=oracle, block=owners.get(attribute.name))
            )
        together = tuple(
            replace(block, protocol=oracles[block.name].name) for block in self.together
        )
        resolved = with_oracles(attributes, together, oracles)
        terms = {
            **_values(self, Terms),
            "split": split,
            "together": together,
            "attributes": with_draws(resolved, self.draws) if self.draws else resolved,
        }
        return Published(**terms)


def load_manifest(path: str | Path) -> Manifest:
    """Read a draft from a file: ``.json``, or ``.yaml`` and ``.yml`` with the extra ``cli``.

    Raises
    ------
    InvalidParameter
        If the file has another ending, is not JSON or YAML, or is no valid draft.
    MissingExtra
        For YAML without the extra ``cli``.
    OSError
        If the file cannot be read.
    """
    return Manifest.from_dict(load_document(path))


def load_document(path: str | Path) -> Any:
    """Read the JSON or YAML value of a file, whatever a manifest may lack."""
    # A device that is handed its manifest as bytes does not pay for importing pathlib.
    from pathlib import Path

    from hushpoll_shared.reading.text_files import read_document

    return read_document(Path(path), field="path", noun="the manifest file")


def _draws(
    document: Mapping[str, Any],
    draws: tuple[Draw, ...],
    attributes: tuple[Attribute, ...],
    together: tuple[Together, ...],
) -> tuple[Draw, ...]:
    """Return the draws of a draft: those that it lists, or that which `answer` stands for."""
    answer, always = document.get("answer"), document.get("always")
    if answer is None and always is None:
        return draws
    if draws:
        field = "always" if answer is None else "answer"
        raise InvalidParameter(
            f"{field} is {show(document[field])}, and the survey lists draws; {field} belongs to "
            "the shorthand for one draw of all blocks but always: use the shorthand or draws",
            field=field,
        )
    check_together(together, attributes)
    return draw_of_shorthand(answer, always, attributes, domain_sizes(attributes, together))


def _values(holder: Attribute | Terms, kind: type[Attribute] | type[Terms]) -> dict[str, Any]:
    """Return the fields that the class ``kind`` declares, by name."""
    return {part.name: getattr(holder, part.name) for part in fields(kind)}


def _normalized_groups(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {
        key: [normalized(item) for item in group]
        if isinstance(group, list | tuple)
        else normalized(group)
        for key, group in value.items()
    }


def _check_labels(draft: Terms) -> None:
    """Refuse a survey's own texts and translations that nobody could read or tell apart."""
    from hushpoll_shared.spelling.labels import check_apart, check_ends

    for key in ("title", "operator"):
        check_ends(getattr(draft, key), field=key)
    for key in ("description", "purpose", "thanks"):
        check_ends(getattr(draft, key), field=key, lines=True)
    check_ends(None if draft.logo is None else draft.logo.alt, field="logo.alt")
    sections = [attribute.section for attribute in draft.attributes if attribute.section]
    check_apart(sections, field="attributes")
    own = {attribute.name: attribute for attribute in draft.attributes}
    for translation in draft.translations:
        where = f"translations[{translation.language}]"
        check_ends(translation.title, field=f"{where}.title")
        for key in ("description", "purpose", "thanks"):
            check_ends(getattr(translation, key), field=f"{where}.{key}", lines=True)
        check_ends(translation.logo, field=f"{where}.logo")
        for name, words in translation.sections:
            check_ends(words, field=f"{where}.sections[{name}]"[:200])
        for question in translation.questions:
            path = f"{where}.attributes[{question.name}]"
            for key in ("question", "missing"):
                check_ends(getattr(question, key), field=f"{path}.{key}")
            check_ends(question.help, field=f"{path}.help", lines=True)
            for place, end in enumerate(question.ends or ()):
                check_ends(end, field=f"{path}.ends[{place}]")
            for position, category in enumerate(question.categories or ()):
                check_ends(category, field=f"{path}.categories[{position}]")
            if question.categories is not None:
                check_apart((*question.categories, question.missing), field=f"{path}.categories")
            elif question.missing is not None:
                labels = (*own[question.name].categories, question.missing)
                check_apart(labels, field=f"{path}.missing")
