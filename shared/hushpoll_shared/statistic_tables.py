"""Which table each statistic gives: its columns, and the rows of its JSON form.

The JSON form is what HTTP and ``--json`` give, so a table is the same wherever a result comes from:
from a server, a file of records or a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from hushpoll_shared.qualifying.verdict import INFORMATIVE, TOO_NOISY, part_is_noisy
from hushpoll_shared.querying.registry import all_queries
from hushpoll_shared.querying.result import OF_RELEASE
from hushpoll_shared.querying.table import table_of_result
from hushpoll_shared.tables.regressions import regression_table
from hushpoll_shared.tables.result_table import Column, ResultTable, columns
from hushpoll_shared.tidying import tidy_table

Answer = Mapping[str, Any]

_INTERVAL: Final = columns(standard_error="number", lower="number", upper="number")
_SHARE: Final = columns(frequency="number")
_BOUNDED: Final = (*columns(value="number"), *_INTERVAL, *columns(bound="text"))
# What an answer says of its survey and release, which a result in Python does not know.
_ABOUT: Final = (*OF_RELEASE, "n", "pending")
_HOW: Final = ("confidence", "simultaneous", "estimator", "method", "alpha", "rate")


def table_of(statistic: str, answer: Answer) -> ResultTable:
    """Return the table of a result's JSON form, by its query's file name or a key of `TABLES`."""
    for query in all_queries().values():
        if query.file_name == statistic:
            return table_of_result(query.result_of(answer))
    return TABLES[statistic](answer)


def _axes(names: Mapping[str, str], others: Sequence[Column]) -> dict[str, str]:
    """Return the columns of questions by their side: the name, unless another column has it."""
    taken = {column.name for column in others}
    return {side: f"{side}: {name}" if name in taken else name for side, name in names.items()}


def _joint_table(answer: Answer) -> ResultTable:
    names, verdict = answer["attributes"], answer.get("verdict")
    sides = dict(zip("abc", names, strict=False))
    judged = columns(verdict="text") if verdict else ()
    says = {"verdict": TOO_NOISY if part_is_noisy(verdict, "cells") else INFORMATIVE}
    likely = columns(likelihood="number") if answer["likelihood"] else ()
    more = {**sides, "likelihood": answer["likelihood"] and answer["likelihood"]["interval"]}
    axes = _axes(sides, (*judged, *_SHARE, *_INTERVAL, *likely)).values()
    entries = (
        {**says, **cell, **dict(zip(axes, cell["categories"], strict=True))}
        for cell in answer["cells"]
    )
    shape = (*judged, *columns(**dict.fromkeys(axes, "text")), *_SHARE, *_INTERVAL, *likely)
    about = {"verdict": verdict and verdict["sentence"], **_methods(answer, more)}
    return ResultTable.of("joint table", shape, entries, about)


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
    verdict = answer.get("verdict")  # results that were kept before have none
    judged = columns(verdict="text") if verdict else ()
    totals = any(row["total"] is not None for result in results for row in result["shares"])
    sides = ("unweighted", *(("total",) if totals else ()))
    named = ("category",) if several is None else ("attribute", "category")
    shape: list[Column] = [*judged, *columns(**dict.fromkeys(named, "text")), *_BOUNDED]
    for side in sides:
        shape += [
            Column(side, "number"),
            *(Column(f"{side}_{c.name}", "number") for c in _INTERVAL),
        ]
    says = {
        name: TOO_NOISY if part_is_noisy(verdict, name) else INFORMATIVE
        for name in (result["attribute"] for result in results)
    }
    entries = (
        {**row, "attribute": result["attribute"], "verdict": says[result["attribute"]]}
        | {side: _part(row, side, "value") for side in sides}
        | {f"{side}_{c.name}": _part(row, side, c.name) for side in sides for c in _INTERVAL}
        for result in results
        for row in result["shares"]
    )
    about: dict[str, object] = {"verdict": verdict and verdict["sentence"]}
    about |= {"assumption": answer["assumption"]}
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
        "joint-table": _joint_table,
        "weighted-shares": _weighted,
        "fairness": _fairness,
        "shape": _shape,
        "regression": regression_table,
        "results": tidy_table,
    }
)
"""By the name of the statistic."""
