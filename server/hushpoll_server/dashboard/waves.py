"""A question over all waves: the share of one answer in each version of a survey."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from hushpoll_protocols.errors import HushpollError
from hushpoll_server.charts.bands import bands_of
from hushpoll_server.charts.rows import Share, Unknown
from hushpoll_server.dashboard.surveys import answered, seen
from hushpoll_server.http.endpoint import services
from hushpoll_server.reports.shown import html_of_bands
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.qualifying.possible import SHARES
from hushpoll_shared.qualifying.verdict import INFORMATIVE
from hushpoll_shared.queries.estimates import Estimates

MOST_WAVES: Final = 12
"""Versions of a picture, the newest ones."""
LABEL_ID: Final = "shows-waves"


@dataclass(frozen=True)
class Waves:
    """The share of an answer over versions.

    Attributes
    ----------
    category : str
        The answer.
    versions : tuple of int
        Those in the picture.
    noisy : tuple of int
        Versions that have the question and whose reports cannot tell it.
    picture : Markup
        A band for each version, from the first.
    """

    category: str
    versions: tuple[int, ...]
    noisy: tuple[int, ...]
    picture: Markup


def waves_of(row: VersionRow, name: str, category: str, *, confidence: float) -> Waves | None:
    """Return the share of an answer in each version that asks the question with the same answers.

    None where fewer than two versions can tell it.
    """
    domain = next(one.domain for one in seen(row).attributes if one.name == name)
    rows: list[Share | Unknown] = []
    versions, noisy = [], []
    waves = [one for one in services().surveys.all() if one.name == row.name]
    for wave in sorted(waves, key=lambda one: one.version)[-MOST_WAVES:]:
        try:
            asked = {one.name: one.domain for one in seen(wave).attributes}
            if asked.get(name) != domain:
                continue
            result = answered(wave, Estimates(confidence=confidence))
        except HushpollError:  # it has no results yet, or none that this reader may see
            continue
        if result.too_noisy(name) or (
            result.verdict is not None and result.verdict.says != INFORMATIVE
        ):
            noisy.append(wave.version)
            continue
        (estimates,) = (one for one in result.attributes if one.name == name)
        (share,) = (one for one in estimates.categories if one.category == category)
        versions.append(wave.version)
        rows.append(
            Share(
                category=f"Version {wave.version}",
                frequency=share.frequency,
                lower=share.lower,
                upper=share.upper,
            )
        )
    if len(rows) < 2:
        return None
    bands = bands_of(rows, possible=SHARES, main=f"Version {row.version}")
    return Waves(category, tuple(versions), tuple(noisy), html_of_bands((bands,), LABEL_ID))
