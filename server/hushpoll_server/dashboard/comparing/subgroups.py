"""Among whom the page of estimates shows a question's shares: everybody, or one group of people.

A group is the people with one answer to another question, in clear or perturbed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import request

from hushpoll_server.dashboard.frame import choice
from hushpoll_server.dashboard.surveys import answered, result_of
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.group_shares import SHARES_IN_GROUPS, shares_in_groups
from hushpoll_shared.estimators import UNBIASED
from hushpoll_shared.qualifying.possible import Ends
from hushpoll_shared.qualifying.verdict import part_is_noisy
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.querying.registry import query_that_serves
from hushpoll_shared.querying.table import table_of_result
from hushpoll_shared.survey.published import Published
from hushpoll_shared.tables.result_table import ResultTable


def table_among(document: Mapping[str, object]) -> ResultTable:
    """Return the table of their JSON form."""
    return table_of_result(query_that_serves(SHARES_IN_GROUPS).result_of(document))


def chosen_group(published: Published, of: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the choices ``attribute``, ``among`` and ``group`` of the address, and the groups.

    ``among`` is the question by whose answers people are grouped, empty for everybody. The shares
    of one question are shown at a time among a group: the first other one unless one is chosen.
    """
    names = [attribute.name for attribute in published.attributes]
    among = choice("among", ("", *names))
    others = [name for name in names if name != among]
    # A choice that is no longer possible, such as the same question twice, is as if not made.
    if among in ("", of) or not others:
        return {"attribute": of, "among": "", "group": ""}, ()
    categories = published.attribute(among).domain
    # The form still carries the group of the question that was chosen before.
    known = request.args.get("group") in categories
    group = choice("group", categories) if known else categories[0]
    return {"attribute": of or others[0], "among": among, "group": group}, categories


def shares_among(
    row: VersionRow, published: Published, chosen: dict[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the shares of a question among a group, in the form of estimates, and as the API does.

    In the first, categories whose share the reports cannot tell have the frequency None and, as
    ``bound``, words that say so.
    """
    attribute = published.attribute(chosen["attribute"])
    query = shares_in_groups(
        of=attribute.name, given=chosen["among"], confidence=float(chosen["confidence"])
    )
    document = answered(row, query).to_dict()
    shares = [share for share in document["shares"] if share["group"] == chosen["group"]]
    categories = [
        share | {"frequency": share["value"] if share["bound"] == "bounded" else None}
        for share in shares
    ]
    entry = {
        "name": attribute.name,
        "protocol": attribute.protocol,
        "epsilon": attribute.epsilon,
        "categories": categories,
    }
    as_estimates = {**document, "estimator": UNBIASED, "attributes": [entry]}
    return as_estimates, {**document, "shares": shares}


class Size(Ends):
    """The share of all people that a group is, and whether the reports cannot tell it."""

    frequency: float
    noisy: bool


def size_of_group(row: VersionRow, chosen: dict[str, str]) -> Size:
    """Return the group's share of all people, as the API estimates that of a category.

    As ``noisy`` it has whether the reports cannot tell it.
    """
    query = Estimates(confidence=float(chosen["confidence"]))
    answer = result_of(row, query).to_dict()
    (question,) = (entry for entry in answer["attributes"] if entry["name"] == chosen["among"])
    (size,) = (one for one in question["categories"] if one["category"] == chosen["group"])
    return {
        "frequency": size["frequency"],
        "lower": size["lower"],
        "upper": size["upper"],
        "noisy": part_is_noisy(answer["verdict"], chosen["among"]),
    }
