"""The paper's data sets from their public sources, cleaned as the paper did."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from hushpoll_lab.datasets import acs_coverage, adult, lsac
from hushpoll_lab.datasets.dataset import Dataset, Recipe
from hushpoll_lab.datasets.source import Source, download
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show

__all__ = ["LOADERS", "Dataset", "Loader", "Recipe", "Source", "download", "load"]


class Loader(NamedTuple):
    """A data set's recipe, its public file, and the function that makes the one of the other."""

    recipe: Recipe
    source: Source
    clean: Callable[[Path], Dataset]


LOADERS: Final[Mapping[str, Loader]] = {
    module.RECIPE.name: Loader(module.RECIPE, module.SOURCE, module.clean)
    for module in (adult, acs_coverage, lsac)
}
"""By the name of the command."""


def load(name: str, path: Path | None = None, *, url: str | None = None) -> Dataset:
    """Load a data set of the paper, cleaned as the paper did.

    Parameters
    ----------
    name : str
        ``adult``, ``acs-coverage`` or ``lsac``.
    path : Path, optional
        The raw file; by default it is downloaded.
    url : str, optional
        A mirror to download it from.

    Raises
    ------
    InvalidParameter
        For another name, or a file of something else.
    TransportError, HushpollError
        If it cannot be downloaded whole.
    OSError
        If it cannot be read or written.
    """
    if name not in LOADERS:
        raise InvalidParameter(
            f"{show(name)} is no data set; use one of {', '.join(LOADERS)}", field="name"
        )
    loader = LOADERS[name]
    if path is not None:
        return loader.clean(path)
    with tempfile.TemporaryDirectory() as folder:
        return loader.clean(download(loader.source, Path(folder), url=url))
