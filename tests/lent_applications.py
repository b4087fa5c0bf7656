"""Flask applications for the server's tests: one for each set of settings, for one site at a time.

Building one takes longer than most tests. What an application was built of decides which site may
have it: each setting that ``build`` or a view of it has read must have the same value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Flask

from hushpoll_server import asgi
from hushpoll_server.config.settings import Settings
from hushpoll_server.services.services import Services

_ABSENT = object()


class ReadSettings:
    """Settings that note which of them are read."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.seen: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._settings, name)
        if not callable(value):
            self.seen[name] = value
        return value


class PresentServices:
    """The services of the site that has the application now, for whatever part has kept them."""

    def __init__(self, services: Services) -> None:
        self.present: Services | None = services

    def __getattr__(self, name: str) -> Any:
        assert self.present is not None, f"{name} is asked of an application that no site has"
        return getattr(self.present, name)


@dataclass
class _Built:
    app: Flask
    testing: bool
    settings: ReadSettings
    services: PresentServices
    form: tuple[Any, ...]

    def fits(self, settings: Settings, testing: bool) -> bool:
        """Whether it is free, and would be built of these settings just so."""
        return (
            self.services.present is None
            and self.testing == testing
            and all(
                getattr(settings, name, _ABSENT) == value
                for name, value in self.settings.seen.items()
            )
        )


class Applications:
    """All that were built in this process and can be lent."""

    def __init__(self) -> None:
        self._built: list[_Built] = []
        self.count = 0
        self._build: Callable[..., Flask] = asgi.build

    def lend(self, settings: Settings, services: Services, *, testing: bool = False) -> Flask:
        """Return an application on these services, as ``build`` does."""
        if services.metrics is not None:
            # Its counters are part of the application.
            return self._build(settings, services, testing=testing)
        for built in self._built:
            if built.fits(settings, testing):
                built.services.present = services
                return built.app
        read, present = ReadSettings(settings), PresentServices(services)
        app = self._build(read, present, testing=testing)
        self.count += 1
        self._built.append(_Built(app, testing, read, present, _form(app)))
        return app

    def take_back(self, app: Flask) -> None:
        """Let another site have an application; one that a test has changed is lent no more."""
        for built in self._built:
            if built.app is app:
                built.services.present = None
        self._built = [
            built for built in self._built if built.app is not app or _form(app) == built.form
        ]


def _form(app: Flask) -> tuple[Any, ...]:
    """What a test may have changed: routes, hooks, handlers, extensions, configuration."""
    return (
        [str(rule) for rule in app.url_map.iter_rules()],
        {name: id(view) for name, view in app.view_functions.items()},
        {key: list(map(id, hooks)) for key, hooks in app.before_request_funcs.items()},
        {key: list(map(id, hooks)) for key, hooks in app.after_request_funcs.items()},
        {key: list(map(id, hooks)) for key, hooks in app.teardown_request_funcs.items()},
        {
            (key, code, kind): id(handler)
            for key, codes in app.error_handler_spec.items()
            for code, kinds in codes.items()
            for kind, handler in kinds.items()
        },
        {name: id(part) for name, part in app.extensions.items()},
        dict(app.config),
    )
