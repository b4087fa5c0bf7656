"""The study of ordered answers at a small size."""

import numpy as np

import ordered_survey
import relations_survey
from hushpoll_analysis import count, ordered_summary
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.scales import scale_of
from hushpoll_analysis.ordered.statistics import Statistics
from studies import ordered
from studies.ordered import STUDIES
from studies.relations import markdown


def test_intervals_cover_where_nothing_is_rare(monkeypatch):
    monkeypatch.setattr(ordered, "SCALES", ordered.SCALES[1:2])
    monkeypatch.setattr(ordered, "ANSWERED", ordered.ANSWERED[:1])
    monkeypatch.setattr(ordered, "GROUPED", ordered.GROUPED[1:2])
    monkeypatch.setattr(ordered, "CHANGES", ordered.CHANGES[:1])
    rows = [row for study in STUDIES.values() for row in study(25, 1)]
    covered = [row for row in rows if "squared error" not in row.answer]
    assert len(covered) == 5 + 2 + 2 + 2 + 3 + 2
    assert all(row.covered >= 0.84 and row.unbounded == 0 for row in covered)
    assert len(markdown(rows).splitlines()) == 2 + len(rows)


def test_surveys_as_columns_are_those_of_the_function():
    published = ordered_survey.ordered("OUE", 5, "2", missing=True)
    drawn = [relations_survey.draw(published, np.full(6, 1 / 6), 300, seed)[1] for seed in range(3)]
    attribute = published.attribute("a")
    answers = [
        Answers.alone(attribute, count(records).support["a"], len(records)) for records in drawn
    ]
    means = Statistics.of(ordered.columns_of(answers), scale_of(attribute), 3).estimates(
        ordered.QUANTILE
    )[0]
    for place, records in enumerate(drawn):
        (group,) = ordered_summary(records, "a", threshold=3).groups
        assert means["mean"][place] == group.mean
        assert means["at_least"][place] == group.at_least
