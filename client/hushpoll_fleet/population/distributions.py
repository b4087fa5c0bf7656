"""How one attribute of a synthetic population depends on earlier ones, as a table of probabilities.

Three forms, as the manifest's ``population`` writes them:

``weights: {Female: 51, Male: 49}``
    Relative weights of the categories; one that is not named has none. ``weights: uniform`` gives
    all the same.
``given: gender`` with ``weights: {Female: {...}, Male: {...}}``
    Weights for each category of a parent; with ``given: [gender, education]`` nested in that order.
    The parent's key ``"*"`` stands for the categories that are not named.
``logit: {category: ">26000", intercept: -1, effects: {gender: {Male: 0.8}}}``
    For a domain of two: log-odds of ``category`` (by default the attribute's ``positive`` one),
    intercept plus one effect per parent category; one that is not named has effect 0.

A follow-up is described as those who are asked answer it: its weight of not asked is left out, and
everybody else is not asked, whatever the entry says.

A key ``17..24`` stands for a run of integer categories; its weight is spread evenly over them, its
effect applies to each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter, MissingExtra, refusal_of
from hushpoll_shared.reading.decimal_texts import number_of
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.follow_ups import asking_codes

_RUN: Final = re.compile(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})", re.ASCII)


def codes_of(attribute: Attribute, key: object, where: str) -> list[int]:
    """Return the codes that a key names: one category's, or those of a run ``17..24``."""
    text = str(key) if type(key) is int else key
    if isinstance(text, str):
        if text in attribute.domain:
            return [attribute.domain.index(text)]
        run = _RUN.fullmatch(text)
        if run is not None:
            low, high = int(run[1]), int(run[2])
            positions = {category: code for code, category in enumerate(attribute.domain)}
            numbers = [str(number) for number in range(low, min(high, low + 65536) + 1)]
            if numbers and all(number in positions for number in numbers):
                return [positions[number] for number in numbers]
    raise refusal_of(where)(
        f"names {show(key)}, which is no category of {attribute.name} and no run of its integer "
        f"categories; its categories are {show(', '.join(attribute.domain))}"
    )


def claimed_codes(attribute: Attribute, key: object, left: set[int], where: str) -> list[int]:
    """Return the codes that a key names, taken out of `left`; refuse to name one twice."""
    codes = codes_of(attribute, key, where)
    if not left.issuperset(codes):
        raise refusal_of(where)(
            f"names a category of {attribute.name} twice, the second time in {show(key)}; name "
            "each once"
        )
    left.difference_update(codes)
    return codes


def finite(value: Any, where: str) -> float:
    """Read a finite number, written as a number or as a decimal string."""
    number = number_of(value)
    if number is None:
        raise refusal_of(where)(f"is {show(value)}; give a finite number")
    return number


try:
    import numpy as np
    from numpy.typing import NDArray
except ImportError:
    raise MissingExtra("kernels", "drawing respondents") from None

Table = NDArray[np.float64]

OTHERS: Final = "*"
LARGEST_TABLE: Final = 5_000_000


@dataclass(frozen=True, eq=False)
class Conditional:
    """Distribution of one attribute given its parents."""

    attribute: Attribute
    parents: tuple[Attribute, ...]
    """Drawn before it."""

    table: Table
    """f64[k of each parent..., k] in [0, 1]; every row over the last axis sums to 1."""

    @property
    def path(self) -> str:
        """Its path in a manifest."""
        return f"population[{self.attribute.name}]"


def read_conditional(
    attribute: Attribute, model: object, earlier: Mapping[str, Attribute]
) -> Conditional:
    """Read an attribute's entry of ``population``, whose parents are among the earlier ones.

    Errors name the path within ``population``.
    """
    where = f"population[{attribute.name}]"
    if isinstance(model, Mapping) and set(model) == {"weights"}:
        return Conditional(attribute, (), _weights(attribute, model["weights"], f"{where}.weights"))
    if isinstance(model, Mapping) and set(model) == {"given", "weights"}:
        parents = _parents(model["given"], earlier, f"{where}.given")
        table = _empty_table(attribute, parents, where)
        _fill(table, attribute, parents, model["weights"], f"{where}.weights")
        return Conditional(attribute, parents, table)
    if isinstance(model, Mapping) and set(model) == {"logit"}:
        return _logit(attribute, model["logit"], earlier, f"{where}.logit")
    raise refusal_of(where)(
        f"is {show(model)}; give one of {{weights: ...}}, {{given: ..., weights: ...}} or {{logit: "
        "...}"
    )


def where_asked(conditional: Conditional, router: Attribute) -> Conditional:
    """Return the distribution of a follow-up, given its router besides what it depended on.

    Refuses one that gives those who are asked no answer.
    """
    attribute, parents, where = conditional.attribute, conditional.parents, conditional.path
    asking = asking_codes(attribute, router)
    if router in parents:
        axis = parents.index(router)
        table = np.array(np.moveaxis(conditional.table, axis, -2))
    else:
        parents = (*parents, router)
        axis = len(parents) - 1
        _empty_table(attribute, parents, where)
        shape = (*conditional.table.shape[:-1], router.k, attribute.k)
        table = np.array(np.broadcast_to(conditional.table[..., np.newaxis, :], shape))
    answers = table[..., sorted(asking), :-1]
    total = answers.sum(axis=-1, keepdims=True)
    if not (total > 0).all():
        raise refusal_of(where)(
            "gives people who are asked no answer; give a category a weight after "
            f"{', '.join(router.domain[code] for code in sorted(asking)[:12])}"
        )
    table[...] = 0.0
    table[..., -1] = 1.0
    table[..., sorted(asking), :-1] = answers / total
    table[..., sorted(asking), -1] = 0.0
    return Conditional(attribute, parents, np.moveaxis(table, -2, axis))


def _parents(given: object, earlier: Mapping[str, Attribute], where: str) -> tuple[Attribute, ...]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not names:
        raise refusal_of(where)(
            f"is {show(given)}; give the name of an earlier attribute, or a list of names"
        )
    for position, name in enumerate(names):
        if not isinstance(name, str) or name not in earlier:
            raise refusal_of(where)(
                f"names {show(name)}; attributes are drawn in manifest order, so a parent is one "
                f"of {', '.join(earlier) or '(none comes before this one)'}"
            )
        if name in names[:position]:
            raise refusal_of(where)(f"names {name!r} twice; name it once")
    return tuple(earlier[name] for name in names)


def _empty_table(attribute: Attribute, parents: tuple[Attribute, ...], where: str) -> Table:
    shape = (*(parent.k for parent in parents), attribute.k)
    if prod(shape) > LARGEST_TABLE:
        raise refusal_of(where)(
            f"depends on {', '.join(parent.name for parent in parents)}: a table of {prod(shape)} "
            f"probabilities, more than {LARGEST_TABLE}; name fewer parents"
        )
    return np.zeros(shape)


def _fill(
    table: Table, attribute: Attribute, parents: tuple[Attribute, ...], weights: object, where: str
) -> None:
    if not parents:
        table[...] = _weights(attribute, weights, where)
        return
    parent = parents[0]
    if not isinstance(weights, Mapping):
        raise refusal_of(where)(
            f"is {show(weights)}; give a mapping from each category of {parent.name} to weights"
        )
    left = set(range(parent.k))
    for key, inner in weights.items():
        if key == OTHERS and OTHERS not in parent.domain:
            continue
        for code in claimed_codes(parent, key, left, where):
            _fill(table[code], attribute, parents[1:], inner, f"{where}[{key}]")
    if left and OTHERS not in weights:
        raise refusal_of(where)(
            f"leaves out {parent.name} = {show(parent.domain[min(left)])}; name every category of "
            f"{parent.name}, or add the key {OTHERS!r} for those not named"
        )
    for code in left:
        _fill(table[code], attribute, parents[1:], weights[OTHERS], f"{where}[{OTHERS}]")


def _weights(attribute: Attribute, weights: object, where: str) -> Table:
    if weights == "uniform":
        return np.full(attribute.k, 1 / attribute.k)
    if not isinstance(weights, Mapping) or not weights:
        raise refusal_of(where)(
            f"is {show(weights)}; give a mapping from categories to weights, or 'uniform'"
        )
    row = np.zeros(attribute.k)
    left = set(range(attribute.k))
    for key, value in weights.items():
        codes = claimed_codes(attribute, key, left, where)
        weight = finite(value, f"{where}[{key}]")
        if weight < 0:
            raise refusal_of(f"{where}[{key}]")(f"is {show(value)}; a weight is 0 or greater")
        row[codes] = weight / len(codes)
    total = row.sum()
    if not total > 0:
        raise refusal_of(where)("has no weight greater than 0; give at least one")
    shares: Table = row / total
    return shares


def _logit(
    attribute: Attribute, model: object, earlier: Mapping[str, Attribute], where: str
) -> Conditional:
    allowed = {"category", "intercept", "effects"}
    if not isinstance(model, Mapping) or not {"intercept", "effects"} <= set(model) <= allowed:
        raise refusal_of(where)(
            f"is {show(model)}; give intercept, effects and, where the attribute has no positive "
            "category, category"
        )
    if len(attribute.answers) != 2:
        raise refusal_of(where)(
            f"describes an attribute with {len(attribute.answers)} categories; a logit needs "
            "exactly 2: use given and weights instead"
        )
    category = model.get("category", attribute.positive)
    if category is None:
        raise InvalidParameter(
            f"{where} does not say whose log-odds it gives; add category, one of "
            f"{', '.join(attribute.answers)}",
            field=f"{where}.category",
        )
    code = codes_of(attribute, category, f"{where}.category")[0]
    if code == attribute.not_asked_code:
        raise refusal_of(f"{where}.category")(
            f"is {show(category)}, which is no answer; name one of {', '.join(attribute.answers)}"
        )
    effects = model["effects"]
    if not isinstance(effects, Mapping):
        raise refusal_of(f"{where}.effects")(
            f"is {show(effects)}; give a mapping from parents to their effects"
        )
    parents = _parents(list(effects), earlier, f"{where}.effects") if effects else ()
    table = _empty_table(attribute, parents, where)
    odds = np.full(table.shape[:-1], finite(model["intercept"], f"{where}.intercept"))
    for axis, parent in enumerate(parents):
        effect = _effects(parent, effects[parent.name], f"{where}.effects[{parent.name}]")
        odds = odds + effect.reshape([-1 if other == axis else 1 for other in range(len(parents))])
    # tanh, unlike exp, neither overflows nor loses the smaller probability's complement.
    table[..., code] = (1 + np.tanh(odds / 2)) / 2
    table[..., 1 - code] = 1 - table[..., code]  # a follow-up's third is set where it is not asked
    return Conditional(attribute, parents, table)


def _effects(parent: Attribute, effects: object, where: str) -> Table:
    if not isinstance(effects, Mapping):
        raise refusal_of(where)(
            f"is {show(effects)}; give a mapping from categories of {parent.name} to numbers"
        )
    row = np.zeros(parent.k)
    left = set(range(parent.k))
    for key, value in effects.items():
        row[claimed_codes(parent, key, left, where)] = finite(value, f"{where}[{key}]")
    return row
