"""A question over all waves: the share of one answer, or the mean, in each version of a survey."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from hushpoll_server.charts.rows import BoundedShare
from hushpoll_server.dashboard.surveys import answered, seen
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.results.waves import waves_of
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.waves import trend_of
from hushpoll_server.survey_reports.markup.shown import html_of_bands

LABEL_ID = "shows-waves"


class OverVersions(NamedTuple):
    """What the page shows: the finding, the picture, and what it shows in a sentence."""

    title: str
    picture: Markup
    sentence: str


def over_versions(
    row: VersionRow,
    name: str,
    own: BoundedShare,
    *,
    n: int,
    confidence: float,
    ends: tuple[float, float] | None = None,
) -> OverVersions | None:
    """Return one number of a question in each version that asks it with the same answers.

    Parameters
    ----------
    row : VersionRow
        The version that is looked at.
    own : mapping
        The share of an answer, or the mean, of that version.
    n : int
        How many answered it there.
    confidence : float
        Of each interval.
    ends : (float, float), optional
        Of the scale of a mean, the lower first.

    Returns
    -------
    OverVersions or None
        None where fewer than two versions can tell it.
    """
    others = [one for one in services().surveys.all() if one.name == row.name and one.id != row.id]
    waves = waves_of(
        row, others, [name], confidence=confidence, seen=seen, over=lambda _: True, ask=answered
    )
    found = trend_of(name, own, waves, version=row.version, n=n, answer=own["category"], ends=ends)
    if found is None:
        return None
    return OverVersions(
        found.title, html_of_bands(found.chart.panels, LABEL_ID), found.chart.sentence
    )
