"""A synthetic population with a known truth, described in the manifest, for simulation.

``population`` maps every attribute to one of the forms of
`hushpoll_fleet.population.distributions`. Attributes are drawn in manifest order, each given
attributes before it, so that a target can really depend on the protected attribute. A follow-up is
described as those who are asked answer it, and depends on its router besides. The truth is the
population itself: its probabilities are summed exactly over every combination of categories, not
counted from a draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final, Self

from hushpoll_fleet.population.distributions import (
    LARGEST_TABLE,
    Conditional,
    Table,
    finite,
    read_conditional,
    where_asked,
)
from hushpoll_protocols.errors import InvalidParameter, MissingExtra, refusal_of
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.selects import SelectAll

try:
    import numpy as np
    from numpy.typing import NDArray
except ImportError:
    raise MissingExtra("kernels", "drawing respondents") from None

if TYPE_CHECKING:
    from hushpoll_shared.drafts.manifest import Manifest

Codes = dict[str, NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Population:
    """Joint distribution of all attributes, as a product of conditionals in manifest order."""

    conditionals: tuple[Conditional, ...]

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> Self:
        """Read a manifest's ``population``; refuses none, and an entry that is missing or wrong."""
        if manifest.population is None:
            raise InvalidParameter(
                f"survey {manifest.name!r} describes no population; add the key population to its "
                "manifest, or give the respondents as a CSV file",
                field="population",
            )
        return cls.read(manifest.attributes, manifest.population)

    @classmethod
    def read(cls, attributes: Sequence[Attribute], population: JsonObject) -> Self:
        """Read ``population`` for the given attributes; raises as `from_manifest`."""
        names = [attribute.name for attribute in attributes]
        for key in population:
            if key not in names:
                raise refusal_of("population")(
                    f"describes {show(key)}, which is no attribute; the attributes are "
                    f"{', '.join(names)}"
                )
        earlier: dict[str, Attribute] = {}
        conditionals = []
        for declared in attributes:
            attribute = declared.with_values()
            if attribute.name not in population:
                raise InvalidParameter(
                    f"population does not describe {attribute.name}; add an entry for it",
                    field=f"population[{attribute.name}]",
                )
            model = population[attribute.name]
            if isinstance(attribute, SelectAll):
                for option in read_selections(attribute, model, earlier):
                    conditionals.append(option)
                    earlier[option.attribute.name] = option.attribute
                continue
            conditional = read_conditional(attribute, model, earlier)
            if attribute.ask_if is not None:
                conditional = where_asked(conditional, earlier[attribute.ask_if.router])
            conditionals.append(conditional)
            earlier[attribute.name] = attribute
        return cls(tuple(conditionals))

    def sample(self, n: int, rng: np.random.Generator) -> Codes:
        """Draw n respondents: int64[n] codes in [0, k) per attribute, in manifest order."""
        codes: Codes = {}
        for conditional in self.conditionals:
            table = conditional.table
            rows = np.zeros(n, dtype=np.int64)
            for parent in conditional.parents:
                rows = rows * parent.k + codes[parent.name]
            codes[conditional.attribute.name] = _draw(table.reshape(-1, table.shape[-1]), rows, rng)
        return codes

    def joint(self, *names: str) -> Table | None:
        """Return the exact joint distribution of different attributes, f64[k of each...] of sum 1.

        None where the sum would run over more than 5,000,000 combinations at once; refuses a name
        that is no attribute, or is given twice.
        """
        position = {item.attribute.name: index for index, item in enumerate(self.conditionals)}
        for index, name in enumerate(names):
            if name not in position or name in names[:index]:
                raise InvalidParameter(
                    f"{name!r} is no attribute or is named twice; the attributes are "
                    f"{', '.join(position)}",
                    field="names",
                )
        wanted = {position[name] for name in names}
        parents = [[position[parent.name] for parent in item.parents] for item in self.conditionals]
        needed = _ancestors(wanted, parents)
        sizes = [item.attribute.k for item in self.conditionals]
        joint, axes = np.ones(()), list[int]()
        for index in needed:
            kept = wanted.union(*(parents[later] for later in needed if later > index))
            together = [*axes, index]
            if prod(sizes[axis] for axis in together) > LARGEST_TABLE:
                return None
            left = [axis for axis in together if axis in kept]
            joint = _multiply(
                joint, axes, self.conditionals[index].table, [*parents[index], index], left
            )
            axes = left
        order = [axes.index(position[name]) for name in names]
        return np.transpose(joint, order)


def _ancestors(wanted: set[int], parents: Sequence[Sequence[int]]) -> list[int]:
    needed = set(wanted)
    for index in reversed(range(len(parents))):  # parents come before their children
        if index in needed:
            needed.update(parents[index])
    return sorted(needed)


def _multiply(
    left: Table, left_axes: list[int], right: Table, right_axes: list[int], kept: list[int]
) -> Table:
    # einsum takes small labels only.
    label = {axis: number for number, axis in enumerate(dict.fromkeys([*left_axes, *right_axes]))}
    operands: list[Any] = [
        left,
        [label[axis] for axis in left_axes],
        right,
        [label[axis] for axis in right_axes],
        [label[axis] for axis in kept],
    ]
    result: Table = np.einsum(*operands)
    return result


def _draw(table: Table, rows: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one code per row index by inverting all rows' cumulative sums in one search."""
    height, k = table.shape
    cumulative = np.cumsum(table, axis=1)
    cumulative /= cumulative[:, -1:]
    steps = (np.arange(height)[:, np.newaxis] + cumulative).ravel()
    positions = np.searchsorted(steps, rows + rng.random(len(rows)), side="right") - rows * k
    # Adding the row index rounds, so the search may step past a row's last possible category.
    last = k - 1 - np.argmax(table[:, ::-1] > 0, axis=1)
    codes: NDArray[np.int64] = np.minimum(positions, last[rows])
    return codes


MOST_DEPENDENT: Final = 16
"""Options of a question with limits, at most: each depends on those before it."""


def read_selections(
    question: SelectAll, model: object, earlier: Mapping[str, Attribute]
) -> list[Conditional]:
    """Return the distribution of each option, given those before it, from an entry.

    Errors name the entry: another form, an unknown option or parent, a share outside [0, 1], or
    limits that nobody could keep.
    """
    where = f"population[{question.name}]"
    if not isinstance(model, Mapping) or not {"selected"} <= model.keys() <= {"selected", "given"}:
        raise refusal_of(where)(
            f"is {show(model)}; a select-all has selected, a mapping of options to shares in [0, "
            "1], and may have given, the name of an earlier attribute"
        )
    parent = None
    if model.get("given") is not None:
        parent = earlier.get(model["given"]) if isinstance(model["given"], str) else None
        if parent is None:
            raise refusal_of(f"{where}.given")(
                f"is {show(model['given'])}; it is one of the attributes before it: "
                f"{', '.join(earlier) or 'there are none'}"
            )
    path, selected = f"{where}.selected", model["selected"]
    if parent is None:
        shares = _shares(question, selected, path)[np.newaxis]
    else:
        if not isinstance(selected, Mapping) or set(selected) != set(parent.domain):
            raise refusal_of(path)(
                f"has other keys than the categories of {parent.name}; give one mapping of options "
                f"to shares for each of {', '.join(parent.domain)}"
            )
        shares = np.stack(
            [_shares(question, selected[one], f"{path}.{one}") for one in parent.domain]
        )
    return _conditionals(question, shares, parent, where)


def _shares(question: SelectAll, value: object, path: str) -> np.ndarray:
    if not isinstance(value, Mapping):
        raise refusal_of(path)(f"is {show(value)}; give a mapping of options to shares in [0, 1]")
    found = np.zeros(len(question.categories))
    for key, share in value.items():
        text = str(key) if type(key) is int else key
        if text not in question.categories:
            raise refusal_of(path)(
                f"names {show(key)}, which is no option of {question.name}; its options are "
                f"{show(', '.join(question.categories))}"
            )
        number = finite(share, f"{path}.{text}")
        if not 0 <= number <= 1:
            raise refusal_of(f"{path}.{text}")(f"is {show(share)}; a share is in [0, 1]")
        found[question.categories.index(str(text))] = number
    return found


def _conditionals(
    question: SelectAll, shares: np.ndarray, parent: Attribute | None, where: str
) -> list[Conditional]:
    """Return each option's distribution; `shares` has a row for each category of the parent."""
    options, m = question.options(), len(question.categories)
    above = () if parent is None else (parent,)
    if question.fewest == 0 and question.most == m:
        tables = np.stack([1 - shares, shares], axis=-1)
        return [
            Conditional(option, above, tables[:, place] if parent else tables[0, place])
            for place, option in enumerate(options)
        ]
    if m > MOST_DEPENDENT:
        raise InvalidParameter(
            f"{where}: {question.name} has limits and {m} options, of which at most "
            f"{MOST_DEPENDENT} can be described; give the respondents as a CSV file",
            field=where,
        )
    # Chance that a selection of some size so far ends within the limits, from the last option on.
    ends = np.zeros((m + 1, len(shares), m + 2))
    ends[m, :, question.fewest : question.most + 1] = 1
    for place in reversed(range(m)):
        share = shares[:, place, np.newaxis]
        ends[place, :, :-1] = (1 - share) * ends[place + 1, :, :-1] + share * ends[place + 1, :, 1:]
    if (ends[0, :, 0] == 0).any():
        raise InvalidParameter(
            f"{where}: nobody could select {question.selection.limits()} options with these "
            "shares; correct the shares",
            field=where,
        )
    found = []
    for place, option in enumerate(options):
        sizes = np.array([bin(number).count("1") for number in range(2**place)])
        share = shares[:, place, np.newaxis]
        more = share * ends[place + 1][:, sizes + 1]
        less = (1 - share) * ends[place + 1][:, sizes]
        whole = more + less
        # Where such a beginning is impossible, any distribution will do.
        chance = np.divide(more, whole, out=np.full_like(more, 0.5), where=whole > 0)
        table = np.stack([1 - chance, chance], axis=-1)
        shape = (*(one.k for one in above), *(2,) * place, 2)
        found.append(Conditional(option, (*above, *options[:place]), table.reshape(shape)))
    return found
