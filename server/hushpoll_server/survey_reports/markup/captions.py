"""What stands at the foot of a picture: how it is read, how many reports, and where it is from."""

from __future__ import annotations

from hushpoll_server.charts.figures import level
from hushpoll_server.translations.speech import counted, say
from hushpoll_shared.survey.published import Published

RANDOMISED = "Answers were randomised on each device before they were sent."


def how_to_read_bands(confidence: float, *, interval: bool = True) -> str:
    """Return how dots and bands are read, which a page says once."""
    if not interval:
        return say("Dot: best estimate. This kind of estimate has no interval.")
    hundredth = round(100 * confidence, 6)
    if hundredth == int(hundredth):
        return say(
            "Dot: best estimate. Band: in {number} of 100 such surveys it has the truth inside.",
            number=f"{hundredth:g}",
        )
    return say(
        "Dot: best estimate. Band: in {share} of such surveys it has the truth inside.",
        share=level(confidence),
    )


def foot_of(
    published: Published,
    n: int,
    confidence: float,
    *,
    interval: bool = True,
    title: str | None = None,
) -> tuple[str, ...]:
    """Return the sentences at the foot of a picture, of `n` reports, that stands alone."""
    read = how_to_read_bands(confidence, interval=interval)
    if published.perturbed:
        read = f"{read} {say(RANDOMISED)}"
    source = counted(
        n,
        "n = {number} report. Source: {title}, version {version}.",
        "n = {number} reports. Source: {title}, version {version}.",
        title=title or published.title,
        version=published.version,
    )
    return read, source
