"""``hushpoll plan``: whether a survey can answer what is wanted, and which protocol and split."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.planner import DraftedOption, Outlook, as_drafted, outlook, plan
from hushpoll_analysis.planning.verdicts import verdicts
from hushpoll_analysis.shuffling import DELTA
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.model_options import confidence_option
from hushpoll_shared.cli.out_file import save_table, table_out_option
from hushpoll_shared.cli.terminal import (
    COLUMNS,
    emit,
    json_option,
    rendered,
    reports_errors,
    waiting,
)
from hushpoll_shared.drafts.manifest import load_manifest
from hushpoll_shared.group_metrics import DIFFERENCES, METRICS
from hushpoll_shared.qualifying.verdict import share_tells
from hushpoll_shared.survey.option_texts import option_labels
from hushpoll_shared.tables.plans import comparison_table, verdicts_table

if TYPE_CHECKING:
    from rich.table import Table

    from hushpoll_analysis.planning.pair_outlooks import PairOutlook
    from hushpoll_shared.drafts.manifest import Manifest


@click.command("plan")
@click.argument("manifest", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--n", type=click.IntRange(min=1), help="Respondents; needed without --want.")
@click.option(
    "--want",
    "wants",
    multiple=True,
    metavar="KIND:SUBJECT=VALUE",
    help="What the survey has to answer. Of one question: width:age=0.02, difference:age=0.05, "
    "change:age=0.05, lead:age=0.05 (of one category over another), lead-width:age=0.05, "
    "mean:age=2 (width of the interval of the mean). Of two: gap:smokes/gender=0.1 (of a share "
    "of smokes between two groups of gender), association:smokes/gender=0.2 (phi), "
    "mean-gap:age/gender=2. Of a regression: slope:smokes~gender+age=0.5 (in logits, of gender, "
    "with age held fixed). Of an audit: audit:SPD=0.1. ? as VALUE asks which can be had. May be "
    "repeated.",
)
@click.option(
    "--share",
    type=float,
    help="With --want: the category's share; of a lead that of the category behind.  [default: all "
    "alike]",
)
@click.option(
    "--group",
    type=float,
    help="With --want difference, gap, mean-gap or slope: the smaller group's share of the "
    "respondents.  [default: halves for difference, else all groups alike]",
)
@click.option("--epsilon", help="With --want: in place of the draft's.")
@click.option(
    "--delta",
    type=float,
    default=DELTA,
    show_default=True,
    help="Delta of what a trusted shuffler would add (--crowd, --all).",
)
@click.option(
    "--crowd",
    type=click.IntRange(min=1),
    help="Say what a trusted shuffler would add, with so many reports that have the same values in "
    "clear. --all says it for n over their combinations.",
)
@confidence_option
@click.option(
    "--gap", type=float, default=0.1, show_default=True, help="Difference of rates to be found."
)
@click.option(
    "--positive",
    type=float,
    default=0.3,
    show_default=True,
    help="Share predicted positive in the unprivileged group.",
)
@click.option(
    "--unprivileged", type=float, default=0.5, show_default=True, help="Share of that group."
)
@click.option(
    "--base", type=float, default=0.3, show_default=True, help="Share with a positive label."
)
@click.option(
    "--recall",
    type=float,
    help="Share of them predicted positive, in the unprivileged group.  [default: 0.4 above the "
    "rate of false positives, or as far as the other shares allow]",
)
@click.option(
    "--metric",
    type=click.Choice(list(METRICS)),
    default="SPD",
    show_default=True,
    help="Metric in which the recommended option has to find the gap.",
)
@click.option(
    "--all",
    "in_full",
    is_flag=True,
    help="Without --want: show every protocol and split, as --json and --out do.",
)
@table_out_option
@json_option
@reports_errors
def plan_command(
    manifest: Path,
    n: int | None,
    wants: tuple[str, ...],
    share: float | None,
    group: float | None,
    epsilon: str | None,
    delta: float,
    crowd: int | None,
    confidence: float,
    metric: str,
    in_full: bool,
    out: Path | None,
    as_json: bool,
    **assumed: Any,
) -> None:
    """Say what a survey of the draft MANIFEST could answer, before anybody does.

    With --want: whether it can answer that with --n respondents, and with which n or epsilon it
    could; without --n, how many respondents it takes. Where the draft has blocks, or goals name two
    questions, it says whether to put them together. --gap and --metric play no part then.

    Without --want: which questions the draft can tell with --n respondents, how far intervals reach
    and which differences are found, what the marked pairs of questions and an audit would tell, and
    which protocol and split are recommended. Categories are taken as equally frequent.

    With --all, every protocol and split are shown. Per attribute: the mean width of a category's
    95 % interval and, after the slash, the smallest difference between two halves of the
    respondents found with power 0.8 (none, if there is none). Audit: the chances that an audit from
    the records alone finds --gap between the protected groups, by metric; DI has that of SPD.
    """
    draft, given = load_manifest(manifest), AuditAssumptions(**assumed)
    if wants:
        goals = [
            Goal.parse(want, share=share, group=group, confidence=confidence) for want in wants
        ]
        with waiting(f"plan of {draft.name}"):
            document = verdicts(
                draft, goals, n=n, epsilon=epsilon, given=given, delta=delta, crowd=crowd
            )
        if out is not None:
            save_table(document, lambda: verdicts_table(document), out)
        emit(
            document,
            lambda: _verdicts_text(document, shuffled=crowd is not None) + _saved(out),
            as_json=as_json,
        )
        return
    if n is None:
        raise InvalidParameter(
            "neither --n nor --want is given; give the number of respondents, or what is wanted, "
            "such as --want width:age=0.02",
            field="n",
        )
    if epsilon is not None:
        raise InvalidParameter(
            "--epsilon needs --want; without it, write the epsilon into the draft", field="epsilon"
        )
    if not (in_full or as_json or out is not None):
        # what the draft can tell comes before the rest is computed
        with waiting(f"plan of {draft.name}"):
            own = as_drafted(draft, n)
        emit(own, lambda: _verdict_text(draft, own, n), as_json=False)
        with waiting(f"plan of {draft.name}"):
            told = outlook(draft, n, given, metric=metric, delta=delta, crowd=crowd, drafted=own)
            pairs = () if "error" in own else _pairs(draft, n)
        emit(
            told,
            lambda: _outlook_text(told, given, pairs, shuffled=crowd is not None),
            as_json=False,
        )
        return
    with waiting(f"plan of {draft.name}"):
        document = plan(draft, n, given, metric=metric, delta=delta, crowd=crowd)
    if out is not None:
        save_table(document, lambda: comparison_table(document), out)
    emit(document, lambda: _text(document) + _saved(out), as_json=as_json)


def _saved(out: Path | None) -> str:
    return "" if out is None else f"\n\nThe table is in {out}."


LEGEND: Final = (
    "Per attribute: the mean width of a category's 95 % interval / the smallest difference between "
    "two halves of the respondents that is found with power 0.8. Below them, variance is the sum "
    "over the attributes, times the number of respondents; each group metric has the chance that "
    "an audit from the records alone finds the gap. own: as the draft says."
)


def _verdicts_text(document: dict[str, Any], *, shuffled: bool) -> str:
    lines = [document["verdict"]]
    told = [one["sentence"] for one in document["goals"]]
    if len(told) > 1:
        lines += ["", *(f"- {sentence}" for sentence in told)]
    if document["together"]:
        lines += ["", document["together"]["verdict"]]
    for reason in document.get("selects", ()):
        lines += ["", reason]
    if shuffled and document["shuffled"]:
        lines += ["", document["shuffled"]["sentence"]]
    return "\n".join(_wrapped(line) for line in lines)


def _wrapped(line: str) -> str:
    return textwrap.fill(
        line,
        COLUMNS,
        subsequent_indent="  " if line.startswith("- ") else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _verdict_text(draft: Manifest, own: DraftedOption, n: int) -> str:
    """Return what the draft can tell, first in a sentence, then by question."""
    if "error" in own:
        return _wrapped(f"The draft cannot be published as it is: {own['error']}.")
    published = draft.resolve()
    labels = option_labels(published)
    units = {one.name: one.number.unit for one in published.attributes if one.number is not None}
    rows = [
        {**row, "name": labels.get(row["name"], row["name"]), "unit": units.get(row["name"])}
        for row in own["attributes"]
    ]
    noisy = [
        row["name"] for row in rows if row["width"] / 2 > _tells(row["k"], row.get("mean_width"))
    ]
    told = len(rows) - len(noisy)
    start = f"{n:,} respondents, as the draft of {draft.name} says:"
    if not rows:
        return _wrapped(f"{start} nothing is randomised.")
    if not noisy:
        verdict = f"{start} all {told} randomised answers in the table can be told."
    else:
        which = f"{told} of the {len(rows)} randomised answers in the table can be told"
        verdict = f"{start} {which}; too noisy to tell: {', '.join(noisy)}."
    return f"{_wrapped(verdict)}\n\n{rendered(_precision(rows, noisy)).rstrip()}\n"


def _outlook_text(
    document: Outlook,
    given: AuditAssumptions,
    pairs: Sequence[PairOutlook],
    *,
    shuffled: bool,
) -> str:
    """Return what pairs and an audit will tell, warnings of the draft, and what is recommended."""
    own, metric = document["own"], document["metric"]
    powers = own.get("audit_power") or {}
    parts = [_wrapped(f"{one.a} and {one.b}: {_pair_words(one)}") for one in pairs]
    if powers.get(metric) is not None:
        parts.append(
            _wrapped(
                f"An audit from the records alone finds a gap of {given.gap:g} in {metric} with a "
                f"power of {powers[metric]:.2f}."
            )
        )
    parts += [_wrapped(f"Note: {text}.") for text in own.get("warnings", ())]
    parts += map(_wrapped, _advice(document, shuffled=shuffled))
    return "\n".join(parts)


def _pairs(draft: Manifest, n: int) -> Sequence[PairOutlook]:
    """Return what can be said of the marked pairs; scipy, slow to import, is needed for them."""
    if not draft.pairs:
        return ()
    from hushpoll_analysis.planning.pair_outlooks import pair_outlooks

    return pair_outlooks(draft.resolve(), draft.pairs, n)


def _pair_words(pair: PairOutlook) -> str:
    if pair.verdict is None:
        return f"{pair.refusal}."
    return f"{pair.verdict.says}. {pair.verdict.sentence}"


MEAN_TELLS: Final = 0.25
"""Half-width of the mean of a number, as a part of its range, up to which it tells something."""


def _tells(k: int, mean_width: float | None) -> float:
    """Return the half-width up to which a share, or the mean of a number, tells something."""
    return share_tells(k) if mean_width is None else MEAN_TELLS


def _precision(rows: list[dict[str, Any]], noisy: list[str]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("question", overflow="fold")
    table.add_column("answers", justify="right")
    table.add_column("a share, give or take", justify="right")
    table.add_column("difference of halves that is found", justify="right")
    for row in rows:
        found = "none" if row["detectable"] is None else f"{100 * row['detectable']:.1f} points"
        reach = f"{50 * row['width']:.1f} points"
        if row.get("mean_width") is not None:
            half = row["mean_width"] / 2
            reach = f"mean {half:,.{max(0, 2 - len(str(int(half))))}f} {row['unit'] or ''}".rstrip()
            found = found.replace("points", "% of the range")
        if row["name"] in noisy:
            reach, found = f"{reach}: too noisy", found
        table.add_row(row["name"], str(row["k"]), reach, found)
    return table


def _advice(document: Outlook, *, shuffled: bool) -> list[str]:
    lines = []
    chosen = document["recommended"]
    if chosen is None:
        lines.append("No option is possible: no protocol accepts its part of epsilon.")
    elif chosen == {"protocol": "own", "split": "own"}:
        lines.append(f"The draft's protocols and split are recommended: {document['reason']}.")
    else:
        own = {"protocol": "the draft's protocols", "split": "the draft's split"}
        what = [own[key] if value == "own" else f"{key} {value}" for key, value in chosen.items()]
        lines.append(f"Recommended: {', '.join(what)}: {document['reason']}.")
    lines += _gains(document["optimal_gain"])
    if shuffled and document["shuffled"]:
        lines.append(document["shuffled"]["sentence"])
    lines.append(
        "Give or take: half of a 95 % interval, all answers being equally frequent. Two halves of "
        "the respondents are found to differ so much with a power of 0.8. --all shows every "
        "protocol and split; --want asks what you want to know."
    )
    return lines


def _gains(gains: dict[str, float]) -> list[str]:
    if not gains:
        return []
    less = ", ".join(f"{100 * gain:.0f} % less than {name}" for name, gain in gains.items())
    return [f"With the draft's protocols the split optimal has a total variance {less}."]


def _text(document: dict[str, Any]) -> str:
    possible = [option for option in document["options"] if "error" not in option]
    chosen = document["recommended"]
    lines = []
    if chosen:
        lines.append(
            f"Recommended: protocol {chosen['protocol']}, split {chosen['split']}: "
            f"{document['reason']}."
        )
    else:
        lines.append("No option is possible: no protocol accepts its part of epsilon.")
    lines.append(f"{document['survey']}, {document['n']} respondents")
    tables = []
    names = [attribute["name"] for attribute in possible[0]["attributes"]] if possible else []
    if possible:
        lines.append(LEGEND)
    if names:
        tables.append(
            _table(
                document,
                names,
                lambda option: [
                    f"{row['width']:.3f} / {_difference(row)}" for row in option["attributes"]
                ],
            )
        )
    tables.append(
        _table(
            document,
            ["variance", *DIFFERENCES],
            lambda option: [
                f"{option['total_variance']:.4g}",
                *(_share((option["audit_power"] or {}).get(metric)) for metric in DIFFERENCES),
            ],
        )
    )
    after = _gains(document["optimal_gain"])
    after += sorted(
        {
            f"Note: {text}."
            for option in possible
            for text in option["warnings"]
            if option["split"] == "own"
        }
    )
    if document["shuffled"]:
        after.append(document["shuffled"]["sentence"])
    return "\n".join([*map(_wrapped, lines), *tables, *map(_wrapped, after)])


def _table(
    document: dict[str, Any],
    headings: list[str],
    cells: Callable[[dict[str, Any]], list[str]],
) -> str:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("protocol", "split"):
        table.add_column(heading)
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    for option in document["options"]:
        none = ["-"] * len(headings)
        row = none if "error" in option else cells(option)
        table.add_row(option["protocol"], option["split"], *row)
    return rendered(table) + "\n"


def _difference(row: dict[str, Any]) -> str:
    return "none" if row["detectable"] is None else f"{row['detectable']:.3f}"


def _share(power: float | None) -> str:
    return "-" if power is None else f"{power:.2f}"
