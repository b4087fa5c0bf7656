"""Packs the folders of this distribution that lie outside of ``server``, under ``client``.

Simulated respondents and the browser SDK run where respondents do, so their sources are there; but
no device needs them, so they are not in the base install.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FROM_CLIENT = (
    "hushpoll_fleet",
    # Of the browser SDK what the hosted page and the audit load; node wants to know its type.
    "hushpoll_client_js/package.json",
    "hushpoll_client_js/src",
    "hushpoll_client_js/tools",
    "hushpoll_client_js/bundle.json",
)
# Made by scripts/bundle, which needs node; without it, pages load the modules one by one.
BUNDLE = "hushpoll_client_js/dist"


class FoldersOfClient(BuildHookInterface[Any]):
    """Adds `FROM_CLIENT` to what is built from a checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Tell the builder where the folders are.

        An editable install finds them by its path, and in an unpacked source distribution they are
        in place already.
        """
        here = Path(self.root)
        if version == "editable" or (here / FROM_CLIENT[0]).is_dir():
            return
        bundle = (BUNDLE,) if (here.parent / "client" / BUNDLE).is_dir() else ()
        for name in FROM_CLIENT + bundle:
            build_data["force_include"][str(here.parent / "client" / name)] = name
