"""What must be known of a regression beside its figures, as sentences."""

from __future__ import annotations

from collections.abc import Sequence

from hushpoll_analysis.regression.answers import Answers
from hushpoll_analysis.regression.fitting import Maximum
from hushpoll_analysis.regression.inference import (
    NOISY,
    PROFILE,
    TOO_LARGE,
    TRUSTED,
    UNTOLD,
    Coefficient,
    Covariance,
)
from hushpoll_analysis.regression.likelihood import Likelihood
from hushpoll_shared.spelling.text import show


def notes_of_draws(n: int, asked_all: int) -> list[str]:
    """Return what must be known where devices drew which questions they answer."""
    if asked_all == n:
        return []
    return [
        f"{asked_all:,} of {n:,} records answer all questions of the formula, since devices drew "
        "which they answer; the others count for what they answer, and the plain regression and "
        "adjusted odds ratios are of the former alone"
    ]


def notes_of_follow_ups(outcome: str, categories: Sequence[str], answers: Answers) -> list[str]:
    """Return whom the slopes of a follow-up are about, by its categories, the reference first."""
    not_asked = answers.not_asked.get(outcome)
    if not_asked not in categories[1:] or len(categories) < 3:
        return []
    return [
        f"not everybody was asked {outcome}: compared with {categories[0]}, the slopes of its "
        "other answers are those among the respondents who were asked, and those of "
        f"{show(not_asked)} say who they are"
    ]


def note_of_unasked(unasked: int) -> list[str]:
    """Return what must be known of a linear regression of records that answer all."""
    return [
        f"{unasked:,} records were left out, since their devices drew other questions; by chance "
        "alone, so the slopes are not biased"
    ]


def notes_of_sets(table: Sequence[Coefficient], confidence: float) -> list[str]:
    """Return what stands in place of Wald's intervals, and which of them have no end."""
    if any(one.method == TOO_LARGE for one in table):
        return [
            "slopes that are too noisy for Wald's interval have none, since the sets of so large a "
            "fit take too long: leave terms out, or merge categories, to have them"
        ]
    if any(one.method == UNTOLD for one in table):
        return [
            "the set of each coefficient is the whole line, and nothing is tested, since an "
            f"expected standard error is above {TRUSTED:g}: narrower sets of such fits hold a "
            "slope less often than they say; leave randomised predictors out, or merge their "
            "categories"
        ]
    sets = [one for one in table if one.method == PROFILE]
    if not sets:
        return []
    notes = [
        f"the intervals are {100 * confidence:g} % sets of the profile likelihood, since a slope's "
        f"expected standard error is above {NOISY:g}"
    ]
    for where, names in (
        (
            "has no end on either side: the records allow any value",
            _open(sets, low=True, high=True),
        ),
        ("has no end below", _open(sets, low=True, high=False)),
        ("has no end above", _open(sets, low=False, high=True)),
    ):
        if names:
            notes.append(f"the set of {', '.join(names)} {where}")
    return notes


def _open(sets: Sequence[Coefficient], *, low: bool, high: bool) -> list[str]:
    return [one.name for one in sets if ((one.lower is None), (one.upper is None)) == (low, high)]


def notes_of_fit(
    likelihood: Likelihood,
    maximum: Maximum,
    known: Covariance,
    *,
    sample: Likelihood,
    saturated: bool,
) -> list[str]:
    """Return what must be known of a fit; averages were taken over the rows of the sample."""
    notes = []
    if sample is not likelihood:
        notes.append(
            f"expected standard errors and marginal effects are averages over a sample of "
            f"{sample.n:,} rows; all else is of all rows"
        )
    size = likelihood.outcome_size
    if likelihood.prior and likelihood.c > 1:
        notes.append(
            "the model of the perturbed predictors has a prior as weak as one "
            "respondent, so that combinations that nobody seems to have end the climb; the "
            "outcome's model has none"
        )
    if not maximum.converged:
        notes.append(
            "the climb ended before the maximum was reached; do not use these figures, leave terms "
            "out"
        )
    if maximum.agreed < maximum.starts:
        notes.append(
            f"{maximum.starts - maximum.agreed} of {maximum.starts} starts led to a lower maximum"
        )
    if known.flat[:size].any():
        notes.append(
            "some coefficients have no finite maximum: the noise of the records is larger than "
            "what they say of them"
        )
    if known.flat[size:].any():
        notes.append(
            "of some combinations of the perturbed predictors the records suggest that nobody has "
            "them, so coefficients of their model have no finite maximum"
        )
    if likelihood.c > 1:
        notes.append(
            "each combination of values in clear has its own chances of the perturbed predictors"
            if saturated
            else "the chances of the perturbed predictors given those in clear are a multinomial "
            "logit on the terms in clear; where they depend on them in another way, slopes are "
            "biased"
        )
    return notes
