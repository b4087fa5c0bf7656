"""Signing in at an OpenID Connect provider, in Chromium: there, back, and out."""

from __future__ import annotations

import time

from playwright.sync_api import expect

from dashboard_browser import WIDER, violations
from hushpoll_fleet.demo.processes import Server
from hushpoll_server.services.people.users import Users
from hushpoll_server.store.database import Database
from hushpoll_server.store.users import UserStore
from hushpoll_shared.spelling.clock import SystemClock
from oidc_provider import SECRET, oidc_provider

ADA = "ada@example.org"


def test_user_signs_in_at_the_provider_and_signs_out(browser, tmp_path):
    (tmp_path / "secret").write_text(SECRET)
    with oidc_provider(lambda: int(time.time())) as provider:
        provider.sign_in("subject-1", ADA)
        options = {**provider.settings, "OIDC_CLIENT_SECRET_FILE": str(tmp_path / "secret")}
        del options["OIDC_CLIENT_SECRET"]
        flags = [
            part
            for name, value in options.items()
            for part in ("--" + name.lower().replace("_", "-"), value)
        ]
        with Server(tmp_path, options=flags) as server:
            database = Database(f"sqlite:///{tmp_path}/hushpoll.sqlite", pool_size=1)
            Users(UserStore(database), SystemClock()).add(ADA, None, {"*": "admin"})
            database.close()
            page = browser.new_page(viewport={"width": 360, "height": 740})
            page.goto(f"{server.url}/dashboard/people")
            link = page.get_by_role("link", name="Sign in with Example")
            assert page.evaluate(WIDER) <= 0
            assert violations(page) == []
            link.click()
            expect(page).to_have_url(f"{server.url}/dashboard/people")
            expect(page.get_by_text("without a password")).to_be_visible()
            page.get_by_role("button", name="Sign out").click()
            expect(link).to_be_visible()
            provider.denies = True
            link.click()
            expect(page.get_by_role("alert")).to_contain_text("The provider did not sign you in")
            page.close()
        log = (tmp_path / "server.log").read_text(encoding="utf-8")
    assert "provider-sign-in-refused" in log
    for secret in (SECRET, ADA, *provider.tokens):
        assert secret not in log
