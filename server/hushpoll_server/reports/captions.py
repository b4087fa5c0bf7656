"""What stands at the foot of a picture: how it is read, how many reports, and where it is from."""

from __future__ import annotations

from hushpoll_shared.survey.published import Published

RANDOMISED = "Answers were randomised on each device before they were sent."


def how_to_read_bands(confidence: float, *, interval: bool = True) -> str:
    """Return how dots and bands are read, which a page says once."""
    if not interval:
        return "Dot: best estimate. This kind of estimate has no interval."
    hundredth = 100 * confidence
    inside = f"{hundredth:g} of 100" if hundredth == int(hundredth) else f"{hundredth:g} %"
    return f"Dot: best estimate. Band: in {inside} such surveys it has the truth inside."


def foot_of(
    published: Published, n: int, confidence: float, *, interval: bool = True
) -> tuple[str, ...]:
    """Return the sentences at the foot of a picture that stands alone.

    Parameters
    ----------
    published : Published
        The survey.
    n : int
        Reports that the picture is of.
    confidence : float
        Of its intervals, in (0, 1).
    interval : bool
        Whether it has any.
    """
    read = how_to_read_bands(confidence, interval=interval)
    if published.perturbed:
        read = f"{read} {RANDOMISED}"
    reports = f"n = {n:,} report{'' if n == 1 else 's'}"
    return read, f"{reports}. Source: {published.title}, version {published.version}."
