"""The paper's data sets from their public sources, cleaned as the paper did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hushpoll_training.datasets import acs_coverage, adult, lsac
from hushpoll_training.datasets.dataset import Dataset, Recipe
from hushpoll_training.datasets.source import Source, download

__all__ = ["LOADERS", "Dataset", "Loader", "Recipe", "Source", "download"]


@dataclass(frozen=True, slots=True)
class Loader:
    """How a data set is had.

    Attributes
    ----------
    recipe : Recipe
        What is known of it.
    source : Source
        The public file.
    clean : callable
        From that file's path to the data set.
    """

    recipe: Recipe
    source: Source
    clean: Callable[[Path], Dataset]


LOADERS: Final[Mapping[str, Loader]] = {
    module.RECIPE.name: Loader(module.RECIPE, module.SOURCE, module.clean)
    for module in (adult, acs_coverage, lsac)
}
"""By the name of the command."""
