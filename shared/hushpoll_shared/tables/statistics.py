"""Which table each statistic gives: its columns, and the rows of its JSON form.

The JSON form is what HTTP and ``--json`` give, so a table is the same wherever a result comes from:
from a server, a file of records or a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from hushpoll_shared.estimators import ESTIMATOR_TERMS, UNBIASED
from hushpoll_shared.querying.registry import queries_by_file_name
from hushpoll_shared.querying.table import table_of_result
from hushpoll_shared.tables.result_table import Column, ResultTable, columns

Answer = Mapping[str, Any]

_INTERVAL: Final = columns(standard_error="number", lower="number", upper="number")
_SHARE: Final = columns(frequency="number")
_BOUNDED: Final = (*columns(value="number"), *_INTERVAL, *columns(bound="text"))
# Of an answer, where it has them; a result in Python knows no survey and no release.
_ABOUT: Final = (
    "survey", "version", "digest", "release", "released_at", "next_release", "n", "pending",
)  # fmt: skip
_HOW: Final = ("confidence", "simultaneous", "estimator", "method", "alpha", "rate")


def table_of(statistic: str, answer: Answer) -> ResultTable:
    """Return the table of a result.

    Parameters
    ----------
    statistic : str
        The file name of a query, or a key of `TABLES`.
    answer : mapping
        The result's JSON form.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the answer does not have that form.
    """
    query = queries_by_file_name().get(statistic)
    if query is not None:
        return table_of_result(query.result_of(answer))
    return TABLES[statistic](answer)


def _estimates(answer: Answer) -> ResultTable:
    named = columns(attribute="text", category="text")
    terms = ESTIMATOR_TERMS.get(str(answer.get("estimator", UNBIASED)))
    bounded = terms is None or terms.no_interval is None
    return ResultTable.of(
        "estimates",
        (*named, *_SHARE, *(_INTERVAL if bounded else ())),
        _of_attributes(answer),
        _methods(answer),
    )


def _together(answer: Answer) -> ResultTable:
    named = columns(attribute="text", category="text")
    title = "estimates together"
    return ResultTable.of(
        title, (*named, *_SHARE, *_INTERVAL), _of_attributes(answer), _methods(answer)
    )


def _of_attributes(answer: Answer) -> Iterator[Answer]:
    for attribute in answer["attributes"]:
        for row in attribute["categories"]:
            yield {**row, "attribute": attribute["name"]}


def _cross_table(answer: Answer) -> ResultTable:
    about = {name: answer[name] for name in ("a", "b")}
    axes = _axes(about, (*_SHARE, *_INTERVAL))
    entries = ({**cell, **{axes[side]: cell[side] for side in axes}} for cell in answer["cells"])
    shape = (*columns(**dict.fromkeys(axes.values(), "text")), *_SHARE, *_INTERVAL)
    return ResultTable.of("cross-table", shape, entries, _methods(answer, about))


def _axes(names: Mapping[str, str], others: Sequence[Column]) -> dict[str, str]:
    """Return the columns of questions by their side: the name, unless another column has it."""
    taken = {column.name for column in others}
    return {side: f"{side}: {name}" if name in taken else name for side, name in names.items()}


def _joint_table(answer: Answer) -> ResultTable:
    names = answer["attributes"]
    sides = dict(zip("abc", names, strict=False))
    likely = columns(likelihood="number") if answer["likelihood"] else ()
    more = {**sides, "likelihood": answer["likelihood"] and answer["likelihood"]["interval"]}
    axes = _axes(sides, (*_SHARE, *_INTERVAL, *likely)).values()
    entries = (
        {**cell, **dict(zip(axes, cell["categories"], strict=True))} for cell in answer["cells"]
    )
    shape = (*columns(**dict.fromkeys(axes, "text")), *_SHARE, *_INTERVAL, *likely)
    return ResultTable.of("joint table", shape, entries, _methods(answer, more))


_SIDES: Final = ("before", "after", "difference")
_OF_A_SIDE: Final = (*_INTERVAL, *columns(bound="text"))


def _change(answer: Answer) -> ResultTable:
    about: dict[str, object] = {"assumption": answer["assumption"]}
    for side in ("before", "after"):
        about |= {f"{side}: {name}": value for name, value in answer[side].items()}
    about |= _spent(answer)
    rows = _of_sides(answer["changes"], "label")
    return ResultTable.of("change", _sides("label"), rows, _methods(answer, about))


def _sides(named: str) -> tuple[Column, ...]:
    shape: list[Column] = [*columns(**{named: "text"})]
    for side in _SIDES:
        shape.append(Column(side, "number"))
        shape += [Column(f"{side}_{part.name}", part.kind) for part in _OF_A_SIDE]
    return tuple(shape)


def _of_sides(changes: Sequence[Answer], named: str) -> Iterator[Answer]:
    for row in changes:
        yield (
            {named: row[named]}
            | {side: row[side]["value"] for side in _SIDES}
            | {f"{side}_{c.name}": row[side][c.name] for side in _SIDES for c in _OF_A_SIDE}
        )


def _spent(answer: Answer) -> dict[str, object]:
    spent = answer["epsilon_of_both"]
    return {f"epsilon of a person in both: {name}": spent[name] for name in spent}


_TEST: Final = columns(a="text", b="text", statistic="number", degrees="whole", p_value="number")


def _independence(answer: Answer) -> ResultTable:
    more = columns(
        conclusion="text",
        smallest_detectable="number",
        largest_detectable="number",
        largest_possible="number",
        smallest_expected="number",
    )
    about = {
        "power of the detectable": answer["power"],
        "no detectable": "Not even a dependence of the largest possible phi would be found with "
        "that power.",
        "interval": "A test has no interval.",
    }
    return ResultTable.of("independence", (*_TEST, *more), [answer], _methods(answer, about))


def _dependencies(answer: Answer) -> ResultTable:
    more = columns(adjusted_p_value="number", conclusion="text")
    about = {"reading": answer["reading"]}
    return ResultTable.of("dependencies", (*_TEST, *more), answer["pairs"], _methods(answer, about))


def _ordered(answer: Answer) -> ResultTable:
    shape = (
        *columns(compared_with="text", group="text", statistic="text", q="number"),
        *_BOUNDED,
        *columns(says_nothing="text", category="text", lowest="text", highest="text"),
    )
    about = {name: answer[name] for name in ("attribute", "given", "threshold", "interpolation")}
    about["scale"] = _scale(answer["scale"])
    return ResultTable.of("ordered answers", shape, _of_summaries(answer), _methods(answer, about))


def _scale(scale: Sequence[Answer]) -> str:
    return "; ".join(
        f"{one['category']}: {one['low']:g}"
        + (f" to {one['high']:g}" if one["high"] != one["low"] else "")
        for one in scale
    )


_STATISTICS: Final = ("mean", "least", "greatest", "at_least", "nps")


def _of_summaries(answer: Answer) -> Iterator[Answer]:
    none = dict.fromkeys(
        ("q", "category", "lowest", "highest", "standard_error", "says_nothing", "compared_with")
    )
    for group in answer["groups"]:
        yield from ({**none, **number} for number in _of_group(group))
        for quantile in group["quantiles"]:
            yield {**none, **quantile, "group": group["group"], "statistic": "quantile"}
    for group in answer["differences"] or ():
        for number in _of_group(group):
            yield {**none, **number, "compared_with": answer["reference"]}


def _of_group(group: Answer) -> Iterator[Answer]:
    for name in _STATISTICS:
        if group[name] is not None:
            number = {**group[name], "group": group["group"], "statistic": name}
            yield number | {"says_nothing": _yes(group[name])}


def _ordered_change(answer: Answer) -> ResultTable:
    about: dict[str, object] = {name: answer[name] for name in ("assumption", "threshold")}
    for side in ("before", "after"):
        about |= {f"{side}: {name}": value for name, value in answer[side].items()}
        about[f"{side}: scale"] = _scale(answer[side]["scale"])
    about |= _spent(answer)
    rows = _of_sides(answer["changes"], "statistic")
    return ResultTable.of(
        "change of ordered answers", _sides("statistic"), rows, _methods(answer, about)
    )


def _means(answer: Answer) -> ResultTable:
    shape = (*columns(attribute="text", group="text"), *_BOUNDED, *columns(says_nothing="text"))
    about = {"given": answer["given"]}
    about |= {f"scale of {one['attribute']}": _scale(one["scale"]) for one in answer["scales"]}
    rows = ({**row, "says_nothing": _yes(row)} for row in answer["means"])
    return ResultTable.of("means together", shape, rows, _methods(answer, about))


def _answered(answer: Answer) -> ResultTable:
    shape = (
        *columns(attribute="text", statistic="text", category="text"),
        *_BOUNDED,
        *columns(says_nothing="text"),
    )
    about = {"assumption": answer["assumption"]}
    return ResultTable.of(
        "shares of those who answered", shape, _of_answered(answer), _methods(answer, about)
    )


def _of_answered(answer: Answer) -> Iterator[Answer]:
    for attribute in answer["attributes"]:
        whole = {**attribute["answered"], "category": None, "statistic": "share who answered"}
        shares = ({**row, "statistic": "share"} for row in attribute["categories"])
        for row in (whole, *shares):
            yield {**row, "attribute": attribute["name"], "says_nothing": _yes(row)}


def _yes(row: Answer) -> str:
    return "yes" if row["says_nothing"] else "no"


_SECTIONS: Final = {"metrics": "metric", "rates": "rate", "shares": "share"}


def _fairness(answer: Answer) -> ResultTable:
    protected = answer["protected"]
    shape = (
        *columns(group="text", statistic="text", name="text"),
        *_BOUNDED,
        *columns(conclusion="text", p_value="number", withheld="text"),
    )
    about = {
        "protected attribute": protected["attribute"],
        "privileged": "; ".join(protected.get("privileged", protected.get("reference"))),
        "setting": answer["setting"],
        "origin of the model": answer["origin"],
        "together": answer.get("together"),
    }
    return ResultTable.of("fairness", shape, _of_groups(answer), _methods(answer, about))


def _of_groups(answer: Answer) -> Iterator[Answer]:
    pairs = answer.get("groups")
    if pairs is None:
        pairs = [{**answer, "group": "; ".join(answer["protected"]["unprivileged"])}]
    absent = dict.fromkeys(("value", "standard_error", "lower", "upper", "bound"))
    absent |= dict.fromkeys(("conclusion", "p_value", "withheld"))
    for pair in pairs:
        for section, kind in _SECTIONS.items():
            for name, number in pair[section].items():
                yield {**absent, **number, "group": pair["group"], "statistic": kind, "name": name}
    for name, number in answer.get("largest", {}).items():
        yield {**absent, **number, "group": None, "statistic": "largest disparity", "name": name}


_OF_A_DESIGN: Final = (
    "effective_n", "population", "smallest_factor", "largest_factor", "cannot_conclude",
)  # fmt: skip


def _weighted(answer: Answer) -> ResultTable:
    several = answer.get("attributes")
    results: Sequence[Answer] = [answer] if several is None else several
    totals = any(row["total"] is not None for result in results for row in result["shares"])
    sides = ("unweighted", *(("total",) if totals else ()))
    named = ("category",) if several is None else ("attribute", "category")
    shape: list[Column] = [*columns(**dict.fromkeys(named, "text")), *_BOUNDED]
    for side in sides:
        shape += [
            Column(side, "number"),
            *(Column(f"{side}_{c.name}", "number") for c in _INTERVAL),
        ]
    entries = (
        {**row, "attribute": result["attribute"]}
        | {side: _part(row, side, "value") for side in sides}
        | {f"{side}_{c.name}": _part(row, side, c.name) for side in sides for c in _INTERVAL}
        for result in results
        for row in result["shares"]
    )
    about: dict[str, object] = {"assumption": answer["assumption"]}
    if several is None:
        about |= {name: answer[name] for name in ("attribute", *_OF_A_DESIGN)}
    for result in several or ():
        about |= {f"{result['attribute']}: {name}": result[name] for name in _OF_A_DESIGN}
    return ResultTable.of("weighted shares", tuple(shape), entries, _methods(answer, about))


def _part(row: Answer, side: str, name: str) -> object:
    return None if row[side] is None else row[side][name]


def _shape(answer: Answer) -> ResultTable:
    shape = columns(name="text", protocol="text", p_value="number", finding="text")
    about = {"p-value of all": answer["p_value"], "flagged": answer["flagged"]}
    return ResultTable.of(
        "shape of the reports", shape, answer["attributes"], _methods(answer, about)
    )


def _methods(answer: Answer, more: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return what an answer says of itself, in words; what it lacks is None."""
    survey = answer.get("survey")
    # An audit has an object where others have the name.
    named = survey if isinstance(survey, Mapping) else {"name": survey}
    about = {name: answer.get(name) for name in _ABOUT} | {"survey": named["name"]}
    about |= {name: named[name] for name in ("version", "digest") if name in named}
    inputs = answer.get("inputs")
    if isinstance(inputs, Mapping):
        about |= {f"file: {name}": value for name, value in inputs.items()}
    how = {name: answer.get(name) for name in _HOW}
    return {**about, **how, **(more or {}), "how to read it": answer.get("intervals")}


TABLES: Final[Mapping[str, Callable[[Answer], ResultTable]]] = MappingProxyType(
    {
        "estimates": _estimates,
        "cross-table": _cross_table,
        "independence": _independence,
        "changes": _change,
        "simultaneous-estimates": _together,
        "dependencies": _dependencies,
        "joint-table": _joint_table,
        "weighted-shares": _weighted,
        "ordered-answers": _ordered,
        "ordered-changes": _ordered_change,
        "simultaneous-means": _means,
        "answered-shares": _answered,
        "fairness": _fairness,
        "shape": _shape,
    }
)
"""By the name of the statistic."""
