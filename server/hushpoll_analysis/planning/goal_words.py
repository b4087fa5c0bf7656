"""Goals in words, as verdicts say them."""

from __future__ import annotations

import math

from hushpoll_analysis.planning.goals import Goal
from hushpoll_shared.group_metrics import METRICS


def where(goal: Goal) -> str:
    """Return whose interval's width is wanted."""
    of = _share(goal)
    if goal.kind == "lead-width":
        each = f"{_percent(goal.share)} each"
        of = f"the difference between two categories of {_asked(goal)} with {each}"
    elif goal.kind == "mean":
        of = f"the mean of {_asked(goal)}"
    return f"the {_percent(goal.confidence)} interval of {of}"


def what(goal: Goal) -> str:
    """Return what is wanted."""
    value = "" if goal.value is None else f" of {goal.value:g}"
    match goal.kind:
        case "width" | "lead-width" | "mean":
            return f"{where(goal)}, {goal.value:g} wide,"
        case "difference":
            groups = f"{_percent(goal.group)} and {_percent(1 - (goal.group or 0.0))}"
            return f"a difference{value} from {_share(goal)} between groups of {groups}"
        case "change":
            return f"a change{value} from {_share(goal)}"
        case "lead":
            behind = "" if goal.share is None else f" with {_percent(goal.share)}"
            return f"a lead{value} of a category of {_asked(goal)} over another{behind}"
        case "gap":
            return f"a gap{value} from {_share(goal)} between {_groups(goal)}"
        case "mean-gap":
            return f"a gap{value} between the means of {_asked(goal)} in {_groups(goal)}"
        case "slope":
            return _slope(goal)
        case "association":
            first, second = goal.names
            return f"an association{value} (phi) between {first} and {second}"
        case _:
            ratio = METRICS[goal.subject].combination == "ratio"
            of_rates = " (as the difference of the two rates, not their ratio)" if ratio else ""
            return f"a disparity{value} in {goal.subject}{of_rates}"


def _slope(goal: Goal) -> str:
    outcome, predictor, *held = goal.names
    size = ""
    if goal.value is not None:
        size = f" of {goal.value:g} (odds {math.exp(goal.value):.3g} times as high)"
    fixed = "" if not held else f", with {' and '.join(held)} held fixed,"
    return f"a slope{size} of {outcome} on {predictor}{fixed}"


def _groups(goal: Goal) -> str:
    return f"two groups of {goal.names[1]}, the smaller one with {_percent(goal.group)},"


def _share(goal: Goal) -> str:
    return f"a share of {_percent(goal.share)} in {_asked(goal)}"


def _asked(goal: Goal) -> str:
    """Name the question that shares and means are of, and of a follow-up who is asked it."""
    name = goal.names[0] if goal.names else goal.subject
    if goal.asked is None:
        return name
    return f"{name} (among the {_percent(goal.asked)} of the people who are taken to be asked it)"


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.3g} %"
