"""The tables of plans: what is said of each goal, and the comparison of protocols and splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.tables.result_table import Column, ResultTable, columns

Answer = Mapping[str, Any]

_VERDICTS: Final = columns(
    kind="text",
    subject="text",
    value="number",
    share="number",
    group="number",
    confidence="number",
    answer="text",
    n="whole",
    epsilon="text",
    predicted="number",
    n_needed="whole",
    epsilon_needed="text",
    sampling_alone="number",
    sentence="text",
)

_OPTIONS: Final = columns(
    protocol="text",
    split="text",
    attribute="text",
    categories="whole",
    protocol_used="text",
    epsilon="text",
    realized_epsilon="text",
    width="number",
    smallest_difference="number",
    total_variance="number",
)


def verdicts_table(answer: Answer) -> ResultTable:
    """Return a plan of goals, as ``hushpoll plan --want ... --json`` gives it, goal by goal."""
    none = dict.fromkeys(("share", "group"))
    entries = ({**one, **none, **one["goal"]} for one in answer["goals"])
    about = {name: answer[name] for name in ("survey", "epsilon", "n", "verdict")}
    return ResultTable.of("plan", _VERDICTS, entries, about | _shuffled(answer))


def comparison_table(answer: Answer) -> ResultTable:
    """Return ``hushpoll plan --n ... --json`` with a row for each option and attribute."""
    powers = tuple(Column(f"power_of_{name}", "number") for name in METRICS)
    shape = (*_OPTIONS, *powers, *columns(warnings="text", error="text"))
    about = {name: answer[name] for name in ("survey", "n", "confidence", "power", "metric")}
    about |= {f"assumed: {name}": value for name, value in answer["assumptions"].items()}
    chosen = answer["recommended"]
    if chosen is not None:
        about["recommended"] = f"protocol {chosen['protocol']}, split {chosen['split']}"
    about["reason"] = answer["reason"]
    return ResultTable.of("comparison", shape, _of_options(answer), about | _shuffled(answer))


def _of_options(answer: Answer) -> Iterator[Answer]:
    none = dict.fromkeys(column.name for column in _OPTIONS)
    none |= dict.fromkeys((*(f"power_of_{name}" for name in METRICS), "warnings", "error"))
    for option in answer["options"]:
        heading = {**none, "protocol": option["protocol"], "split": option["split"]}
        if "error" in option:
            yield {**heading, "error": option["error"]}
            continue
        heading |= {"total_variance": option["total_variance"]}
        heading |= {"warnings": "; ".join(option["warnings"]) or None}
        powers = option["audit_power"] or {}
        heading |= {f"power_of_{name}": power for name, power in powers.items()}
        for row in option["attributes"]:
            yield {
                **heading,
                "attribute": row["name"],
                "categories": row["k"],
                "protocol_used": row["protocol"],
                "smallest_difference": row["detectable"],
                **{name: row[name] for name in ("epsilon", "realized_epsilon", "width")},
            }


def _shuffled(answer: Answer) -> dict[str, object]:
    shuffled = answer["shuffled"]
    return {} if shuffled is None else {"trusted shuffler": shuffled["sentence"]}
