"""Packs the package ``hushpoll_lab``, which lies beside this folder, and the project's address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

SETTING = "project-url.txt"
PACKAGE = "hushpoll_lab"


class PackageBeside(BuildHookInterface[Any]):
    """Adds `PACKAGE` to what is built from a checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Tell the builder where the package is.

        An editable install finds it by its path, and in an unpacked source distribution it is in
        place already.
        """
        here = Path(self.root)
        if self.target_name == "sdist" and not (here / SETTING).exists():
            build_data["force_include"][str(here.parent.parent / SETTING)] = SETTING
        if version == "editable" or (here / PACKAGE).is_dir():
            return
        build_data["force_include"][str(here.parent / PACKAGE)] = PACKAGE


class Addresses(MetadataHookInterface):
    """Fills in the project's URLs, if there is an address of the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the project URLs; the file lies here in a source distribution, else above."""
        here = Path(self.root)
        file = here / SETTING if (here / SETTING).exists() else here.parent.parent / SETTING
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        url = next((line.rstrip("/") for line in lines if line and not line.startswith("#")), "")
        changes = f"{url}/blob/main/CHANGELOG.md"
        metadata["urls"] = {"Repository": url, "Changelog": changes} if url else {}
