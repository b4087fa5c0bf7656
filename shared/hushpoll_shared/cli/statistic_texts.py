"""Texts of joint tables, tidy tables, estimates and audits of fairness (extra ``cli``).

They are made from the JSON of the machine that computes from a file, or of the client that asked a
server. Every text of a server is made printable before it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.table import Table

from hushpoll_shared.cli.result_text import (
    NO_QUESTIONS,
    Questions,
    asked_lines,
    text_of_query,
    with_three_digits,
)
from hushpoll_shared.cli.terminal import new_table, rendered
from hushpoll_shared.estimators import ESTIMATOR_TERMS, UNBIASED
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.qualifying.possible import Ends, cut_words, shown_share
from hushpoll_shared.qualifying.subject import heading
from hushpoll_shared.qualifying.verdict import INFORMATIVE, TOO_NOISY, not_shown, part_is_noisy
from hushpoll_shared.queries.estimates import Estimates, shown_rows
from hushpoll_shared.queries.parts import ERROR
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.spelling.text import printable
from hushpoll_shared.tables.result_table import Cell
from hushpoll_shared.tidying import TIDY, tidy_table
from hushpoll_shared.wire.documents.audits import AuditDocument, GroupDocument, MetricDocument


def joint_table_text(answer: Mapping[str, Any], questions: Questions = NO_QUESTIONS) -> str:
    """Return the joint table with a line per cell where it can tell, and the verdict."""
    verdict, likely = answer.get("verdict"), answer["likelihood"]
    told = [] if verdict is None else [str(verdict["sentence"])]
    about = [heading(answer), *asked_lines(map(str, answer["attributes"]), questions)]
    if part_is_noisy(verdict, "cells"):
        return rendered(*told, "", *about, *not_shown(len(answer["cells"])))
    level = f"{100 * float(answer['confidence']):g} % interval"
    numbers = ("estimate", "std. error", level, *(["likelihood"] if likely else []))
    shown = new_table(map(str, answer["attributes"]), numbers)
    for cell in answer["cells"]:
        shown.add_row(
            *map(str, cell["categories"]),
            with_three_digits(cell["frequency"]),
            with_three_digits(cell["standard_error"]),
            _limits(cell),
            *([with_three_digits(cell["likelihood"])] if likely else []),
        )
    parts: list[Table | str] = [*about, shown, *told, str(answer["intervals"])]
    if likely:
        parts.append(str(likely["interval"]))
    return rendered(*parts, *filter(None, [cut_words(answer["cells"])]))


def _limits(cell: Ends) -> str:
    shown = shown_share(cell)
    return f"{with_three_digits(shown['lower'])} to {with_three_digits(shown['upper'])}"


_ABOUT: Final = ("question", "category", "group")
_NOT_SHOWN: Final = (
    "n and the verdict of each row are in --json and --out, and so are numbers that are too noisy "
    "to tell."
)


def tidy_text(answer: Mapping[str, Any], questions: Questions = NO_QUESTIONS) -> str:
    """Return the rows as a table, and what was left out; raises as `tidy_table`."""
    found = tidy_table(answer)
    names = [column.name for column in TIDY]
    shown = new_table(("statistic", "about"), ("estimate", ERROR, "interval"))
    for cells in found.rows:
        row = dict(zip(names, cells, strict=True))
        about = ", ".join(str(row[name]) for name in _ABOUT if row[name] is not None)
        shown.add_row(str(row["statistic"]), about, *_numbers(row))
    left_out = [f"{name} is left out: {reason}." for name, reason in answer["left_out"].items()]
    about = heading({**answer, "n": f"{len(found.rows)} rows about its"})
    asked = asked_lines((str(row[names.index("question")]) for row in found.rows), questions)
    return rendered(about, shown, *asked, _NOT_SHOWN, *left_out)


def _numbers(row: Mapping[str, Cell]) -> tuple[str, str, str]:
    """Return estimate, error and interval of a row as texts."""
    if row["verdict"] == TOO_NOISY:
        return TOO_NOISY, "", ""
    ends = [_number(row[name]) for name in ("lower", "upper")]
    return (
        _number(row["estimate"]),
        _number(row["standard_error"]),
        " to ".join(end or "no bound" for end in ends) if any(ends) else "",
    )


def _number(cell: Cell) -> str:
    if isinstance(cell, float):
        return with_three_digits(cell)
    return "" if cell is None else str(cell)


def shape_text(tested: Mapping[str, Any]) -> str:
    """Return a test of the reports' shape as lines of text."""
    p_value, alpha = tested["p_value"], float(tested["alpha"])
    if p_value is None:
        head = "Shape of the reports: nothing to test."
    elif tested["flagged"]:
        head = (
            f"Shape of the reports: FLAGGED, p = {float(p_value):.2g}. Some were not made by "
            f"devices: at most {alpha:.3g} of honest surveys are flagged."
        )
    else:
        head = (
            f"Shape of the reports: like those of devices, p = {float(p_value):.2g} (flagged at "
            f"{alpha:g}). Fakes that were made with care look like this too."
        )
    lines = [head]
    for attribute in tested["attributes"]:
        chance = attribute["p_value"]
        words = "not tested" if chance is None else f"p = {float(chance):.2g}"
        lines.append(
            f"  {printable(attribute['name'])}: {words}; {printable(attribute['finding'])}"
        )
    return rendered(*lines)


def read_again(answer: JsonMembers) -> None:
    """Say anew how to read the intervals of an answer whose attributes, or shape, were changed."""
    confidence = answer.get("confidence")
    if _without_interval(answer) or not isinstance(confidence, float) or not 0 < confidence < 1:
        return
    shown = shown_rows(attribute_entries(answer))
    answer["intervals"] = how_to_read(shown, confidence, shape="shape" in answer)


def judge_again(answer: JsonMembers, entries: Sequence[JsonObject]) -> None:
    """Say anew whether an answer can tell, of which some entries are left.

    A server judges all questions together. Where none of these is too noisy, they can be told;
    otherwise those that cannot are named, and what the server said is said to be about all.
    """
    verdict = answer.get("verdict")
    if not isinstance(verdict, dict) or not isinstance(verdict.get("too_noisy"), list):
        return
    noisy = [one for entry in entries if (one := entry.get("name")) in verdict["too_noisy"]]
    told: JsonMembers = {"too_noisy": noisy}
    if noisy:
        cannot = f"The reports cannot tell {', '.join(map(str, noisy))}."
        told["sentence"] = f"{cannot} Of all questions: {verdict.get('sentence')}"
        if len(noisy) == len(entries):
            told["says"] = TOO_NOISY
    elif verdict.get("says") == INFORMATIVE:
        told |= {"respondents": None, "epsilon": None}
        told["sentence"] = "The reports can tell what is shown here."
    answer["verdict"] = {**verdict, **told}


def attribute_entries(answer: JsonObject) -> list[JsonMembers]:
    """Return the attributes of an answer, leaving out what is none."""
    entries = answer.get("attributes")
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, dict)]


def names_of_entry(entry: JsonObject) -> tuple[str, ...]:
    """Return what an attribute may be asked for by: its name, and that of its select-all, last."""
    option = entry.get("option")
    names = (entry.get("name"), option.get("question") if isinstance(option, Mapping) else None)
    return tuple(name for name in names if isinstance(name, str))


def estimates_and_shape(answer: Mapping[str, Any], questions: Questions = NO_QUESTIONS) -> str:
    """Return estimates as text, and the test of the reports' shape where there is one."""
    shape = "\n\n" + shape_text(answer["shape"]) if "shape" in answer else ""
    return text_of_query(Estimates)(answer, questions) + shape


def _without_interval(answer: JsonObject) -> bool:
    terms = ESTIMATOR_TERMS.get(str(answer.get("estimator", UNBIASED)))
    return terms is not None and terms.no_interval is not None


def fairness_text(report: AuditDocument, questions: Questions = NO_QUESTIONS) -> str:
    """Return an audit as text of at most 80 columns; of several groups, a table for each."""
    if "groups" not in report:
        return "\n".join([_pair(report, questions), _reading(report)])
    pairs = [_pair(_beside_the_reference(report, group), questions) for group in report["groups"]]
    return "\n\n".join([*pairs, *_together(report), _reading(report)])


def _beside_the_reference(report: AuditDocument, group: GroupDocument) -> AuditDocument:
    """Return what an audit of several groups found of one, as an audit of two groups has it."""
    about = report["protected"]
    return {
        **report,
        "expected": group["expected"],
        "shares": group["shares"],
        "metrics": group["metrics"],
        "rates": group["rates"],
        "protected": {
            **about,
            "privileged": about["reference"],
            "unprivileged": [group["group"]],
        },
    }


def _together(report: AuditDocument) -> list[str]:
    """Say what follows for all groups together, if it was asked for."""
    lines = []
    if "largest" in report:
        parts = []
        for name, number in report["largest"].items():
            value, _, between, _ = _cells(number, {})
            parts.append(f"{printable(name)} {value} ({between})")
        lines.append("Largest disparity of any group: " + ", ".join(parts) + ".")
    if "discoveries" in report:
        found = [
            f"{printable(one['group'])} {printable(one['metric'])} "
            f"(adjusted p {float(one['adjusted_p_value']):.2g})"
            for one in report["discoveries"]
        ]
        lines.append(
            f"Discoveries at the rate {float(report['rate']):.2g}: {', '.join(found) or 'none'}."
        )
    return [rendered(line) for line in lines]


def _pair(report: AuditDocument, questions: Questions) -> str:
    survey, about = report["survey"], report["protected"]
    name = printable(about["attribute"])
    how = "in clear"
    if about["protocol"] is not None:
        how = f"{printable(about['protocol'])}, epsilon {printable(about['epsilon'])}"
    reasons: dict[str, int] = {}
    level = f"{100 * float(report['confidence']):g} % interval"
    table = new_table(("metric",), ("estimate", "std. error", level))
    table.add_column("conclusion", no_wrap=True)
    for section in ("metrics", "rates", "shares"):
        table.add_section()
        for key, number in report[section].items():
            # A server may be newer and know a metric that this table does not have.
            label = METRICS[key].label if section == "metrics" and key in METRICS else key
            if section == "shares":
                label = f"share, {key} group"
            table.add_row(printable(label), *_cells(number, reasons))
    seen = "" if about["protocol"] is None else f"; {name} was never seen in clear"
    return rendered(
        f"{printable(survey['name'])} version {int(survey['version'])}, {int(report['n']):,} "
        "records",
        *map(printable, asked_lines([name], questions)),
        f"{name} ({how}): 1, privileged, is {_either(about['privileged'])}; 0 is "
        f"{_either(about['unprivileged'])}. The model is {printable(report['origin'])}.",
        f"Fairness {printable(report['setting'])}{seen}.",
        table,
        *(f"({number}) {reason}" for reason, number in reasons.items()),
        *_outlook(report),
        *_poisoning(report),
    )


def _reading(report: AuditDocument) -> str:
    return rendered(f"{printable(report['intervals'])} The same is true of the conclusions.")


def _either(categories: list[str]) -> str:
    return " or ".join(map(printable, categories))


def _cells(number: MetricDocument, reasons: dict[str, int]) -> tuple[str, str, str, str]:
    if "withheld" in number:
        footnote = reasons.setdefault(printable(number["reason"]), len(reasons) + 1)
        return printable(number["withheld"]).replace("-", " "), "", f"({footnote})", ""
    value, error, lower, upper = (
        _float(number[key]) for key in ("value", "standard_error", "lower", "upper")
    )
    between = f"{with_three_digits(lower)} to {with_three_digits(upper)}"
    if lower is None and upper is None:
        between = "no bound"
    elif upper is None:
        between = f"from {with_three_digits(lower)}, no bound"
    shown = (
        ("unknown", "") if value is None else (with_three_digits(value), with_three_digits(error))
    )
    return *shown, between, printable(number.get("conclusion", ""))


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _outlook(report: AuditDocument) -> list[str]:
    """Say what a survey of this size can find, and where it would seldom conclude."""
    expected = report["expected"]
    shares = (
        f"{100 * float(expected['unprivileged']):.3g} % in group 0, "
        f"{100 * float(expected['positive']):.3g} % predicted positive, "
        f"{100 * float(expected['base']):.3g} % with a positive label"
    )
    smallest, seldom = [], []
    for name, metric in report["metrics"].items():
        concludes = metric.get("chance_to_conclude")
        if concludes is None:
            continue
        least = metric["smallest_detectable"]
        word = "none, however large" if least is None else f"{float(least):.3g}"
        smallest.append(f"{printable(name)} {word}")
        if metric["seldom_concludes"]:
            chance = 100 * float(concludes)
            seldom.append(f"{printable(name)} {chance:.0f} %")
    if not smallest:
        return []
    lines = [
        f"Smallest disparity that surveys of this n and epsilon find with power "
        f"{float(expected['power']):g} ({shares}; {printable(expected['basis'])}): "
        f"{', '.join(smallest)}."
    ]
    if seldom:
        lines.append(
            f"Such surveys seldom conclude, if there is no disparity: {', '.join(seldom)} of them."
        )
    return lines


def _poisoning(report: AuditDocument) -> list[str]:
    """Say what the metrics may be without fake reports."""
    ranges, turning, share = [], [], 0.0
    for name, metric in report["metrics"].items():
        part = metric.get("poisoning")
        if part is None:
            continue
        share = float(part["fake_share"])
        ends = [_float(part[end]) for end in ("lowest", "highest")]
        between = " to ".join(map(with_three_digits, ends))
        ranges.append(f"{printable(name)} {between}")
        turns = part.get("turning_share")
        if turns is not None:
            turning.append(f"{printable(name)} {100 * float(turns):.3g} %")
    if not ranges:
        return []
    lines = [
        f"If {100 * share:g} % of the reports were fake, the genuine ones alone could give: "
        f"{', '.join(ranges)}."
    ]
    if turning:
        lines.append(
            "Fake reports can have made the conclusion only if at least this part of all is fake: "
            f"{', '.join(turning)}."
        )
    return lines
