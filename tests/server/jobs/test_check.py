"""The counts that are kept are compared with the segments, and made anew where they differ."""

from __future__ import annotations

from hushpoll_server.jobs.check import check_counts
from sample_survey import VERSION


def test_counts_that_differ_from_the_segments_are_found_and_repaired(site):
    site.fill(site.publish(), 30)
    site.get(f"{VERSION}/estimates")
    settings = site.services.settings
    right = [("work version 1: 30 reports, counts right", True)]
    assert list(check_counts(settings, repair=False)) == right
    site.execute("UPDATE aggregates SET reports = 29")
    differs = "work version 1: 30 reports, counts of 29 differ"
    assert list(check_counts(settings, repair=False)) == [(differs, False)]
    assert list(check_counts(settings, repair=True)) == [(differs + ", counted again", False)]
    assert list(check_counts(settings, repair=False)) == right


def test_counts_of_a_release_are_checked_too(site):
    site.fill(site.publish(release="daily"), 20)
    site.clock.advance(24 * 3600)
    site.services.sealing.sweep(site.services.surveys.now())
    site.fill(site.services.surveys.published(site.row()), 5)
    site.run_job("seal")
    settings = site.services.settings
    assert [same for _, same in check_counts(settings, repair=False)] == [True]
    site.execute("UPDATE releases SET reports = 19")
    assert [same for _, same in check_counts(settings, repair=True)] == [False]
    assert [same for _, same in check_counts(settings, repair=False)] == [True]
    assert site.get(f"{VERSION}/estimates").json["n"] == 20
