"""Jobs are declared once: their parameters as JSON and back, and what everybody knows of them."""

from __future__ import annotations

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.jobs.analyses import DependencyTests, DesignModel, MarginModel, Weight
from hushpoll_shared.jobs.collecting import Invite, PersonParameters
from hushpoll_shared.jobs.registry import all_jobs, kept_jobs
from hushpoll_shared.jobs.training import ExpectedShares, Fairness
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.querying.query import parameters_of

MARGIN = {"attributes": ["region"], "shares": {"North": 0.4, "South": 0.6}}


@pytest.mark.parametrize(
    ("document", "job"),
    [
        (
            {
                "attributes": ["age", "income"],
                "design": {"margins": [MARGIN], "bounds": [0.5, 2]},
                "confidence": 0.9,
            },
            Weight(
                attributes=("age", "income"),
                design=DesignModel(
                    margins=(MarginModel(attributes=("region",), shares=MARGIN["shares"]),),
                    bounds=(0.5, 2),
                ),
                confidence=0.9,
            ),
        ),
        (
            {"rate": 0.05, "where": {"region": ["North", "South"]}},
            DependencyTests(where={"region": ("North", "South")}),
        ),
    ],
)
def test_a_job_is_read_from_json_and_written_again(document, job):
    assert type(job).of_json(document) == job
    assert job.to_json() == document


def test_what_was_not_given_has_its_default_and_none_is_left_out():
    audit = Fairness.of_json({"expected": {"base": 0.4}})
    assert (audit.folds, audit.parameters) == (5, {})
    assert audit.expected == ExpectedShares(unprivileged=0.5, positive=0.3, base=0.4)
    assert "learner" not in audit.to_json()
    assert set(audit.to_json("expected", "seed")) == {
        "parameters", "folds", "protected_input", "together", "confidence",
    }  # fmt: skip


def test_a_parameter_that_there_is_not_is_refused_by_name():
    with pytest.raises(InvalidParameter, match="there is no parameter 'level'; leave it out"):
        Fairness.of_json({"level": 1})


def test_a_job_takes_from_a_query_what_it_does_in_its_turn():
    (asked,) = (one for one in Dependencies.parameters() if one.name == "rate")
    (given,) = (one for one in parameters_of(DependencyTests) if one.name == "rate")
    assert (given.means, given.default, given.above, given.most) == (
        asked.means, asked.default, asked.above, asked.most,
    )  # fmt: skip


def test_an_address_is_in_no_repr():
    person = PersonParameters(address="ada@example.org", name="Ada")
    assert "ada" not in f"{person!r} {Invite(people=(person,))!r}".lower()


def test_every_kind_says_what_it_makes_and_who_may_ask():
    assert {job.scope for job in all_jobs().values()} == {"publish", "read", "train"}
    assert all(job.words and job.body and job.__doc__ for job in all_jobs().values())
    assert all((job.table is None) == (not job.rows) for job in all_jobs().values())
    assert [job.kept.noun for job in kept_jobs()] == ["model", "audit", "regression"]
