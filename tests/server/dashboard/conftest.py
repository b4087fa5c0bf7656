"""A browser without scripts for the dashboard's pages, signed in as a user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from argon2 import PasswordHasher
from playwright.sync_api import Browser
from werkzeug.test import TestResponse

from dashboard_browser import chromium

PASSWORD = "correct horse battery"
TOKEN = re.compile(r'name="form_token" value="([^"]*)"')


@dataclass
class Visitor:
    """Follows links and sends forms, as a browser without scripts does."""

    site: Any
    client: Any = field(init=False)

    def __post_init__(self) -> None:
        self.client = self.site.client()

    def get(self, path: str, **options: Any) -> TestResponse:
        return self.client.get(f"/dashboard{path}", **options)

    def send(self, path: str, on: str, **fields: Any) -> TestResponse:
        """Send a form that stands on the page `on`."""
        page = self.get(on)
        assert page.status_code == 200, page.text
        token = TOKEN.search(page.text)[1]
        return self.client.post(f"/dashboard{path}", data={"form_token": token, **fields})

    def sign_in(self, name: str, password: str = PASSWORD, **fields: Any) -> TestResponse:
        return self.send("/sign-in", on="/sign-in", name=name, password=password, **fields)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def visit(site):
    """Return a visitor; given a name and roles, one who is signed in."""
    site.services.users._hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)

    def visit(name: str | None = None, *, at: Any = None, **roles: str) -> Visitor:
        visitor = Visitor(at or site)
        if name is not None:
            held = {("*" if survey == "every" else survey): role for survey, role in roles.items()}
            site.services.users.add(name, PASSWORD, held)
            assert visitor.sign_in(name).status_code == 303
        return visitor

    return visit


@pytest.fixture
def release_two_groups(site):
    """Return what publishes versions of surveys and releases 300 reports of two groups in each."""

    def release(*versions: tuple[str, int]) -> Any:
        for name, version in versions:
            published = site.publish(name=name, version=version, title=f"Title of {name}")
            site.fill(published, 150)
            site.fill(published, 150, gender="Female", age="50s")
        site.services.sealing.sweep(site.services.surveys.now())
        for row in site.services.surveys.all():
            site.services.sealing.before_question(row)
        return site

    return release
