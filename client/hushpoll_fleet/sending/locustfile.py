"""Load for Locust: each user randomises like a device and sends one report after the other.

Run it with ``locust --locustfile``, the survey's name in ``HUSHPOLL_SURVEY`` and the server's
address as ``--host``. Every report is a new respondent's: the survey must be open and take no
tokens.
"""

from __future__ import annotations

import os
import random
from typing import Any

from locust import HttpUser, constant, task
from locust.exception import StopUser

from hushpoll_client import Published, randomize
from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE


class Respondents(HttpUser):
    """Respondents one after the other, without a pause."""

    wait_time = constant(0)
    published: Published

    def on_start(self) -> None:
        """Fetch the survey and check it, as a device does."""
        name = os.environ.get("HUSHPOLL_SURVEY", "")
        with self.client.get(
            f"/api/v1/surveys/{name}", name="/api/v1/surveys/[name]", catch_response=True
        ) as answer:
            if not name or answer.status_code != 200:
                answer.failure(f"HUSHPOLL_SURVEY is {name!r}, which the server does not have")
                raise StopUser
            self.published = Published.from_json(answer.content)

    @task
    def answer(self) -> None:
        """Send one report; refusals of load, 429 and 503, are counted apart."""
        answers: dict[str, Any] = {
            attribute.name: random.choice(attribute.domain)
            for attribute in self.published.attributes
        }
        report = randomize(self.published, answers)
        with self.client.post(
            f"/api/v1/surveys/{self.published.name}/reports",
            data=report.to_json(),
            headers={"Content-Type": JSON_MEDIA_TYPE},
            name="/api/v1/surveys/[name]/reports",
            catch_response=True,
        ) as answer:
            if answer.status_code in (429, 503):
                waits = "Retry-After" in answer.headers
                answer.failure(
                    f"{answer.status_code}, Retry-After {'given' if waits else 'missing'}"
                )
