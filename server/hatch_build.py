"""Packs what lies outside of ``server``: folders under ``client``, and the project's address.

Simulated respondents and the browser SDK run where respondents do, so their sources are there; but
no device needs them, so they are not in the base install.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

SETTING = "project-url.txt"

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
        if self.target_name == "sdist" and not (here / SETTING).exists():
            build_data["force_include"][str(here.parent / SETTING)] = SETTING
        if version == "editable" or (here / FROM_CLIENT[0]).is_dir():
            return
        bundle = (BUNDLE,) if (here.parent / "client" / BUNDLE).is_dir() else ()
        for name in FROM_CLIENT + bundle:
            build_data["force_include"][str(here.parent / "client" / name)] = name


class Addresses(MetadataHookInterface):
    """Fills in the project's URLs, if there is an address of the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the project URLs; the file lies here in a source distribution, else beside us."""
        here = Path(self.root)
        file = here / SETTING if (here / SETTING).exists() else here.parent / SETTING
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        url = next((line.rstrip("/") for line in lines if line and not line.startswith("#")), "")
        changes = f"{url}/blob/main/CHANGELOG.md"
        metadata["urls"] = {"Repository": url, "Changelog": changes} if url else {}
