"""A model card as HTML; see :mod:`hushpoll_training.reports.card`."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

from hushpoll_training.evaluation.metrics import FAIRNESS, UTILITY
from hushpoll_training.reports.fairness_page import meaning, sections
from hushpoll_training.reports.forest import Mark, forest
from hushpoll_training.reports.html_page import facts, page, table

_MODELS: Final = {"ldp": "this model", "baseline": "NonDP"}
_LABELS: Final = {
    "accuracy": "accuracy",
    "f1": "F1",
    "roc_auc": "ROC AUC of the scores",
    "balanced_acc": "balanced accuracy",
    "recall": "recall",
}


def card_page(card: Mapping[str, Any]) -> str:
    """Return a model card (:func:`~.card.model_card`) as a page."""
    title = f"Model card: {card['title']}"
    return page(
        title,
        [
            f"<h1>{escape(title)}</h1>",
            f'<p class="soft">{escape(card["finished"])}</p>',
            *_model(card),
            "<h2>Limits</h2><ul>",
            *(f"<li>{escape(one)}</li>" for one in card["limits"]),
            "</ul>",
            *_measured(card),
            *_fairness(card),
            *_survey(card),
            *_details(card),
        ],
    )


def _model(card: Mapping[str, Any]) -> list[str]:
    model, survey, rows = card["model"], card["survey"], card["data"]["rows"]
    return [
        facts(
            [
                (
                    "Predicts",
                    f"{escape(model['predicts'])}: <strong>{escape(model['positive'])}</strong> "
                    f"(positive) or {escape(model['negative'])}",
                ),
                ("Learner", escape(model["learner"])),
                ("Features", f"{escape(model['encoding'])}: {escape(model['encoding_is'])}"),
                (
                    "Privacy",
                    f"{escape(survey['protocol'])}, epsilon {escape(survey['epsilon'])} in all, "
                    f"split {escape(survey['split'])}",
                ),
                (
                    "Fitted to",
                    f"{rows['fitted']:,} of {rows['records']:,} randomised records",
                ),
                ("Tested on", escape(card["data"]["tested_on"] or "nothing")),
            ]
        )
    ]


def _measured(card: Mapping[str, Any]) -> list[str]:
    metrics = card["metrics"]
    if metrics is None:
        return ["<h2>Utility and fairness</h2>", f"<p>{escape(card['unmeasured'])}</p>"]
    level = "" if card["confidence"] is None else f"{100 * card['confidence']:g} % "
    headings = ["metric"]
    for name in _MODELS.values():
        headings += [name, f"{level}interval"]
    rows, marks, reasons = [], [], []
    for metric in (*UTILITY, *FAIRNESS):
        label = _LABELS.get(metric, metric)
        if metric in FAIRNESS:
            label = f"{metric} = {meaning(metric)}"
        row = [escape(label)]
        for model, name in _MODELS.items():
            found = metrics[model][metric]
            row += _cells(found)
            if isinstance(found["value"], Mapping):
                reasons.append(f"{metric} of {name} is undefined: {found['value']['undefined']}")
            elif metric in UTILITY and found["interval"] is not None:
                limits = found["interval"]
                marks.append(Mark(label, model, found["value"], limits["lower"], limits["upper"]))
        rows.append(row)
    drawing = [forest(f"Utility with {level}intervals, on a common scale", marks)] if marks else []
    return [
        "<h2>Utility and fairness</h2>",
        f"<p>This model (circles) beside NonDP (squares), a model without privacy "
        f"{escape(card['data']['baseline_is'] or '')}.</p>",
        *drawing,
        table("Metrics of both models on the same rows", headings, rows, text=(0,)),
        *(f'<p class="note">{escape(one)}</p>' for one in reasons),
    ]


def _cells(found: Mapping[str, Any]) -> list[str]:
    if isinstance(found["value"], Mapping):
        return ["undefined", ""]
    limits = found["interval"]
    if limits is None:
        return [f"{found['value']:.4f}", ""]
    upper = "no bound" if limits["upper"] is None else f"{limits['upper']:.4f}"
    return [f"{found['value']:.4f}", f'<span class="range">{limits["lower"]:.4f} to {upper}</span>']


def _fairness(card: Mapping[str, Any]) -> list[str]:
    fairness = card["fairness"] or {}
    ours = fairness.get("ldp") or []
    theirs = fairness.get("baseline") or [None] * len(ours)
    parts = []
    for one, other in zip(ours, theirs, strict=True):
        named = escape(" and ".join(one["attributes"]))
        parts.append(f"<h2>Fairness by {named}</h2>")
        # a cross-validated baseline is measured on the same rows, in the same groups
        same = other is not None and [g["group"] for g in other["groups"]] == [
            g["group"] for g in one["groups"]
        ]
        parts += sections([one, other], list(_MODELS.values())) if same else sections([one])
    return parts


def _survey(card: Mapping[str, Any]) -> list[str]:
    survey = card["survey"]
    protected = survey["protected"]
    rows = [
        [
            escape(one["name"]),
            one["role"],
            f"{one['categories']:,}",
            escape(one["protocol"] or "in clear"),
            escape(one["epsilon"] or "none: not private"),
        ]
        for one in survey["attributes"]
    ]
    groups = (
        "none is declared"
        if protected is None
        else f"{escape(protected['attribute'])}: {escape(' or '.join(protected['privileged']))} is "
        f"privileged, {escape(' or '.join(protected['unprivileged']))} is not"
    )
    return [
        "<h2>Survey</h2>",
        facts(
            [
                ("Title", escape(survey["title"] or survey["name"])),
                ("Name and version", f"{escape(survey['name'])}, {survey['version']}"),
                ("Digest", f"<code>{survey['digest']}</code>"),
                ("Protected attribute", groups),
            ]
        ),
        table(
            "Attributes, in the order of a record",
            ["attribute", "role", "categories", "protocol", "epsilon"],
            rows,
            text=(0, 1, 3),
        ),
    ]


def _details(card: Mapping[str, Any]) -> list[str]:
    data, model = card["data"], card["model"]
    counts = [[escape(name), f"{number:,}"] for name, number in data["rows"].items()]
    parameters = [[escape(name), f"{value:g}"] for name, value in model["parameters"].items()]
    versions = [[escape(name), escape(value)] for name, value in card["versions"].items()]
    files = ", ".join(f"{escape(name)}: {escape(file)}" for name, file in data["inputs"].items())
    return [
        "<h2>How it was made</h2>",
        facts(
            [
                ("Mode", "collected records" if data["mode"] == "records" else "a simulation"),
                ("Files", files),
                ("Seed", str(model["seed"])),
                ("Threshold", f"positive where the score is above {model['threshold']:g}"),
            ]
        ),
        table("Rows", ["of", "number"], counts, text=(0,)),
        table("Parameters of the learner", ["parameter", "value"], parameters, text=(0,)),
        table("Versions", ["of", "version"], versions, text=(0, 1)),
    ]
