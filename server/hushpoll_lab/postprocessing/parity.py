"""Statistical parity by changing as few predictions as possible, for two groups.

Ghoukasian and Asoodeh, "Differentially Private Fair Binary Classifications". Two classifiers, one
for each group, predict the positive class for shares alpha and beta of their groups. Some
predictions are flipped by a coin, so that both groups get the share (alpha + beta) / 2.
:func:`parity_rule` is Algorithm 1, :func:`private_rates` the step that makes it Algorithm 2.

A :class:`ParityLearner` holds a part of the training rows out; the learner behind is fitted to the
rest, and the rates of positive predictions are measured, with noise, on the held-out part.

**The split.** Each row is held out with the same chance, by a draw of its own that nobody else
knows. Let D' be D with one row more, wherever it stands, or with one row replaced. Give the rows
that both have the same draws in both: each is on the same side, and the law of all draws is that of
independent ones, for D and for D'. So, whatever the draws are, the two data sets differ on one side
only, in one row, and the other side is the same. Where that is the side that is fitted to, the
learner behind spends its epsilon and the rates, functions of its model and of equal rows, nothing;
on the other side it is the other way round. A mixture over draws that both have alike loses no more
than the larger of the two. Draws from a public seed and a row's place would not do:
a row that is added in front would move all others to the draw of their neighbour.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from hushpoll_lab.central.discrete_laplace import exact_epsilon, noisy_count
from hushpoll_lab.learners.network_learner import bits_for
from hushpoll_protocols.bits import Bits, SecureBits
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Fitted, UnsoundModel
from hushpoll_training.learners.parameters import Parameter, Range
from hushpoll_training.learners.wrapped import WrappedLearner
from hushpoll_training.mitigation.coins import KEY_BYTES, row_coins
from hushpoll_training.mitigation.design import part

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PositiveRates:
    """Shares of positive predictions in two groups."""

    rates: tuple[float, float]
    """Of group 0 (alpha) and of group 1 (beta), in [0, 1]."""
    sizes: tuple[int, int]
    """Rows that they were counted in; the sizes are taken to be public."""
    epsilons: tuple[float, float] | None = None
    """What the two counts spent; None for rates without noise."""

    @property
    def epsilon(self) -> float:
        """What both rates spend, by basic composition as in Theorem 3; 0 without noise.

        It holds for neighbours that differ in one row, its group included, while the groups' sizes
        are public.
        """
        return sum(self.epsilons) if self.epsilons else 0.0


@dataclass(frozen=True, slots=True)
class ParityRule:
    """How predictions are flipped."""

    flip: npt.NDArray[np.float64]
    """f64[2, 2], chance that the prediction of a row is flipped, by group and prediction."""

    def chances(self, predictions: Labels, groups: Labels) -> npt.NDArray[np.float64]:
        """Return the chance of a positive prediction after the coin, f64[n].

        Predictions and groups are int64[n]; refuses other values than 0 and 1.
        """
        _check_rows(predictions, groups)
        flip = self.flip[groups, predictions]
        return np.where(predictions == 1, 1 - flip, flip)

    def draw(self, predictions: Labels, groups: Labels, rng: np.random.Generator) -> Labels:
        """Toss the coin of each row and return the predictions, int64[n] of {0, 1}."""
        chances = self.chances(predictions, groups)
        return (rng.random(chances.size) < chances).astype(np.int64)

    def to_json(self) -> JsonMembers:
        """Return the rule as saved models hold it."""
        return {"flip": self.flip.tolist()}

    @classmethod
    def from_json(cls, saved: JsonObject) -> ParityRule:
        """Read what :meth:`to_json` wrote; refuses anything but four chances."""
        flip = np.array(saved["flip"], np.float64)
        if flip.shape != (2, 2) or not ((flip >= 0) & (flip <= 1)).all():
            raise ValueError("flip must hold two rows of two chances in [0, 1]")
        return cls(flip)


def positive_rates(predictions: Labels, groups: Labels) -> PositiveRates:
    """Return the shares of positive predictions, without noise (Algorithm 1, line 1).

    Refuses values other than 0 and 1, arrays of different lengths, and an empty group.
    """
    counts, sizes = _count(predictions, groups)
    return PositiveRates((counts[0] / sizes[0], counts[1] / sizes[1]), sizes)


def private_rates(
    predictions: Labels,
    groups: Labels,
    epsilons: tuple[Decimal | str | float, Decimal | str | float],
    bits: Bits | None = None,
) -> PositiveRates:
    """Return the shares of positive predictions with noise (Algorithm 2, lines 1 and 2).

    The paper adds Laplace noise to a mean. Here discrete Laplace noise is added to the count behind
    it, which has sensitivity 1, and the sum is divided by the size of the same group: n theta for
    group 0, n (1 - theta) for group 1. (Line 1 prints n theta for both.) The rows are others than
    the classifiers were trained on; each group's rate spends its epsilon, in (0, 64]. Refuses what
    :func:`positive_rates` refuses.
    """
    source = SecureBits() if bits is None else bits
    exact = [exact_epsilon(epsilon, f"epsilon_{group}") for group, epsilon in enumerate(epsilons)]
    counts, sizes = _count(predictions, groups)
    noisy = [noisy_count(counts[group], epsilons[group], source) for group in (0, 1)]
    rates = [min(max(noisy[group] / sizes[group], 0.0), 1.0) for group in (0, 1)]
    return PositiveRates((rates[0], rates[1]), sizes, (float(exact[0]), float(exact[1])))


def parity_rule(rates: PositiveRates) -> ParityRule:
    """Return the rule that gives both groups the same share of positive predictions.

    Algorithm 1, lines 2 and 3: in the group with the larger share, positive predictions are flipped
    with chance (high - low) / (2 high); in the other, negative ones with chance
    (high - low) / (2 (1 - low)).
    Where the shares are equal, nothing is flipped; this covers shares of 0 and of 1, for which the
    paper's quotients are 0 / 0.
    """
    flip = np.zeros((2, 2))
    high, low = (0, 1) if rates.rates[0] >= rates.rates[1] else (1, 0)
    gap = rates.rates[high] - rates.rates[low]
    if gap > 0:  # so the high rate is above 0, and the low one below 1
        flip[high, 1] = gap / (2 * rates.rates[high])
        flip[low, 0] = gap / (2 * (1 - rates.rates[low]))
    return ParityRule(flip)


def _count(predictions: Labels, groups: Labels) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return positive predictions and rows of each group."""
    _check_rows(predictions, groups)
    sizes = np.bincount(groups, minlength=2)
    if sizes.min() == 0:
        raise InvalidParameter(
            f"group {int(sizes.argmin())} has no rows; post-processing for parity needs rows of "
            "both groups",
            field="groups",
        )
    counts = np.bincount(groups[predictions == 1], minlength=2)
    return (int(counts[0]), int(counts[1])), (int(sizes[0]), int(sizes[1]))


def _check_rows(predictions: Labels, groups: Labels) -> None:
    for field, values in (("predictions", predictions), ("groups", groups)):
        other = values[(values != 0) & (values != 1)]
        if other.size:
            raise InvalidParameter(f"{field} has the value {other[0]}; give 0 or 1", field=field)
    if predictions.shape != groups.shape or predictions.ndim != 1:
        raise InvalidParameter(
            f"predictions have shape {predictions.shape} and groups {groups.shape}; give one value "
            "of each for every row",
            field="groups",
        )


RULE = "parity.json"
THRESHOLD = 0.5


@dataclass(frozen=True)
class ParityLearner(WrappedLearner):
    """A learner, and the rule that flips some of its predictions.

    Parameters are those of the learner behind it, and: `rate_epsilon`, what each of the two rates
    spends, 0 for rates without noise; `held_out`, the share of the rows that the rates are measured
    on. The design must tell each row's group, and exactly two groups must occur. So it takes rows
    in clear; the two rates, and each prediction, need the group in clear.
    """

    suffix: ClassVar[str] = "parity"
    addition: ClassVar[str] = "with parity"
    effect: ClassVar[str] = (
        "predictions flipped at random until both groups have the same share of positive ones"
    )
    own_bounds: ClassVar[Mapping[str, Parameter]] = {
        "rate_epsilon": Range(float, 0, 64, 0.05),
        "held_out": Range(float, 0.01, 0.9, 1 / 3),
    }
    own_file: ClassVar[str] = RULE
    measures_in_clear: ClassVar[bool] = True

    @property
    def claim(self) -> PrivacyClaim:
        """The claim of the learner behind plus that of the two rates (Theorem 3).

        The rates are measured on other rows than those that were fitted to, so the larger of the
        two claims would do; see the head of this module. The sum is the paper's.
        """
        claim, spent = self.behind.claim, 2 * float(self.parameters["rate_epsilon"])
        if claim.epsilon is None or spent == 0:
            return PrivacyClaim()
        return replace(
            claim,
            epsilon=claim.epsilon + spent,
            neighbours=f"{claim.neighbours}; the sizes of the groups are public",
            accountant=f"{claim.accountant}, and basic composition with the discrete Laplace "
            "mechanism of two rates; the sizes of the groups are public",
        )

    @property
    def calibration(self) -> PrivacyClaim:
        """The claim of the two rates, for the rows in clear that they are measured on."""
        spent = 2 * float(self.parameters["rate_epsilon"])
        if spent == 0:
            return PrivacyClaim()
        return PrivacyClaim(
            spent,
            None,
            "basic composition of the discrete Laplace mechanism for two rates",
            "replace one row; the sizes of the groups are public",
        )

    def without_clear_rows(self) -> InvalidParameter:
        """Return the refusal of records alone, which do not tell each row's group."""
        return InvalidParameter(
            f"the learner {self.name} measures two rates on rows in clear, and there are none; "
            "give a panel, of which a part is used for that, or use the learner "
            f"{self.base.name}",
            field="panel",
        )

    def fit(self, design: Design, options: FitOptions) -> ParityModel:
        """Fit the learner behind to a part of the rows and the rule to the rest.

        Refuses labels of a single class, and rows that do not tell exactly two groups.
        """
        two_groups(design.table, design.protected)
        held_out = self.held_out(design.label.size, options)
        fitted = self.behind.fit(part(design, ~held_out), options)
        return self.post_process(fitted, part(design, held_out), options)

    def held_out(self, rows: int, options: FitOptions) -> npt.NDArray[np.bool_]:
        """Draw which of the training rows the rates are measured on, bool[n]; keep it secret.

        Every row is held out with the chance `held_out`, independent of the others. Two calls give
        two splits, but in a simulation, whose options have a `noise_seed`: there `seed` draws it.
        """
        seeded = options.noise_seed is not None
        draws = np.random.default_rng([options.seed, 1] if seeded else None)
        return draws.random(rows) < float(self.parameters["held_out"])

    def post_process(self, fitted: Fitted, design: Design, options: FitOptions) -> ParityModel:
        """Measure the rates of a fitted model and return it with the rule that they give.

        The learner behind, or one like it, has learned from other rows, which may have been
        perturbed. The design has rows in clear of exactly two groups, whose labels are not read.
        The seed gives the coins' key; with `noise_seed`, the rates' noise can be drawn again.
        """
        groups = two_groups(design.table, design.protected)
        predictions = _predictions(fitted.scores(design.table, threads=options.threads))
        spent = str(self.parameters["rate_epsilon"])
        rates = (
            private_rates(predictions, groups, (spent, spent), bits_for(options))
            if float(spent) > 0
            else positive_rates(predictions, groups)
        )
        assert design.protected is not None  # noqa: S101  two_groups has refused designs without
        key = np.random.default_rng([options.seed, 2]).bytes(KEY_BYTES)
        return ParityModel(self, fitted, parity_rule(rates), design.protected, key)

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> ParityModel:
        """Read the model of the learner behind, and the rule."""
        fitted = self.load_behind(files, names, trial=trial)
        try:
            saved = json.loads(files[RULE])
            start, stop = (int(place) for place in saved["protected"])
            key = bytes.fromhex(saved["key"])
            rule = ParityRule.from_json(saved)
        except (ValueError, KeyError, TypeError) as error:
            raise UnsoundModel(RULE, f"is no rule of post-processing ({error})") from None
        if not 0 <= start < stop <= len(names) or len(key) != KEY_BYTES:
            raise UnsoundModel(RULE, "names columns that the model does not have")
        return ParityModel(self, fitted, rule, slice(start, stop), key)


@dataclass(frozen=True)
class ParityModel(Fitted):
    """A fitted model and the rule for its predictions.

    The coin of a row is a keyed hash of its features, group included: uniform over the choice of
    the key, and always the same for the same row, so that asking twice does not change a decision.
    """

    learner: ParityLearner
    fitted: Fitted
    rule: ParityRule
    protected: slice
    """The columns that tell the group."""
    key: bytes

    def scores(self, table: Table, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return scores in [0, 1] that are above one half where the prediction is positive.

        Within the rows that are predicted alike, they are in the order of the model's own scores.
        They are no probabilities.
        """
        own = self.fitted.scores(table, threads=threads)
        groups = two_groups(table, self.protected, both=False)
        positive = self.coins(table) < self.rule.chances(_predictions(own), groups)
        return np.where(positive, np.nextafter(0.5, 1) + own * 0.4999, own * 0.5)

    def coins(self, table: Table) -> npt.NDArray[np.float64]:
        """Return the coin of each row, f64[n] in [0, 1)."""
        return row_coins(table, self.key)

    def save(self) -> dict[str, bytes]:
        """Return the files of the model behind, and the rule as JSON."""
        rule = {
            **self.rule.to_json(),
            "protected": [self.protected.start, self.protected.stop],
            "key": self.key.hex(),
        }
        return {**self.fitted.save(), RULE: json.dumps(rule).encode()}


def two_groups(
    table: Table, protected: slice | None, *, both: bool = True
) -> npt.NDArray[np.int64]:
    """Return the group of each row, int64[n] of {0, 1}: the first or the second category.

    Refuses rows without a protected attribute, rows that tell no group or several, other groups
    than the first two categories, and, unless `both` is false, rows of a single group.
    """
    if protected is None:
        raise InvalidParameter(
            "post-processing for parity needs each row's group, but the columns hold no protected "
            "attribute in clear; declare one in the manifest, train on rows in clear, or use a "
            "learner without parity",
            field="protected",
        )
    columns = table[:, protected]
    member = columns.toarray() if isinstance(columns, csr_matrix) else np.asarray(columns)
    if not ((member == 0) | (member == 1)).all() or not (member.sum(axis=1) == 1).all():
        raise InvalidParameter(
            "post-processing for parity needs each row's group in clear, but the records tell "
            "several groups, or none, for a row; train on rows in clear",
            field="protected",
        )
    group = member.argmax(axis=1)
    if group.max(initial=0) > 1 or (both and np.unique(group).size != 2):
        raise InvalidParameter(
            "post-processing for parity compares the first two categories of the protected "
            f"attribute, but rows have the categories {sorted(set((group + 1).tolist()))}, counted "
            "from 1; give rows of both of them and of no other",
            field="protected",
        )
    return np.asarray(group, np.int64)


def _predictions(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return (scores > THRESHOLD).astype(np.int64)
