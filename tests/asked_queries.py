"""What the tests of all statistics ask of the second version of the sample survey."""

from __future__ import annotations

from typing import Any

from sample_survey import VERSION

SECOND = VERSION.removesuffix("1") + "2"
MARGIN = {"attributes": ["gender"], "shares": {"Female": 0.5, "Male": 0.5}}
# A query, or the body of a statistic that is posted, that version 2 answers.
ASKED: dict[str, dict[str, Any]] = {
    "answered-shares": {},
    "changes": {"attribute": "age", "since_version": 1},
    "conditional-shares": {"of": "income", "given": "gender"},
    "cross-tables": {"a": "gender", "b": "income"},
    "dependencies": {},
    "estimates": {},
    "independence": {"a": "gender", "b": "income"},
    "ordered-answers": {"attribute": "country", "given": "gender"},
    "ordered-changes": {"attribute": "country", "since_version": 1},
    "simultaneous-estimates": {"attribute": "gender"},
    "simultaneous-means": {"attributes": "country", "given": "gender"},
    "weighted-shares": {"attribute": "income", "design": {"margins": [MARGIN]}},
}
