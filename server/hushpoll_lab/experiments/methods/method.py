"""A method of an experiment, what perturbs its rows and what it spends, and its cell of a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, NamedTuple

from hushpoll_lab.experiments import fields
from hushpoll_protocols import PROTOCOLS, format_epsilon, parse_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.randomization.budget import DRAFT_SPLITS
from hushpoll_training.encodings.registry import DEFAULT as DEFAULT_ENCODING
from hushpoll_training.encodings.registry import ENCODINGS
from hushpoll_training.learner_registry import LEARNERS
from hushpoll_training.models.recipe import Recipe

NONE = "none"
ENDLESS = "inf"
"""Epsilon where nothing is promised."""


class Trial(NamedTuple):
    """One training, as results.csv names it; numbers are texts in their one spelling."""

    method: str
    protocol: str
    """What the training records were perturbed by; ``none`` for rows in clear, as `split`."""
    split: str
    local_epsilon: str
    """``inf`` for rows in clear."""
    epsilon: str
    """Of central differential privacy, for what the curator computes; ``inf`` without a claim."""
    delta: str
    """``0`` without a claim."""
    accountant: str
    """``none`` without a claim."""
    seed: int
    """What the split, the noise and the learner drew by."""

    def place(self) -> tuple[str, str, str, float, float, float, str, int]:
        """Return the key that results are sorted by."""
        return (
            *(self.method, self.protocol, self.split, float(self.local_epsilon)),
            *(float(self.epsilon), float(self.delta), self.accountant, self.seed),
        )

    def __str__(self) -> str:
        parts = [self.method]
        if self.protocol != NONE:
            parts.append(f"{self.protocol} {self.split} epsilon {self.local_epsilon}")
        if self.epsilon != ENDLESS:
            parts.append(f"epsilon {self.epsilon} delta {self.delta} by {self.accountant}")
        return f"{' '.join(parts)} seed {self.seed}"


_KEYS: Final = (
    *("name", "learner", "params", "grid", "protocol", "split", "epsilon", "encoding"),
    "noiseless",
)
IN_COLUMNS: Final = ("epsilon", "delta", "accountant")
"""Parameters of learners that results have columns for; others of a grid go into the name."""


@dataclass(frozen=True, slots=True)
class Method:
    """One way to train: a learner, the encoding of perturbed records, and what perturbs them."""

    name: str
    recipe: Recipe
    protocol: str = NONE
    """``none`` for rows in clear, as `split`."""
    split: str = NONE
    local_epsilon: str = ENDLESS
    noiseless: bool = False
    """Whether the learner adds no noise and makes no claim: a baseline."""

    @property
    def perturbed(self) -> bool:
        """Whether the learner sees perturbed records."""
        return self.protocol != NONE

    def trial(self, seed: int) -> Trial:
        """Return the cell of a seed."""
        epsilon, delta, accountant = self._claimed()
        local = (self.protocol, self.split, self.local_epsilon)
        return Trial(self.name, *local, epsilon, delta, accountant, seed)

    def settings(self) -> JsonMembers:
        """Return what results depend on, as JSON."""
        return {
            "name": self.name,
            "learner": self.recipe.learner.name,
            "params": dict(self.recipe.learner.parameters),
            "encoding": self.recipe.encoding.name,
            "protocol": self.protocol,
            "split": self.split,
            "epsilon": self.local_epsilon,
            "noiseless": self.noiseless,
            "privacy": self.recipe.learner.claim.to_json(),
        }

    def _claimed(self) -> tuple[str, str, str]:
        """Return epsilon, delta and accountant of what the curator computes from rows in clear."""
        learner = self.recipe.learner
        if self.noiseless:
            return ENDLESS, "0", NONE
        if self.perturbed and learner.calibration is not None:
            # The learner behind sees perturbed records; the rates need some people's rows in clear.
            spent = learner.calibration.epsilon
            return (ENDLESS, "0", NONE) if spent is None else (f"{spent:.6g}", "0", "basic")
        claim = learner.claim
        if self.perturbed or claim.epsilon is None:
            return ENDLESS, "0", NONE
        accountant = str(learner.parameters.get("accountant", "stated"))
        return f"{claim.epsilon:.6g}", f"{claim.delta or 0:g}", accountant


def read_methods(value: object) -> tuple[Method, ...]:
    """Read the list of methods of a configuration; a grid gives a method for each combination."""
    if not isinstance(value, list) or not value:
        raise InvalidParameter(
            f"methods is {show(value)}; it must be a list, such as [{{name: plain, learner: "
            "lightgbm}]",
            field="methods",
        )
    methods = tuple(method for item in value for method in _expanded(item))
    seen: set[Trial] = set()
    for method in methods:
        if method.trial(0) in seen:
            raise InvalidParameter(
                f"methods has {method.trial(0)} twice, apart from its seed; give one of them "
                "another name",
                field="methods",
            )
        seen.add(method.trial(0))
    return methods


def methods_named(value: object, names: str) -> list[Any]:
    """Return the methods of a configuration's list by their names; refuses other names."""
    items = [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
    known = [str(item.get("name")) for item in items]
    wanted = fields.items(names, "methods", "one, another")
    for name in wanted:
        if name not in known:
            raise InvalidParameter(
                f"methods has {show(name)}; the configuration has "
                f"{', '.join(known) or 'no methods'}",
                field="methods",
            )
    return [item for item, name in zip(items, known, strict=True) if name in wanted]


def _expanded(item: object) -> Iterator[Method]:
    if not isinstance(item, Mapping):
        raise InvalidParameter(
            f"methods has {show(item)}; each must map keys to values, such as name: plain",
            field="methods",
        )
    name = item.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InvalidParameter(
            f"a method's name is {show(name)}; it must be a text that is not empty", field="methods"
        )
    for key in item:
        if key not in _KEYS:
            raise InvalidParameter(
                f"method {name}: {show(key)} is no key of a method; use {', '.join(_KEYS)}",
                field="methods",
            )
    try:
        yield from _combinations(name.strip(), item)
    except InvalidParameter as error:
        raise InvalidParameter(f"method {name}: {error}", field="methods") from None


def _combinations(name: str, item: Mapping[str, object]) -> Iterator[Method]:
    learner = fields.choice(item.get("learner"), "learner", LEARNERS)
    encoding = fields.choice(item.get("encoding") or DEFAULT_ENCODING, "encoding", ENCODINGS)
    params, grid = _by_parameter(item, "params"), _by_parameter(item, "grid")
    noiseless = fields.flag(item.get("noiseless", False), "noiseless")
    axes = {str(key): fields.items(value, f"grid.{key}", "3, 9") for key, value in grid.items()}
    for protocol, split, epsilon in _perturbations(item):
        for values in product(*axes.values()):
            chosen = dict(zip(axes, values, strict=True))
            shown = [f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
                     for key, value in chosen.items() if key not in IN_COLUMNS]  # fmt: skip
            yield Method(
                ", ".join([name, *shown]),
                Recipe.of({**params, **chosen}, learner=learner, encoding=encoding),
                protocol, split, epsilon,
                noiseless=noiseless,
            )  # fmt: skip


def _by_parameter(item: Mapping[str, object], key: str) -> JsonObject:
    values = item.get(key) or {}
    if not isinstance(values, Mapping):
        raise InvalidParameter(
            f"{key} is {show(values)}; it must map names of parameters to values", field=key
        )
    return values


def _perturbations(item: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    given = [key for key in ("protocol", "split", "epsilon") if item.get(key) is not None]
    if not given:
        yield NONE, NONE, ENDLESS
        return
    for key in ("protocol", "epsilon"):
        if key not in given:
            raise InvalidParameter(
                f"{key} is missing, but {given[0]} is given; a method with perturbed records needs "
                "both protocol and epsilon",
                field=key,
            )
    for protocol in fields.choices(item["protocol"], "protocol", PROTOCOLS):
        for split in fields.choices(item.get("split") or "uniform", "split", DRAFT_SPLITS):
            for epsilon in fields.items(item["epsilon"], "epsilon", "1, 4"):
                yield protocol, split, format_epsilon(parse_epsilon(epsilon, "epsilon"))
