"""One application serves the tests of a session one after the other, and carries nothing along."""

from __future__ import annotations

from functools import partial

import pytest

from lent_applications import Applications, ReadSettings
from sample_survey import VERSION

pytestmark = pytest.mark.sqlite


@pytest.fixture
def applications():
    """Applications of this test alone."""
    return Applications()


@pytest.fixture
def make_whole(site_maker, applications):
    """Sites with the applications of this test."""
    return partial(site_maker, applications)


def test_the_next_site_has_the_application_and_nothing_of_the_last(
    make_site, applications, new_database_url
):
    first = make_site()
    first.fill(first.publish(title="The first"), 5)
    old = first.admin
    assert first.get(f"{VERSION}/estimates").status_code == 200
    assert "The first" in first.get("/s/work").text
    first.stop()
    second = make_site(DATABASE_URL=new_database_url)
    assert second.app is first.app
    assert second.get(f"{VERSION}/estimates").status_code == 404
    assert second.get(f"{VERSION}/estimates", headers=old).status_code == 401
    assert second.get("/s/work").status_code == 404
    second.publish(title="The second")
    page = second.get("/s/work").text
    assert "The second" in page
    assert "The first" not in page
    assert [line.act for line in second.services.actions.newest(9)] == ["published"]


def test_two_sites_at_once_have_an_application_each(make_site, applications):
    first, second = make_site(), make_site()
    assert first.app is not second.app
    assert applications.count == 2


@pytest.mark.parametrize(
    "setting", [{"MAX_BODY_BYTES": 2_000_000}, {"BEHIND_TLS": True}, {"TESTING": True}]
)
def test_a_setting_that_the_application_was_built_of_makes_another(make_site, setting):
    first = make_site()
    first.stop()
    other = make_site(**setting)
    assert other.app is not first.app
    other.stop()
    assert make_site().app is first.app


def test_a_setting_of_the_services_alone_makes_no_other(make_site):
    first = make_site()
    first.stop()
    assert make_site(SEAL_AT=77).app is first.app


def test_an_application_that_a_test_has_changed_is_lent_no_more(make_site, applications):
    first = make_site()
    first.app.add_url_rule("/page-of-a-test", "page", lambda: "x")
    first.stop()
    other = make_site()
    assert other.app is not first.app
    assert other.get("/page-of-a-test").status_code == 404


def test_what_a_stopped_site_left_behind_has_no_services(make_site):
    site = make_site()
    site.stop()
    with pytest.raises(AssertionError, match="surveys is asked of an application that no site has"):
        _ = site.app.extensions["hushpoll"].surveys


def test_settings_note_what_is_read(make_site):
    settings = ReadSettings(make_site().services.settings)
    assert settings.seen == {}
    assert settings.behind_tls is False
    assert settings.seen == {"behind_tls": False}
