"""The services of the application that answers the present request."""

from __future__ import annotations

from typing import Final

from flask import Flask, current_app

from hushpoll_server.services.services import Services

EXTENSION: Final = "hushpoll"


def init_app(app: Flask, services: Services) -> None:
    """Give an application its services."""
    app.extensions[EXTENSION] = services


def services() -> Services:
    """Return the services of the current application."""
    found: Services = current_app.extensions[EXTENSION]
    return found
