"""Addresses and forms with a character that PostgreSQL cannot hold are refused like others."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.postgresql


def test_null_character_in_an_address_or_a_form_is_no_fault_of_the_server(site, visit):
    site.publish()
    admin = visit("root", every="admin")
    compared = "/surveys/work/versions/1/models/compare?model=%00&model=x"
    for path in ("/jobs/%00/result", "/surveys/%00/versions/1", compared):
        assert admin.get(path).status_code == 404, path
    for path in ("/jobs/%00/cancel", "/tokens/%00/revoke", "/account/sessions/%00/end"):
        assert admin.send(path, "/account").status_code == 404, path
    for path in ("/people/%00/role", "/people/%00/remove"):
        assert admin.send(path, "/account", survey="\0", role="reader").status_code == 404, path
    assert admin.send("/people/root/role", "/account", survey="\0", role="x").status_code == 422
    stranger = visit()
    assert stranger.sign_in("\0").status_code == 401
    stranger.client.set_cookie("hushpoll_session", "%00", path="/dashboard")
    assert stranger.get("/").status_code == 303
