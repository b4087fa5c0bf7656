"""Follow-ups: questions that are asked only after some answers to an earlier question, the router.

A follow-up has one more category, the last: not asked. It is the answer of every respondent whose
answer to the router is none of those named, or who was not asked the router, or skipped it. Where
router and follow-up are in one block, the block has no combination that `ask_if` makes impossible:
its domain is a tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from hushpoll_protocols import K_MAX, InvalidParameter
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.text import is_name, normalized, show

if TYPE_CHECKING:
    from hushpoll_shared.survey.questions.attributes import Attribute

NOT_ASKED: Final = "not asked"
"""Label of a follow-up's last category, in every survey."""

Routes = Mapping[str, tuple[str, frozenset[int]]]
"""The router of each follow-up, and the codes of its answers after which that is asked."""


@dataclass(frozen=True)
class AskIf:
    """When a follow-up is asked."""

    router: str
    """Name of the question that decides."""
    categories: tuple[str, ...]
    """Its categories after which the follow-up is asked."""

    def to_dict(self) -> dict[str, list[str]]:
        """Return the condition as JSON."""
        return {self.router: list(self.categories)}


def read_ask_if(value: object, *, where: str) -> AskIf | None:
    """Read the field `ask_if` of a survey; an integer stands for its decimal string."""
    if value is None:
        return None
    path = f"{where}.ask_if"
    form = "it names one earlier question with a list of its categories, such as smokes: [daily]"
    if not isinstance(value, Mapping):
        raise refusal_of(path)(f"is {show(value)}; {form}")
    if len(value) != 1:
        raise refusal_of(path)(
            f"names {len(value)} questions; {form}: name one, which may be a follow-up itself, or "
            "leave ask_if out"
        )
    ((router, categories),) = value.items()
    if not is_name(router):
        raise refusal_of(path)(f"names {show(router)}, which is no name of an attribute; {form}")
    if not isinstance(categories, list | tuple):
        raise refusal_of(path)(
            f"has {show(categories)} for {router}; give a list of categories of {router}"
        )
    labels = tuple(str(one) if type(one) is int else normalized(one) for one in categories)
    for label in labels:
        if not isinstance(label, str):
            raise refusal_of(path)(
                f"has {show(label)}, which is no text; name categories of {router}, in quotes "
                "where YAML reads them as something else"
            )
    return AskIf(router, tuple(str(label) for label in labels))


def check_follow_ups(attributes: Sequence[Attribute]) -> None:
    """Refuse follow-ups that cannot be.

    That is one after itself, in a cycle, before its router, after categories that the router does
    not have, after none or all of them; a target; or one in clear whose router is perturbed, since
    it would reveal the router's answer.
    """
    declared = {attribute.name: attribute for attribute in attributes}
    places = {attribute.name: place for place, attribute in enumerate(attributes)}
    for attribute in attributes:
        condition = attribute.ask_if
        if condition is None:
            continue
        path = f"attributes[{attribute.name}].ask_if"
        router = declared.get(condition.router)
        _check_router(attribute, router, declared, path)
        if router is None:
            continue  # refused above
        if places[router.name] > places[attribute.name]:
            raise refusal_of(path)(
                f"names {router.name}, which is asked later; a follow-up stands after its router: "
                f"move {attribute.name} behind {router.name}"
            )
        _check_categories(condition, router, path)
        if attribute.role == "target":
            raise InvalidParameter(
                f"{attribute.name} is the target and has ask_if; audits and models need an answer "
                "of everybody to the target, and a person who was not asked gives none: leave "
                "ask_if out, or give it another role",
                field=path,
            )
        if router.perturbed and not attribute.perturbed:
            raise InvalidParameter(
                f"{attribute.name} leaves in clear, and {path} names {router.name}, which is "
                f"perturbed; whether {attribute.name} was asked would reveal the answer to "
                f"{router.name}: make the role of {attribute.name} sensitive, or leave ask_if out",
                field=path,
            )


def _check_router(
    attribute: Attribute,
    router: Attribute | None,
    declared: Mapping[str, Attribute],
    path: str,
) -> None:
    condition = attribute.ask_if
    if condition is None:
        return
    if router is None:
        raise refusal_of(path)(
            f"names {show(condition.router)}, which is no attribute of the survey; its attributes "
            f"are {', '.join(declared)}: correct the name"
        )
    chain = [attribute.name]
    step: Attribute | None = router
    while step is not None and step.name not in chain:
        chain.append(step.name)
        step = None if step.ask_if is None else declared.get(step.ask_if.router)
    if step is None:
        return
    if router.name == attribute.name:
        raise refusal_of(path)(
            f"names {attribute.name} itself; a follow-up is asked after the answer to another "
            "question: name that one, or leave ask_if out"
        )
    raise refusal_of(path)(
        f"is part of a cycle: {' after '.join((*chain, step.name))}; a question comes before its "
        "follow-ups: leave ask_if out of one of them"
    )


def _check_categories(condition: AskIf, router: Attribute, path: str) -> None:
    known = router.categories
    if router.number is not None:
        raise refusal_of(path)(
            f"names {router.name}, which is answered by a number; a router has categories: give "
            f"{router.name} categories, or leave ask_if out"
        )
    if not condition.categories:
        raise refusal_of(path)(
            f"has an empty list for {router.name}, so nobody would be asked; name categories of "
            f"{router.name}, or remove the question"
        )
    domain, seen = frozenset(known), set[str]()
    for category in condition.categories:
        if category == router.missing or (router.ask_if is not None and category == NOT_ASKED):
            raise refusal_of(path)(
                f"has {show(category)}; after a router that was skipped or not asked, a follow-up "
                "is not asked: remove it"
            )
        if category not in domain:
            shown = ", ".join(show(one) for one in known[:12])
            raise refusal_of(path)(
                f"has {show(category)}, which is no category of {router.name}; its categories are "
                f"{shown}{', ...' if len(known) > 12 else ''}: correct it"
            )
        if category in seen:
            raise refusal_of(path)(f"has {show(category)} twice; name each category once")
        seen.add(category)
    if len(condition.categories) == len(known):
        raise refusal_of(path)(
            f"has all {len(known)} categories of {router.name}, so the question would be asked "
            "after every answer; name fewer, or leave ask_if out"
        )


def asking_codes(attribute: Attribute, router: Attribute) -> frozenset[int]:
    """Return the codes of its router's answers after which a follow-up is asked."""
    condition = attribute.ask_if
    named = frozenset(() if condition is None else condition.categories)
    return frozenset(code for code, one in enumerate(router.categories) if one in named)


def routes_of(attributes: Sequence[Attribute]) -> Routes:
    """Return of each follow-up its router, and the codes after which it is asked."""
    by_name = {attribute.name: attribute for attribute in attributes}
    return {
        attribute.name: (
            attribute.ask_if.router,
            asking_codes(attribute, by_name[attribute.ask_if.router]),
        )
        for attribute in attributes
        if attribute.ask_if is not None
    }


def asks(routes: Routes, name: str, codes: Mapping[str, int]) -> bool:
    """Return whether a question is asked, by the codes of the questions before it."""
    if name not in routes:
        return True
    router, asking = routes[name]
    return codes[router] in asking


def code_answer(
    attribute: Attribute, answer: object, codes: Mapping[str, int], routes: Routes
) -> int:
    """Return the code of an answer, given the codes of the questions before it.

    None is the answer to a follow-up that is not asked, and no other is; a refusal never shows one.
    """
    if attribute.ask_if is None:
        return attribute.code(answer)
    unasked = attribute.answer_codes - 1
    if not asks(routes, attribute.name, codes):
        if answer in (None, NOT_ASKED):
            return unasked
        raise impossible(attribute)
    code = attribute.code(answer)
    if code == unasked:
        raise impossible(attribute)
    return code


def impossible(attribute: Attribute) -> InvalidParameter:
    """Return the refusal of answers to a follow-up and its router that do not go together.

    It has the same words whichever way they disagree: the answer to the router is not shown.
    """
    condition = attribute.ask_if
    router, categories = ("", ()) if condition is None else (condition.router, condition.categories)
    named = ", ".join(map(show, categories[:12]))
    if len(categories) > 12:
        named = f"{named}, ... ({len(categories)} categories)"
    return InvalidParameter(
        f"the answers to {router} and {attribute.name} do not go together: {attribute.name} is "
        f"asked after {named}, and after no other answer to {router}; leave out what was not "
        "asked, and answer what was",
        field=attribute.name,
    )


def routers_of(names: Iterable[str], attributes: Sequence[Attribute]) -> tuple[str, ...]:
    """Return every question on whose answer it depends whether one of these is asked.

    They are in manifest order, with routers of routers, and with these where they route others.
    """
    conditions = {attribute.name: attribute.ask_if for attribute in attributes}
    found: set[str] = set()
    for name in names:
        condition = conditions.get(name)
        while condition is not None and condition.router not in found:
            found.add(condition.router)
            condition = conditions.get(condition.router)
    return tuple(attribute.name for attribute in attributes if attribute.name in found)


def tree_of(names: Sequence[str], attributes: Sequence[Attribute]) -> tuple[int, ...] | None:
    """Return the combinations of answers to the questions of a block that `ask_if` leaves.

    They are increasing numbers in mixed radix over all categories, the first question the slowest;
    None where no combination is impossible. Refuses more than a domain may have.
    """
    by_name = {attribute.name: attribute for attribute in attributes}
    if all(by_name[name].ask_if is None for name in names):
        return None
    concerned = {*names, *routers_of(names, attributes)}
    ordered = [attribute for attribute in attributes if attribute.name in concerned]
    bits = {attribute.name: 1 << place for place, attribute in enumerate(ordered)}
    strides = {
        name: prod(by_name[other].k for other in names[place + 1 :])
        for place, name in enumerate(names)
    }
    # A state is what is chosen so far, and which of the later follow-ups are asked after it.
    # Two states with one combination lead to different ones, so there are never more of them than
    # combinations in the end.
    states = {(0, 0)}
    for attribute in ordered:
        own, stride = bits[attribute.name], strides.get(attribute.name, 0)
        opened_by = [0] * (attribute.k - (attribute.ask_if is not None))
        for one in ordered:
            if one.ask_if is not None and one.ask_if.router == attribute.name:
                for code in asking_codes(one, attribute):
                    opened_by[code] |= bits[one.name]
        asked = {(code * stride, opened) for code, opened in enumerate(opened_by)}
        unasked = {((attribute.k - 1) * stride, 0)}
        following: set[tuple[int, int]] = set()
        for number, open_bits in states:
            there = attribute.ask_if is None or bool(open_bits & own)
            for step, opened in asked if there else unasked:
                following.add((number + step, open_bits & ~own | opened))
            if len(following) > K_MAX:
                raise InvalidParameter(
                    f"the questions {', '.join(names)} have more than {K_MAX} combinations of "
                    "answers; take one out of the block, or merge categories",
                    field="together",
                )
        states = following
    numbers = sorted(number for number, _ in states)
    whole = prod(by_name[name].k for name in names)
    return None if len(numbers) == whole else tuple(numbers)
