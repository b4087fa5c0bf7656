"""A small survey that has every kind of attribute."""

from __future__ import annotations

from typing import Any

import pytest

from hushpoll_shared import Manifest, Published


def draft_document() -> dict[str, Any]:
    return {
        "name": "work-and-health",
        "version": 1,
        "title": "Work and health",
        "description": "Two lines\nof text",
        "opens": "2026-01-31T09:00:00Z",
        "closes": "2026-02-28T09:00:00Z",
        "epsilon": "4.0",
        "split": {"weights": {"gender": 2, "age": "1", "country": 1, "income": 0.5}},
        "protocol": "SS",
        "attributes": [
            {
                "name": "gender",
                "role": "sensitive",
                "categories": ["Female", "Male"],
                "missing": "Prefer not to say",
                "question": "Your gender?",
            },
            {"name": "age", "role": "sensitive", "range": [17, 90]},
            {
                "name": "country",
                "role": "sensitive",
                "protocol": "OLH",
                "categories": ["Québec", "日本", "Österreich", "🏝 island"],
            },
            {"name": "education", "role": "plain", "categories": ["none", "school", "university"]},
            {"name": "postcode", "role": "plain", "range": [1, 300]},
            {
                "name": "income",
                "role": "target",
                "protocol": "GRR",
                "categories": ["<=26000", ">26000"],
                "positive": ">26000",
            },
        ],
        "protected": {"attribute": "gender", "unprivileged": "Female", "privileged": "Male"},
        "submission": "open",
        "minimum_batch": 100,
        "population": {"seed": 7, "gender": {"Female": 0.5, "Male": 0.5}},
    }


@pytest.fixture
def document() -> dict[str, Any]:
    return draft_document()


@pytest.fixture
def manifest(document: dict[str, Any]) -> Manifest:
    return Manifest.from_dict(document)


@pytest.fixture
def published(manifest: Manifest) -> Published:
    return manifest.resolve()


@pytest.fixture
def answers() -> dict[str, Any]:
    return {
        "gender": "Female",
        "age": 34,
        "country": "日本",
        "education": "school",
        "postcode": "300",
        "income": ">26000",
    }
