"""Files of results that are replaced whole."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Replace a file whole: a reader, and a crash, find the old content or the new."""
    draft = path.with_name(f".{path.name}.writing")
    with draft.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Bring a folder's names onto the disk, so that a new file outlives a crash of the machine."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
