"""What the command of estimates adds to them (extra ``cli``): fewer attributes, a test's outcome.

It works on the JSON of the machine that estimates, or of the client that asked a server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hushpoll_shared.cli.result_text import NO_QUESTIONS, Questions, text_of_query
from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.estimators import ESTIMATOR_TERMS, UNBIASED
from hushpoll_shared.qualifying.verdict import INFORMATIVE, TOO_NOISY
from hushpoll_shared.queries.estimates import Estimates, shown_rows
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.spelling.text import printable


def shape_text(tested: Mapping[str, Any]) -> str:
    """Return a test of the reports' shape as lines of text.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such result.
    """
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
    """Return estimates as text, and the test of the reports' shape where there is one.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such answer.
    """
    shape = "\n\n" + shape_text(answer["shape"]) if "shape" in answer else ""
    return text_of_query(Estimates)(answer, questions) + shape


def _without_interval(answer: JsonObject) -> bool:
    terms = ESTIMATOR_TERMS.get(str(answer.get("estimator", UNBIASED)))
    return terms is not None and terms.no_interval is not None
