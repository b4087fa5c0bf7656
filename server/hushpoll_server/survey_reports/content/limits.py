"""What a report cannot conclude, in sentences that hold for its survey and its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hushpoll_server.survey_reports.content.naming import as_text, in_texts
from hushpoll_server.survey_reports.sources.basis import Basis
from hushpoll_server.translations.speech import in_marks, said, say, semicolons, whole
from hushpoll_shared.estimators import ESTIMATOR_TERMS

WIDE: Final = 0.1
"""Half the width of an interval from which a report says that it is wide: ten points."""
_MOST_NAMED: Final = 5


def limits_of(basis: Basis, results: Mapping[str, object], names: Mapping[str, str]) -> list[str]:
    """Return the limits of a report, each a sentence or two, in the words of `names`."""
    return list(_limits(basis, results, names))


def _limits(basis: Basis, results: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    published = basis.published
    yield say(
        "Estimates and intervals are about the population from which these respondents were drawn. "
        "Nothing here says how people would have answered who did not take part."
    )
    terms = ESTIMATOR_TERMS[basis.choices.estimator]
    if terms.no_interval is not None:
        yield said(terms.no_interval)
    else:
        yield said(results["estimates"]["intervals"])
        selects = {name: one.name for one in published.selects for name in one.attributes}
        wide: dict[str, float] = {}
        for name, half in _wide(results["estimates"]):
            # The options of a select-all are one question.
            asked = selects.get(name, name)
            wide[asked] = max(half, wide.get(asked, 0.0))
        if wide:
            yield say(
                "The reports tell little where an interval is wide. The widest interval of these "
                "questions is at least ±{number} percentage points: {questions}.",
                number=f"{100 * WIDE:.0f}",
                questions=semicolons(
                    f"{as_text(name, names)} (±{100 * half:.0f})" for name, half in wide.items()
                ),
            )
    yield say(
        "Nothing is computed from fewer than {number} reports, the survey’s minimum batch.",
        number=whole(published.minimum_batch),
    )
    yield from (in_texts(said(one), names) for one in basis.sentences)
    if basis.facts["state"] != "closed":
        yield say(
            "The survey is not over. A later release changes these numbers, and a decision that "
            "waits for the release that pleases misses the truth more often."
        )
    clear = [as_text(one.name, names) for one in published.attributes if not one.perturbed]
    if clear:
        yield say(
            "The guarantee does not cover what was sent in clear: {questions}. Answers in clear "
            "can betray others that go with them.",
            questions=semicolons(clear),
        )
    yield say(
        "The guarantee is about what leaves a device. Respondents of a hosted page trusted the "
        "server for the page’s script; a program of their own trusts no server."
    )
    if published.submission == "token":
        yield say("Each respondent needed a single-use token, so that nobody could answer twice.")
    elif published.submission == "invited":
        yield say("Each respondent needed an invitation, so that nobody could answer twice.")
    else:
        yield say(
            "Anybody who had the link could answer, and could do so more than once from another "
            "device. Intervals know of no fake reports."
        )
    yield from _fakes(results["estimates"], names)
    for audit in results["audits"]:
        yield say(
            "The audit of fairness is about a model {setting}. “No disparity found” does not say "
            "that there is none; “cannot conclude” says that the reports cannot tell.",
            setting=said(audit["result"]["setting"]),
        )
    if results.get("regressions"):
        yield say(
            "A regression says which answers go together, other things equal that are in it. It "
            "says nothing of what causes what, and nothing of what is not in it."
        )


def _wide(estimates: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for attribute in estimates["attributes"]:
        half = max((row["upper"] - row["lower"]) / 2 for row in attribute["categories"])
        if half >= WIDE:
            yield attribute["name"], half


def _fakes(estimates: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    parts = []
    for attribute in estimates["attributes"]:
        poisoning = attribute["poisoning"]
        if poisoning is not None:
            parts.append((poisoning["raised_by"], attribute["name"], poisoning["fake_share"]))
    if not parts:
        return
    worst = sorted(parts, reverse=True)[:_MOST_NAMED]
    named = semicolons(
        f"{as_text(name, names)} {in_marks(f'{100 * raised:.1f}')}" for raised, name, _ in worst
    )
    share = in_marks(f"{100 * parts[0][2]:g} %")
    if len(parts) <= _MOST_NAMED:
        yield say(
            "If {share} of the reports were fake, the share of a category could be raised by so "
            "many percentage points: {questions}.",
            share=share,
            questions=named,
        )
    else:
        yield say(
            "If {share} of the reports were fake, the share of a category could be raised by so "
            "many percentage points (the {number} largest): {questions}.",
            share=share,
            number=_MOST_NAMED,
            questions=named,
        )
