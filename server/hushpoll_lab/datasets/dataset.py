"""A cleaned data set: integer codes, their categories, and the survey that would ask for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.data.coded import attribute_name


@dataclass(frozen=True, slots=True)
class Recipe:
    """A data set before it is read: the roles and the rows that the paper gives it.

    Attributes
    ----------
    name, title : str
        The survey's.
    target, positive : str
        Column and its positive category.
    protected, privileged, unprivileged : str
        Column and its two groups.
    sensitive : tuple of str
        Columns that the paper perturbs.
    questions : mapping of str to str
        What each column asks, in the order of the columns; the target included.
    rows : int
        How many the paper has.
    sha256 : str
        The hash of the paper's codes, written as :meth:`Dataset.csv` writes them.
    """

    name: str
    title: str
    target: str
    positive: str
    protected: str
    privileged: str
    unprivileged: str
    sensitive: tuple[str, ...]
    questions: Mapping[str, str]
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """Rows as codes.

    Attributes
    ----------
    recipe : Recipe
        What it is.
    codes : mapping of str to int64[n]
        By column, in the order of the recipe's questions; codes in [0, k).
    categories : mapping of str to tuple of str
        By column, in the order of the codes.
    """

    recipe: Recipe
    codes: Mapping[str, npt.NDArray[np.int64]]
    categories: Mapping[str, tuple[str, ...]]

    @property
    def rows(self) -> int:
        """Number of people."""
        return len(next(iter(self.codes.values())))

    @property
    def is_the_papers(self) -> bool:
        """Whether the codes are the paper's, row for row."""
        return hashlib.sha256(self.csv()).hexdigest() == self.recipe.sha256

    def csv(self) -> bytes:
        """Return the codes as CSV with a header."""
        return pd.DataFrame(self.codes).to_csv(index=False, lineterminator="\n").encode()

    def answers_csv(self) -> bytes:
        """Return the rows in the manifest's terms: names of attributes, and categories.

        A column of one category is left out, like from the manifest.
        """
        columns = {}
        for name in self._questions():
            labels = np.asarray([escaped(label) for label in self.categories[name]], dtype=object)
            columns[escaped(attribute_name(name))] = labels[self.codes[name]]
        return pd.DataFrame(columns).to_csv(index=False, lineterminator="\n").encode()

    def manifest(
        self, *, protocol: str = "GRR", split: str = "uniform", epsilon: str = "4"
    ) -> JsonMembers:
        """Return the draft of a survey that asks for these columns; the paper's roles.

        A column of one category has nothing to ask and is left out.

        Raises
        ------
        InvalidParameter
            For a protocol, split or epsilon that a manifest refuses.
        """
        recipe = self.recipe
        attributes = []
        for name in self._questions():
            attribute: JsonMembers = {
                "name": attribute_name(name),
                "role": "sensitive" if name in recipe.sensitive else "plain",
                "categories": list(self.categories[name]),
                "question": recipe.questions[name],
            }
            if name == recipe.target:
                attribute |= {"role": "target", "positive": recipe.positive}
            attributes.append(attribute)
        draft = {
            "name": recipe.name,
            "version": 1,
            "title": recipe.title,
            "epsilon": epsilon,
            "split": split,
            "protocol": protocol,
            "attributes": attributes,
            "protected": {
                "attribute": attribute_name(recipe.protected),
                "privileged": [recipe.privileged],
                "unprivileged": [recipe.unprivileged],
            },
        }
        return Manifest.from_dict(draft).to_dict()

    def _questions(self) -> list[str]:
        return [name for name in self.codes if len(self.categories[name]) > 1]


def ranked(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Return each value's place among the distinct ones, int64[n], and those, ascending."""
    distinct, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), distinct
