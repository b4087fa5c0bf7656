from __future__ import annotations

import pytest

from hushpoll_client.respondent.pin import describe_difference
from hushpoll_shared.survey.manifest import Manifest


def resolved(draft, **changes):
    return Manifest.from_dict(draft | changes).resolve()


def test_a_survey_does_not_differ_from_itself(published):
    assert describe_difference(published, published) == []


def test_added_removed_and_changed_fields(published, draft):
    changed = resolved(draft, description="New", minimum_batch=5, protected=None)
    lines = describe_difference(published, changed)
    assert "description: 'New' was added" in lines
    assert "minimum_batch: 100 became 5" in lines
    assert any(line.startswith("protected: ") and "was removed" in line for line in lines)
    assert len(lines) == 3


def test_attributes_are_compared_by_name(published, draft):
    first, second, *rest = draft["attributes"]
    lines = describe_difference(published, resolved(draft, attributes=[second, first, *rest]))
    assert lines == ["attributes: the order became age, gender, country, education, income"]


def test_long_values_and_many_differences_are_cut(published, draft):
    draft["attributes"][3]["categories"] = [f"category {number}" for number in range(100)]
    (line,) = describe_difference(published, resolved(draft))
    assert line.startswith("attributes[education].categories: ['school', 'college'] became [")
    assert len(line) < 200
    draft["attributes"] += [
        {"name": f"extra{number}", "role": "plain", "range": [0, 1]} for number in range(30)
    ]
    lines = describe_difference(published, resolved(draft))
    assert len(lines) == 21
    assert lines[-1] == "… and 11 more differences"


@pytest.mark.parametrize("value", ["7", "3.5"])
def test_a_changed_budget_shows_every_part(published, draft, value):
    lines = describe_difference(published, resolved(draft, epsilon=value))
    assert f"epsilon: '4' became '{value}'" in lines
    assert any(line.startswith("attributes[gender].epsilon: '2' became") for line in lines)
