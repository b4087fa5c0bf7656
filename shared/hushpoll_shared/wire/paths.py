"""The paths of the API that both sides name: its prefix, and those of devices."""

from __future__ import annotations

from typing import Final

API_PREFIX: Final = "/api/v1"
"""What every path of the API begins with, behind the address of the server."""


def survey_path(survey: str) -> tuple[str, ...]:
    """Return the path of a survey, in parts."""
    return "surveys", survey


def version_path(survey: str, version: int | str) -> tuple[str, ...]:
    """Return the path of a survey's version."""
    return *survey_path(survey), "versions", str(version)


def reports_path(survey: str) -> tuple[str, ...]:
    """Return where reports are sent."""
    return *survey_path(survey), "reports"


def withdrawals_path(survey: str) -> tuple[str, ...]:
    """Return where reports are taken back."""
    return *survey_path(survey), "withdrawals"


def redemptions_path(survey: str) -> tuple[str, ...]:
    """Return where invitations are redeemed."""
    return *survey_path(survey), "redemptions"
