"""Audits and regressions that workers have made, as the page of a report shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from hushpoll_server.charts.regressions import finding_of, slopes_of
from hushpoll_server.survey_reports.content.naming import as_text
from hushpoll_server.survey_reports.content.wording import SurveyWords
from hushpoll_server.translations.speech import said, say
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.qualifying.verdict import TOO_NOISY
from hushpoll_shared.tables.regressions import references_of
from hushpoll_shared.wire.documents.regressions import RegressionDocument


def shown_audit(audit: Mapping[str, Any], words: SurveyWords) -> dict[str, Any]:
    """Return an audit with the words of its groups, and its metrics by their names in words."""
    document = audit["result"]
    pairs = document.get("groups")
    about = document["protected"]

    def either(categories: Sequence[str]) -> str:
        named = [words.answer(about["attribute"], category) for category in categories]
        return say(" or ").join(named)

    if pairs is None:
        pairs = [{**document, "group": either(about["unprivileged"])}]
    return {
        **document,
        "asked": audit,
        "reference": either(about.get("privileged") or about["reference"]),
        "pairs": [
            {"group": pair["group"], "metrics": list(_metrics(pair["metrics"]))} for pair in pairs
        ],
    }


def shown_regression(document: RegressionDocument, words: SurveyWords) -> dict[str, object]:
    """Return a regression with its finding, and questions and answers in the report's words."""
    names, told = words.names, words.regression(document)
    labels = {one["name"]: one["label"] for one in slopes_of(told, names)}
    constants = _constants(document["outcome"]["categories"], told["outcome"]["categories"])
    return {
        **told,
        "finding": finding_of(told, names),
        "noisy": document["verdict"]["says"] == TOO_NOISY,
        "references": {as_text(name, names): of for name, of in references_of(told).items()},
        "rows": [
            {
                **one,
                "label": labels.get(one["name"]) or said(constants.get(one["name"], one["name"])),
            }
            for one in told["coefficients"]
        ],
    }


def _constants(categories: Sequence[str], in_words: Sequence[str]) -> dict[str, str]:
    """Return what intercepts and thresholds of an outcome's answers are called in other words."""
    both = list(zip(categories, in_words, strict=True))
    found = {f"{one}: Intercept": said(f"{mine}: Intercept") for one, mine in both}
    for (low, mine), (high, own) in pairwise(both):
        found[f"{low}|{high}"] = f"{mine}|{own}"
    return found


def _metrics(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for name, number in metrics.items():
        # A later release may have found a metric that this one does not know.
        label = METRICS[name].long_label if name in METRICS else name
        yield {
            "label": said(label),
            "value": None,
            "lower": None,
            "upper": None,
            "conclusion": None,
            "reason": None,
            **number,
            **{key: said(number[key]) for key in ("conclusion", "reason") if number.get(key)},
        }
