"""Networks that are private by FairDP, which treats each group apart (extra ``dpsgd``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import ClassVar, Final

from hushpoll_lab.central.fairdp import FairDPPlan, LastStep, train_fairdp
from hushpoll_lab.central.network import Network
from hushpoll_lab.certificates.fairdp import (
    empirical,
    parity_error,
    positive_chances,
    worst_case,
)
from hushpoll_lab.learners.accounted import ACCOUNTANT, AccountedLearner
from hushpoll_lab.learners.groups import (
    Groups,
    combinations_of,
    occurring,
    without_columns,
    without_weights,
)
from hushpoll_lab.learners.network_learner import PrivateNetwork
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions, Span
from hushpoll_training.learners.parameters import Names, Parameter, Range, split_names

_RATES: Final = ("sample_rate", "last_layer_norm", "clip", "learning_rate", "adam_rate")
"""Parameters of the plan that are called alike in it and are positive numbers."""


@dataclass(frozen=True)
class FairDP(AccountedLearner):
    """A network with one hidden layer, trained by FairDP (Tran et al., Algorithm 1).

    The groups are the categories of the protected attribute, each a column of ones and zeros, and
    one that no row has counts too: that nobody has it is not public. The network itself never gets
    these columns. The groups' sampling rate is `sample_rate`; the number of rows is not used. A row
    that changes its group counts as one removed and one added. With `further_groups`, names of more
    protected attributes, the groups are the combinations of all their categories (appendix E): a
    row is still in one group. The certificates of the training are
    not private: a model that was just fitted can compute them, and none is saved. The last tenth of
    the steps are plain ones, where `last_sample_rate` and `last_learning_rate` hold instead, if
    they are not 0: the worst-case certificate needs small batches and a large rate there
    (appendix F).
    """

    name: ClassVar[str] = "fairdp"
    label: ClassVar[str] = "FairDP"
    needs_groups: ClassVar[bool] = True
    description: ClassVar[str] = (
        "A network trained by differentially private gradient descent in each group, averaged"
    )
    bounds: ClassVar[Mapping[str, Parameter]] = {
        "epsilon": Range(float, 1e-2, 64, 1.0),
        "delta": Range(float, 1e-15, 0.1, 1e-5),
        "accountant": ACCOUNTANT,
        "hidden": Range(int, 1, 1024, 32),
        "sample_rate": Range(float, 1e-6, 1.0, 0.02),
        "steps": Range(int, 1, 1_000_000, 500, job_limit=20_000),
        "last_layer_norm": Range(float, 1e-6, 1e6, 0.5),
        "clip": Range(float, 1e-6, 1e6, 0.1),
        "learning_rate": Range(float, 1e-6, 100.0, 0.005),
        "adam_rate": Range(float, 1e-6, 100.0, 0.02),
        "last_sample_rate": Range(float, 0.0, 1.0, 0.0),
        "last_learning_rate": Range(float, 0.0, 100.0, 0.0),
        "further_groups": Names(),
    }
    space: ClassVar[Mapping[str, Span]] = {"last_layer_norm": Span(0.1, 1.0, None)}
    progress_unit: ClassVar[str] = "steps"
    public_rows: ClassVar[bool] = False
    neighbours: ClassVar[str] = "add or remove one row, whose group stays as it is"
    composition: ClassVar[str] = ", in parallel over the groups"

    @property
    def steps(self) -> int:
        """Steps of the descent."""
        return int(self.parameters["steps"])

    def plan(self) -> FairDPPlan:
        """Return the steps, with the noise that the claim needs."""
        hidden = (int(self.parameters["hidden"]),)
        plan = FairDPPlan(
            hidden=hidden,
            steps=self.steps,
            **{name: float(self.parameters[name]) for name in _RATES},
            last_sample_rate=float(self.parameters["last_sample_rate"]) or None,
            last_learning_rate=float(self.parameters["last_learning_rate"]) or None,
        )
        return replace(plan, noise_multiplier=self.noise(plan.schedules()))

    def fit(self, design: Design, options: FitOptions) -> FairDPNetwork:
        """Train; refuses weights of rows, and what :func:`combinations_of` refuses."""
        self.refuse(design)
        network, last_step = self._train(design, options)
        return FairDPNetwork(self, network, last_step)

    def train(self, design: Design, options: FitOptions) -> Network:
        """Return the weights after the last step; refuses what :func:`combinations_of` refuses."""
        return self._train(design, options)[0]

    def _train(self, design: Design, options: FitOptions) -> tuple[Network, LastStep]:
        groups = self.groups(design)
        result = train_fairdp(
            without_columns(design.table, groups.columns), design.label, groups.member, self.plan(),
            groups=groups.count, seed=options.seed, noise_seed=options.noise_seed,
            on_step=options.on_progress,
        )  # fmt: skip
        network = result.networks[0]
        # The columns of protected attributes had zeros; their first weights would still count.
        return without_weights(network, groups.columns), result.last_step

    def groups(self, design: Design) -> Groups:
        """Return the groups of some rows: :func:`combinations_of` all protected attributes."""
        return combinations_of(design, self, split_names(str(self.parameters["further_groups"])))


@dataclass(frozen=True)
class FairDPNetwork(PrivateNetwork):
    """A network that was just trained, with what its certificates need."""

    learner: FairDP
    last_step: LastStep = field(repr=False)
    """Not private, and in no file: a network that is read again is a :class:`PrivateNetwork`."""

    def certificates(self, design: Design) -> Mapping[str, float]:
        """Return tau_emp by notion, its standard error for parity, and the worst case.

        The groups are the combinations of all protected attributes. With further ones, tau_emp of
        each attribute's own categories stands beside it, such as ``tau_demographic_parity_race``;
        the protected attribute is called ``protected`` there. The worst case holds for any groups.
        Refuses rows of a single group of an attribute.
        """
        groups = self.learner.groups(design)
        member = occurring(groups.member, self.learner)
        chances = positive_chances(self.last_step, self.network.hidden(design.table))
        found = empirical(chances, design.label, member)
        figures = {f"tau_{name}": tau for name, tau in found.items()}
        figures["tau_worst_case"] = worst_case(self.last_step)
        figures["tau_demographic_parity_error"] = parity_error(chances, member)
        if len(groups.by_attribute) > 1:
            for attribute, category in groups.by_attribute.items():
                own = empirical(chances, design.label, occurring(category, self.learner))
                figures |= {f"tau_{name}_{attribute}": tau for name, tau in own.items()}
        return {name: value for name, value in figures.items() if isfinite(value)}
