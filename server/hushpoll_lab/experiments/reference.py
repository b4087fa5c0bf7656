"""The reference engine: a cell the way the paper's code runs it, row by row.

The same rows, the same parameters and the same metrics as :mod:`hushpoll_training.runs.cell`;
perturbed by multi-freq-ldpy's clients one respondent at a time (:func:`encoder`), encoded
as one vector per respondent and attribute, joined as dense tables, and fitted by the learner's own
scikit-learn classifier. Not copied are: a domain taken from the data's distinct values (it is the
survey's), columns in the order of a set (they are in the survey's), and AUC of predicted labels
(``roc_auc`` ranks scores; ``balanced_acc`` is that number under its name).

A client takes a value and gives a perturbed indicator vector, with the library's own draws, hash
and parameters. What the library does in its own way is left to it, since the comparison is about
that: OLH's g is round(e^eps) + 1 (ours has the least variance at frequency 1/k), SS's subset size
is k / (e^eps + 1) rounded, THE sends noisy floats that are thresholded afterwards, and the seeds of
local hashing are cut to the 32 bits that its hash takes.

What would make its results wrong, or end the program, is bridged:

- it draws from two global generators, numpy's and numba's, of which callers commonly seed one:
  both are seeded here, and numpy's is put back;
- OLH's client allocates its whole range of g values for each respondent, terabytes at epsilon 30:
  where g would pass 65,536, the library's hash and its GRR client are called on 65,536 values;
- with some versions its GRR client swaps keep and lie above epsilon 21, where it should always keep
  the truth: such versions are refused;
- the indicators of local hashing, SS and THE are not in its interface; they are built row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_protocols.errors import HushpollError, InvalidParameter, MissingExtra
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import THRESHOLD, Target
from hushpoll_training.evaluation.evaluation import Evaluation, evaluate_scores
from hushpoll_training.learners.learner import FitOptions, Learner
from hushpoll_training.models.model import Codes, take
from hushpoll_training.runs.cell import TEST_SIZE, Stopwatch, split_rows


def reference_cell(
    published: Published,
    codes: Codes,
    learner: Learner,
    options: FitOptions,
    *,
    perturbed: bool = True,
    test_size: float = TEST_SIZE,
) -> tuple[Evaluation, Mapping[str, float]]:
    """Run a cell, or its baseline, the paper's way; see :func:`hushpoll_training.runs.cell.cell`.

    The learner has a scikit-learn classifier of its own. The records differ from ours at the same
    seed, being other draws. The seconds are those of ``perturb`` (encoding included: the two are
    one step here), ``fit`` and ``score``. Refuses a perturbed target, which this engine has no way
    for; needs multi-freq-ldpy in a version that gives right results.
    """
    check_clients()
    target = Target.clear(published)
    if published.attribute(target.name).oracle is not None:
        raise InvalidParameter(
            f"the target {target.name} is perturbed, which the engine reference cannot learn from; "
            "use the engine hushpoll, or a target in clear",
            field="engine",
        )
    train, test = split_rows(published, codes, options.seed, test_size)
    fitted, tested = take(codes, train), take(codes, test)
    label, answered = target.labels(fitted[target.name])
    clock = Stopwatch()
    with seeded([options.seed, int(published.digest, 16)]):
        features = _table(published, take(fitted, answered), perturbed=perturbed)
    clock.lap("perturb")
    model = learner.reference_classifier(options)
    model.fit(features, label[answered])
    clock.lap("fit")
    raw = np.asarray(model.predict_proba(_table(published, tested, perturbed=False)))[:, 1]
    evaluation = evaluate_scores(published, tested, raw, (raw > THRESHOLD).astype(np.int64))
    clock.lap("score")
    return evaluation, clock.laps


def _table(published: Published, codes: Codes, *, perturbed: bool) -> pd.DataFrame:
    parts = []
    for attribute in published.attributes:
        if attribute.role == "target":
            continue
        encode = one_hot_encoder(attribute.k)
        if perturbed and attribute.oracle is not None:
            oracle = attribute.oracle
            encode = encoder(oracle.name, attribute.k, float(oracle.epsilon))
        rows = [encode(value) for value in codes[attribute.name].tolist()]
        names = [f"{attribute.name}_{value}" for value in range(attribute.k)]
        parts.append(pd.DataFrame(rows, columns=names))
    return pd.concat(parts, axis=1)


LARGEST_G: Final = 65_536
"""As many values as a hash of ours takes at most."""

Encode = Callable[[int], npt.NDArray[np.float64]]
"""From a code in [0, k) to a perturbed indicator vector, f64[k] of {0, 1}."""


def encoder(protocol: str, k: int, epsilon: float) -> Encode:
    """Return what perturbs and encodes one respondent's value, of k at least 2.

    Needs multi-freq-ldpy.
    """
    clients = _clients()
    if protocol == "GRR":
        return lambda value: _subset([clients["GRR"](value, k, epsilon)], k)
    if protocol == "BLH":
        return lambda value: _hashed(clients["LH"](value, k, epsilon, False), k, 2)
    if protocol == "OLH":
        return _olh(clients, k, epsilon)
    if protocol in ("RAPPOR", "OUE"):
        optimal = protocol == "OUE"
        return lambda value: clients["UE"](value, k, epsilon, optimal)
    if protocol == "SS":
        return lambda value: _subset(clients["SS"](value, k, epsilon), k)
    if protocol == "THE":
        from scipy.optimize import minimize_scalar

        theta = minimize_scalar(
            clients["find_tresh"], bounds=[0.5, 1], method="bounded", args=(epsilon,)
        ).x
        return lambda value: (clients["HE"](value, k, epsilon) > theta).astype(np.float64)
    raise ValueError(f"no client for {protocol}")


def one_hot_encoder(k: int) -> Encode:
    """Return what encodes one value in clear."""
    rows = np.eye(k)
    return lambda value: rows[value]


@contextmanager
def seeded(entropy: list[int]) -> Iterator[None]:
    """Seed both generators that the clients draw from; numpy's global one is put back after."""
    first, second, after = np.random.SeedSequence(entropy).generate_state(3)
    before = np.random.get_state()  # noqa: NPY002  the clients draw from it, whatever we would like
    np.random.seed(first)  # noqa: NPY002
    seed_numba = _clients()["seed"]
    seed_numba(second)
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
        # numba's generator cannot be read: whatever draws from it next is not to repeat the cell
        seed_numba(after)


def check_clients() -> None:
    """Refuse versions of numba whose GRR client lies where it should keep the truth."""
    import numba

    client = _clients()["GRR"]
    kept = sum(int(client(0, 2, epsilon) == 0) for epsilon in (22.0, 30.0, 50.0) for _ in range(20))
    if kept < 60:
        raise HushpollError(
            f"with numba {numba.__version__}, multi-freq-ldpy's GRR client tells the truth in "
            f"{kept} of 60 cases at epsilons from 22 to 50, where it should in all; update both, "
            "or use the engine hushpoll"
        )


_LOADED: dict[str, Any] = {}


def _clients() -> dict[str, Any]:
    if not _LOADED:
        try:
            import numba
            import xxhash
            from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
            from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client, find_tresh
            from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
            from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
            from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
        except ModuleNotFoundError as error:
            raise MissingExtra("reference", "the reference engine") from error

        @numba.njit  # type: ignore[untyped-decorator, unused-ignore]  # numba has no types
        def seed(value: int) -> None:
            np.random.seed(value)  # noqa: NPY002

        _LOADED.update(
            GRR=GRR_Client,
            HE=HE_Client,
            LH=LH_Client,
            SS=SS_Client,
            UE=UE_Client,
            find_tresh=find_tresh,
            hash=lambda value, key: xxhash.xxh32(str(value), seed=key).intdigest(),
            seed=seed,
        )
    return _LOADED


def _olh(clients: dict[str, Any], k: int, epsilon: float) -> Encode:
    g = round(math.exp(epsilon)) + 1
    if g <= LARGEST_G:
        return lambda value: _hashed(clients["LH"](value, k, epsilon, True), k, g)

    def encode(value: int) -> npt.NDArray[np.float64]:
        key = int(np.random.randint(0, 2**32, dtype=np.int64))  # noqa: NPY002  as the client draws
        hashed = clients["hash"](value, key) % LARGEST_G
        return _hashed((clients["GRR"](hashed, LARGEST_G, epsilon), key), k, LARGEST_G)

    return encode


def _subset(values: Any, k: int) -> npt.NDArray[np.float64]:
    vector = np.zeros(k)
    vector[values] = 1
    return vector


def _hashed(report: tuple[int, int], k: int, g: int) -> npt.NDArray[np.float64]:
    bucket, key = report
    digest = _LOADED["hash"]
    return np.array([float(bucket == digest(value, key) % g) for value in range(k)])
