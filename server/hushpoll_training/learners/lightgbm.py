"""LightGBM's gradient boosted trees, reproducible from seed, parameters and rows.

**On a Dask cluster** (extra ``scale``), for rows too many for one machine, LightGBM's processes
grow the same trees together and exchange histograms over TCP connections of their own
(``lightgbm.dask``). The model is one like any other, saved and used in the same way.

It is not the single machine's model to the last digit: bins are found and sums are added in another
order. Its metrics lie within what another seed does to them, which a test holds it to. There is no
early stopping: LightGBM offers none there.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, ClassVar, Final

import lightgbm
import numpy as np
import numpy.typing as npt

from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Fitted, Learner, Span, UnsoundModel
from hushpoll_training.learners.lightgbm_text import MOST_LEAVES, UnsoundText, check_text
from hushpoll_training.learners.lightgbm_trial import TrialFailed, try_text
from hushpoll_training.learners.parameters import Range

SETTINGS: JsonObject = {
    "objective": "binary",
    "deterministic": True,
    # deterministic asks for one of the two layouts, instead of timing both
    "force_row_wise": True,
    "verbosity": -1,
}
"""What hushpoll decides for LightGBM and no user chooses."""

PREDICT_ROWS = 65_536
"""Rows that are scored at a time, which bounds the memory of the result."""

TREES = "model.txt"

_NO_EARLY_STOPPING = (
    "early stopping is not offered: it would need rows to validate on, which a cluster has no way "
    "for; choose n_estimators with hushpoll tune"
)


@dataclass(frozen=True)
class LightGBM(Learner):
    """LightGBM's binary classifier.

    LightGBM ignores a misspelt parameter without a word, so names and bounds are checked. Names are
    those of its scikit-learn interface, which the literature uses.
    """

    name: ClassVar[str] = "lightgbm"
    label: ClassVar[str] = "LightGBM"
    description: ClassVar[str] = "LightGBM, gradient boosted trees, binary"
    bounds: ClassVar[Mapping[str, Range]] = {
        "n_estimators": Range(int, 1, 1_000_000, 100, job_limit=10_000),
        "learning_rate": Range(float, 1e-6, 1.0, 0.1),
        "num_leaves": Range(int, 2, MOST_LEAVES, 31, job_limit=4096),
        "max_depth": Range(int, -1, 10_000, -1),
        "min_child_samples": Range(int, 0, 1_000_000_000, 20),
        "min_child_weight": Range(float, 0, math.inf, 1e-3),
        "min_split_gain": Range(float, 0, math.inf, 0.0),
        "reg_alpha": Range(float, 0, math.inf, 0.0),
        "reg_lambda": Range(float, 0, math.inf, 0.0),
        "subsample": Range(float, 1e-6, 1.0, 1.0),
        "subsample_freq": Range(int, 0, 1_000_000, 0),
        "colsample_bytree": Range(float, 1e-6, 1.0, 1.0),
        "scale_pos_weight": Range(float, 1e-9, 1e9, 1.0),
        "max_bin": Range(int, 2, 65_535, 255, job_limit=1024),
    }
    refused: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            *("early_stopping", "early_stopping_round", "early_stopping_rounds"),
            *("n_iter_no_change", "early_stopping_min_delta"),
        ),
        _NO_EARLY_STOPPING,
    )
    # The paper's (section 5.1): its text gives the intervals; its code goes through the numbers of
    # trees in steps of 50.
    space: ClassVar[Mapping[str, Span]] = {
        "max_depth": Span(3, 50, 1),
        "n_estimators": Span(50, 2000, 50),
        "learning_rate": Span(0.01, 0.25, None),
    }
    progress_unit: ClassVar[str] = "boosting rounds"
    takes_missing: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = (TREES,)
    distributions: ClassVar[tuple[str, ...]] = ("lightgbm",)

    @property
    def steps(self) -> int:
        """Boosting rounds."""
        return int(self.parameters["n_estimators"])

    def fit(self, design: Design, options: FitOptions) -> Trees:
        """Fit LightGBM, equal to its scikit-learn classifier at the same parameters.

        Refuses labels of a single class.
        """
        design.check_classes()
        values = dict(self.parameters)
        rounds = int(values.pop("n_estimators"))
        settings = {**values, **SETTINGS, "seed": options.seed, "num_threads": options.threads}
        table = lightgbm.Dataset(
            design.table,
            label=design.label,
            weight=design.weight,
            feature_name=list(safe_names(design.names)),
            params=settings,
        )

        def report(state: Any) -> None:
            if options.on_progress is not None:
                options.on_progress(state.iteration + 1, rounds)

        booster = lightgbm.train(settings, table, num_boost_round=rounds, callbacks=[report])
        return Trees(self, booster)

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> Trees:
        """Read trees, after a check of their structure, which LightGBM does not check itself."""
        text = files[TREES].decode("latin-1")
        try:
            check_text(text, safe_names(names))
            if trial:
                try_text(text)
            return Trees(self, lightgbm.Booster(model_str=text))
        except (UnsoundText, TrialFailed) as error:
            raise UnsoundModel(TREES, str(error)) from None
        except (ValueError, lightgbm.basic.LightGBMError):
            raise UnsoundModel(TREES, "is not taken by LightGBM") from None

    def fit_on_cluster(
        self, client: Any, parts: Sequence[Any], sizes: Sequence[int], names: tuple[str, ...],
        options: FitOptions,
    ) -> Trees:  # fmt: skip
        """Grow the same trees on all workers together; see the head of this module."""
        settings = {**self.parameters, **SETTINGS, "random_state": options.seed}
        return Trees(self, fit_parts(client, parts, sizes, len(names), settings)).renamed(names)

    def reference_classifier(self, options: FitOptions) -> Any:
        """Return LightGBM's own scikit-learn classifier, unfitted."""
        settings: dict[str, Any] = {**self.parameters, "objective": "binary", "verbosity": -1}
        return lightgbm.LGBMClassifier(
            random_state=options.seed, n_jobs=options.threads, **settings
        )


@dataclass(frozen=True)
class Trees(Fitted):
    """Trees that LightGBM has grown."""

    learner: LightGBM
    booster: lightgbm.Booster

    def scores(self, table: Table, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the trees' probability of a positive label per row, f64[n] in (0, 1)."""
        parts = [
            np.asarray(
                self.booster.predict(table[start : start + PREDICT_ROWS], num_threads=threads)
            )
            for start in range(0, table.shape[0], PREDICT_ROWS)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def save(self) -> dict[str, bytes]:
        """Return the trees in LightGBM's own text format, which any LightGBM reads."""
        return {TREES: self.booster.model_to_string().encode()}

    def renamed(self, names: tuple[str, ...]) -> Trees:
        """Return the same trees over columns of other names."""
        text = self.booster.model_to_string()
        before = f"\nfeature_names={' '.join(self.booster.feature_name())}\n"
        after = f"\nfeature_names={' '.join(safe_names(names))}\n"
        return Trees(self.learner, lightgbm.Booster(model_str=text.replace(before, after, 1)))


def safe_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names for LightGBM, which refuses JSON's special characters and blanks.

    The number, which is the column's place, keeps apart names that the substitution makes alike.
    """
    return tuple(
        f"f{place}_{re.sub('[^0-9A-Za-z_.-]', '_', name)}" for place, name in enumerate(names)
    )


if TYPE_CHECKING:
    import lightgbm

PATIENCE_MINUTES: Final = 5
"""For which a worker waits for the others; LightGBM's own default is two hours."""


def fit_parts(
    client: Any, parts: Sequence[Any], sizes: Sequence[int], columns: int,
    settings: Mapping[str, Any],
) -> lightgbm.Booster:  # fmt: skip
    """Fit to rows that the workers hold; see :meth:`.learner.Learner.fit_on_cluster`."""
    from lightgbm.dask import DaskLGBMRegressor

    # The classifier would renumber the classes that each worker happens to hold. The objective is
    # the same, and labels are 0 and 1 already.
    learner = DaskLGBMRegressor(
        client=client,
        **settings,
        tree_learner="data",
        # A worker would drop a column that none of its own rows can be split by, and with it the
        # column of all: rare categories, and accuracy, were lost. Splits are checked anyway.
        feature_pre_filter=False,
        time_out=PATIENCE_MINUTES,
    )
    tables = _joined([part[0] for part in parts], [(size, columns) for size in sizes])
    labels = _joined([part[1] for part in parts], [(size,) for size in sizes])
    # LightGBM gets the client, and asks Dask for the current one all the same. It also prints.
    with client.as_current(), warnings.catch_warnings(), redirect_stdout(StringIO()):
        # A warning about its own default: threads are those of the workers.
        warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored", UserWarning)
        learner.fit(tables, labels)
    return learner.booster_


def _joined(parts: list[Any], shapes: list[tuple[int, ...]]) -> Any:
    """Return a Dask array of float32 whose blocks are delayed, dense or sparse."""
    import dask.array

    untyped: Any = dask.array
    blocks = [
        untyped.from_delayed(part, shape=shape, dtype=np.float32)
        for part, shape in zip(parts, shapes, strict=True)
    ]
    return untyped.concatenate(blocks)
