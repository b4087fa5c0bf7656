"""What is planned of two questions together, beside surveys drawn record by record.

``scripts/coverage-study --pairs`` runs it in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.scales import scale_of
from hushpoll_analysis.ordered.statistics import Statistics
from hushpoll_analysis.planning.expected_means import Means
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.outcomes import PRECISE, outcome
from hushpoll_analysis.records.counts import Counts, JointCounts, PairCounts
from hushpoll_analysis.records.source import OfCounts
from hushpoll_analysis.relations.conditional import SharesLaw, differences_of, sets_of
from hushpoll_analysis.relations.independence import outcome_of_test
from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_shared import Manifest
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from studies.command import study_command
from studies.goals import EPSILONS, Row, markdown

Array = npt.NDArray[np.float64]
Ends = tuple[float, float]

PAIRS = (
    ("two questions", 5, 4_000, 0.3, 0.2),
    ("two questions, a group of 5 %, a share of 5 %", 4, 8_000, 0.05, 0.05),
    ("two questions, few respondents", 2, 400, 0.4, 0.5),
)
"""Title, k, respondents, the smaller group's part and the category's share."""

SEED = 2026
SURVEYS = 1_000

_MOST_PHI = 0.55
"""A linear dependence of five even categories and three leaves no share below 0."""

_Z = normal_quantile(0.95)


@dataclass(frozen=True)
class TwoQuestions:
    """A survey of a scale, and of a question of three categories that are groups.

    Attributes
    ----------
    title : str
        Of the setting.
    published : Published
        The survey.
    n : int
        Respondents.
    sizes : f64[3]
        Parts of the respondents in the groups, the smaller one first.
    share : float
        Of a category in the other groups.
    surveys : int
        Drawn.
    rng : Generator
        Draws them.
    """

    title: str
    published: Published
    n: int
    sizes: Array
    share: float
    surveys: int
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        protocol: str,
        epsilon: str,
        population: tuple[str, int, int, float, float],
        surveys: int,
        rng: np.random.Generator,
    ) -> TwoQuestions:
        """Return the setting of an entry of `PAIRS`."""
        title, k, n, group, share = population
        document = {
            "name": "planned",
            "version": 1,
            "title": "Planned",
            "epsilon": epsilon,
            "protocol": protocol,
            "attributes": [
                {"name": "answer", "role": "sensitive", "range": [1, k]},
                {"name": "group", "role": "sensitive", "categories": ["a", "b", "c"]},
            ],
        }
        published = Manifest.from_dict(document).resolve()
        sizes = np.array([group, (1 - group) / 2, (1 - group) / 2])
        return cls(title, published, n, sizes, share, surveys, rng)

    @property
    def answer(self) -> PublishedAttribute:
        """The scale."""
        return self.published.attribute("answer")

    @property
    def group(self) -> PublishedAttribute:
        """The question whose categories are the groups."""
        return self.published.attribute("group")

    def compared(self) -> Iterator[Row]:
        """Yield what is planned beside what is simulated."""
        k, means = self.answer.k, Means(self.answer, scale_of(self.answer), self.n)
        even = np.full((k, 3), 1 / k) * self.sizes
        width = np.mean([high - low for low, high in self._drawn(even, self._mean)])
        yield self._row("mean, width", self._told(Goal("mean", "answer")), float(width), True)

        smaller = float(self.sizes[0])
        goal = Goal("gap", "answer/group", share=self.share, group=smaller)
        gap = self._smallest(goal) or 0.999 - self.share
        shares = self.share + np.array([gap, 0.0, 0.0])
        people = np.vstack([shares, *([(1 - shares) / (k - 1)] * (k - 1))]) * self.sizes
        yield self._powers(replace(goal, value=gap), people, self._gap_of_shares)

        goal = Goal("mean-gap", "answer/group", group=smaller)
        gap = self._smallest(goal) or 0.99 * means.widest
        tilts = means.tilted(gap / 2), means.tilted(-gap / 2), means.tilted(0.0)
        people = np.stack(tilts, axis=1) * self.sizes
        yield self._powers(replace(goal, value=gap), people, self._gap_of_means)

        goal = Goal("association", "answer/group")
        phi = min(self._smallest(goal) or _MOST_PHI, _MOST_PHI)
        yield self._powers(replace(goal, value=phi), _associated(k, phi), self._p_value)

    def _smallest(self, goal: Goal) -> float | None:
        return outcome(goal, self.published, self.n, AuditAssumptions()).value

    def _told(self, goal: Goal) -> float:
        told = outcome(goal, self.published, self.n, AuditAssumptions(), surveys=PRECISE).value
        assert told is not None
        return told

    def _powers(self, goal: Goal, people: Array, ends: Callable[[JointCounts], Ends]) -> Row:
        found = [low > 0 or high < 0 for low, high in self._drawn(people, ends)]
        return self._row(goal.kind, self._told(goal), float(np.mean(found)), False)

    def _row(self, what: str, predicted: float, simulated: float, is_width: bool) -> Row:
        oracle = self.answer.oracle
        assert oracle is not None
        epsilon = f"{self.published.epsilon:f}"
        return Row(f"{self.title}: {what}", oracle.name, epsilon, predicted, simulated, is_width)

    def _drawn(self, people: Array, ends: Callable[[JointCounts], Ends]) -> Iterator[Ends]:
        """Yield an interval of each survey of people f64[k, 3]."""
        chances = people.ravel() / people.sum()
        for _ in range(self.surveys):
            codes = self.rng.choice(people.size, size=self.n, p=chances)
            first, second = (
                indicators(attribute.oracle, perturb(attribute.oracle, values, self.rng))
                for attribute, values in zip(
                    (self.answer, self.group), divmod(codes, 3), strict=True
                )
                if attribute.oracle is not None
            )
            yield ends(JointCounts.of(first, second))

    def _mean(self, counts: JointCounts) -> Ends:
        answers = Answers.alone(self.answer, counts.first, counts.n)
        statistics = Statistics.of(answers, scale_of(self.answer), None, ["mean"])
        (mean,) = statistics.estimates(_Z)[0]["mean"]
        return mean.lower, mean.upper

    def _gap_of_shares(self, counts: JointCounts) -> Ends:
        law = SharesLaw.of(self.answer, self.group, counts)
        apart = differences_of(law, sets_of(law, _Z), 1)
        return float(apart.lower[0, 0]), float(apart.upper[0, 0])

    def _gap_of_means(self, counts: JointCounts) -> Ends:
        answers = Answers.in_groups(self.answer, self.group, counts)
        statistics = Statistics.of(answers, scale_of(self.answer), None, ["mean"])
        apart = statistics.estimates(_Z, 1)[1]
        assert apart is not None
        return apart["mean"][0].lower, apart["mean"][0].upper

    def _p_value(self, counts: JointCounts) -> Ends:
        """Return an interval that leaves out 0 if the test rejects."""
        support = {"answer": counts.first, "group": counts.second}
        kept = PairCounts(Counts(counts.n, support), {("answer", "group"): counts.both})
        query = Independence(a="answer", b="group")
        test = outcome_of_test(query, OfCounts(self.published, kept))
        return test.alpha - test.p_value, 1.0


def run_study(*, surveys: int, seed: int, protocols: Sequence[str] = tuple(PROTOCOLS)) -> list[Row]:
    """Return all rows."""
    return [
        row
        for protocol in protocols
        for epsilon in EPSILONS
        for number, population in enumerate(PAIRS)
        for row in TwoQuestions.of(
            protocol, epsilon, population, surveys, np.random.default_rng([seed, number])
        ).compared()
    ]


def _associated(k: int, phi: float) -> Array:
    """Return shares f64[k, 3] with even margins that are associated by phi, up to `_MOST_PHI`."""
    rows, columns = (np.arange(size) - (size - 1) / 2 for size in (k, 3))
    product = np.outer(rows / rows.std(), columns / columns.std())
    return np.asarray((1 + phi * product) / (3 * k))


main = study_command(
    run_study,
    markdown,
    help="Compare what plans of two questions predict with simulated surveys.",
    seed=SEED,
    surveys=SURVEYS,
)

if __name__ == "__main__":
    main()
