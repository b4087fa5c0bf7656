"""Bounds on how far records can change a belief; they follow from epsilon and hold for any prior.

For any two answers, Pr[z | a] <= e^epsilon * Pr[z | b]. The same then holds for any two mixtures of
answers, so whatever is asked about a respondent, and whatever was known before, a record changes
the odds of it by at most the factor e^epsilon, up or down. The records of several questions are
drawn independently of each other given the answers, so their factors multiply: the epsilons add up.
(Kasiviswanathan and Smith, "On the semantics of differential privacy: a Bayesian formulation",
Journal of Privacy and Confidentiality 6(1), 2014, for the general statement.)

The bounds are rounded exactly, and outwards: none of them understates what is revealed.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hushpoll_protocols.errors import refusal_of, show
from hushpoll_protocols.thresholds import ceil_in_exp, floor_in_exp


def odds_factor(epsilon: Decimal, parts: int = 1) -> int:
    """Return ceil(parts * e^epsilon), the largest factor by which the odds of anything can change.

    Epsilon, in (0, 64], is of one question or summed over several.
    """
    return ceil_in_exp(lambda e: parts * e, epsilon)


def posterior_bounds(prior: Fraction, epsilon: Decimal) -> tuple[int, int]:
    """Return the smallest and the largest probability that a belief can have after the records.

    In thousandths: floor(1000 prior / (prior + (1-prior) e^epsilon)) and ceil(1000 prior e^epsilon
    / (prior e^epsilon + 1 - prior)). Refuses a prior outside (0, 1): 0 and 1 are what nothing can
    change.
    """
    if not 0 < prior < 1:
        raise refusal_of("prior")(
            f"is {show(prior)}, outside (0, 1); give a probability that can change"
        )
    rest = 1 - prior
    return (
        floor_in_exp(lambda e: 1000 * prior / (prior + rest * e), epsilon),
        ceil_in_exp(lambda e: 1000 * prior * e / (prior * e + rest), epsilon),
    )
