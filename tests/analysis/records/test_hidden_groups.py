"""Groups in clear as readers without the right to export see them, and attacks on them."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest

from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records import merging
from hushpoll_analysis.records.counts import count_pairs
from hushpoll_analysis.records.grouped_source import OfGroups
from hushpoll_analysis.records.hidden_groups import ClearGroups
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.records.source import OfRecords
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import perturb
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.queries.conditional_shares import ConditionalShares
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.queries.estimates import Estimates

SIZES = {"commune": 4, "school": 3, "trade": 3}
SMOKES = {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]}


def survey(**sizes):
    """A survey with a perturbed question and attributes in clear of so many categories."""
    clear = [
        {"name": name, "role": "plain", "categories": [f"{name[0]}{at}" for at in range(size)]}
        for name, size in sizes.items()
    ]
    return of_questions([SMOKES, *clear])


def of_questions(questions):
    return Manifest.from_dict(
        {
            "name": "town",
            "version": 1,
            "title": "Town",
            "epsilon": "1",
            "protocol": "OUE",
            "attributes": questions,
        }
    ).resolve()


def records_of(people, **sizes):
    """Records of people whose codes in clear are the rows of `people`."""
    published = survey(**sizes)
    people = np.asarray(people)
    rng = np.random.default_rng(1)
    rows = np.zeros((len(people), published.layout.record_size), np.uint8)
    for at, field in enumerate(published.layout.fields):
        here = slice(field.offset, field.offset + field.size)
        if field.oracle is not None:
            rows[:, here] = perturb(field.oracle, rng.integers(0, 2, len(people)), rng)
        else:
            rows[:, here] = people[:, [at - 1]]
    return Records(published, rows)


def groups_of(records, smallest=10):
    return ClearGroups.of(records.published, count_pairs(records), smallest)


def fewest_singled_out(groups, records):
    """Reports about which some sum and difference of figures tells, at the least.

    A set of cells is told of by itself where weights that are 0 outside it are possible: where the
    other cells alone determine fewer dimensions than all cells do.
    """
    columns = [np.ones((len(records), 1))]
    for name, places in groups.places.items():
        columns.append(np.eye(places.max() + 1)[places[records.codes(name)]])
    cells, sizes = np.unique(np.hstack(columns), axis=0, return_counts=True)
    whole = np.linalg.matrix_rank(cells)
    fewest = sizes.sum()
    for number in range(1, len(cells) + 1):
        for chosen in combinations(range(len(cells)), number):
            size = sizes[list(chosen)].sum()
            left = np.delete(cells, chosen, axis=0)
            if size < fewest and (not len(left) or np.linalg.matrix_rank(left) < whole):
                fewest = size
    return fewest


def people_with(*counted):
    return [codes for codes, times in counted for _ in range(times)]


HAMLET = people_with(((0,), 1), ((1,), 30), ((2,), 12), ((3,), 11))
BRIDGE = people_with(((0, 0), 40), ((1, 1), 40), ((0, 1), 1))
NEAR = people_with(((0, 0), 40), ((1, 1), 40), ((2, 2), 40), ((1, 2), 2), ((2, 1), 2))


def test_the_only_resident_is_merged_with_the_next_smallest_group():
    records = records_of(HAMLET, commune=4)
    groups = groups_of(records)
    assert groups.shown.attribute("commune").domain == ("c0 and c3 together", "c1", "c2")
    counts = OfGroups(OfRecords(records), groups).questions().support["commune"]
    assert counts.tolist() == [12, 30, 12]
    assert groups.sentences() == (
        "Groups of commune are merged: c0 and c3 together. Readers without the right to export "
        "see no group of fewer than 10 reports, and none by which figures together would tell of "
        "fewer.",
    )
    assert groups.shown.digest == records.published.digest


def test_an_attribute_of_which_one_group_is_left_is_left_out():
    records = records_of(people_with(((0,), 40), ((1,), 3)), commune=2)
    groups = groups_of(records)
    assert groups.hidden == ("commune",)
    assert "commune is left out" in groups.sentences()[0]


def test_attributes_that_are_left_out_are_listed_in_one_sentence():
    """Guards: a warning for each question stood on every page."""
    people = [(at % 4, at % 3) for at in range(12)]
    groups = groups_of(records_of(people, commune=4, school=3), smallest=20)
    assert groups.hidden == ("commune", "school")
    (sentence,) = groups.sentences()
    assert sentence.startswith("commune and school are left out, because their categories could")
    assert [one.name for one in groups.shown.attributes] == ["smokes"]


@pytest.mark.parametrize("people", [BRIDGE, NEAR], ids=["bridge", "nearly the same attribute"])
def test_margins_of_enough_reports_are_merged_where_two_tables_single_few_out(people):
    records = records_of(people, commune=3, school=3)
    # all groups that have reports have enough, and still their sums differ by one or four reports
    margins = ClearGroups(
        published=records.published,
        smallest=10,
        places={"commune": np.arange(3), "school": np.arange(3)},
    )
    assert fewest_singled_out(margins, records) <= 4
    assert fewest_singled_out(groups_of(records), records) >= 10


@pytest.mark.parametrize("seed", range(6))
def test_no_sum_of_figures_tells_of_fewer_reports_than_the_smallest_group(seed):
    rng = np.random.default_rng(seed)
    names = list(SIZES)[: 2 + seed % 2]
    shares = {name: rng.dirichlet(np.full(SIZES[name], 0.5)) for name in names}
    people = np.stack([rng.choice(SIZES[name], 60, p=shares[name]) for name in names], axis=1)
    # the second attribute nearly repeats the first, as a town and its post code do
    people[:, 1] = np.where(rng.random(60) < 0.8, people[:, 0] % SIZES[names[1]], people[:, 1])
    records = records_of(people, **{name: SIZES[name] for name in names})
    groups = groups_of(records, smallest=4)
    assert fewest_singled_out(groups, records) >= 4


def test_the_leverage_bound_is_never_below_that_of_any_report():
    rng = np.random.default_rng(3)
    people = rng.integers(0, (4, 3, 3), (80, 3))
    records = records_of(people, **SIZES)
    groups = merging.Merging(count_pairs(records), list(SIZES), 3)
    design = np.hstack([np.eye(size)[people[:, at]] for at, size in enumerate(SIZES.values())])
    leverage = (np.linalg.pinv(design).T * design).sum(axis=1).max()
    # the sizes at which the bound is just reached, and just not
    bound = 1 / (np.arange(2, 90) - 1)
    reached = [groups._revealing() for groups._smallest in range(2, 90)]
    assert all(merge for merge, limit in zip(reached, bound, strict=True) if leverage >= limit)
    assert not reached[0]


def test_tables_of_two_attributes_in_clear_are_shown_only_without_small_cells():
    dense = records_of(people_with(*(((a, b), 30) for a in (0, 1) for b in (0, 1))), a=2, b=2)
    sparse = people_with(((0, 0), 30), ((0, 1), 30), ((1, 0), 30), ((1, 1), 3))
    sparse = records_of(sparse, a=2, b=2)
    query = CrossTable(a="a", b="b")
    assert result_of(query, OfGroups(OfRecords(dense), groups_of(dense))).n == 120
    source = OfGroups(OfRecords(sparse), groups_of(sparse))
    assert [one.k for one in source.published.clear] == [2, 2]
    for asked in (query, ConditionalShares(of="a", given="b"), Dependencies()):
        with pytest.raises(InvalidParameter, match="one of its cells has fewer than 10 reports"):
            result_of(asked, source)
    assert "There is no table of a and b" in " ".join(source.groups.sentences())
    assert result_of(ConditionalShares(of="smokes", given="b"), source).n == 93


def test_conditions_leave_groups_of_one_attribute_alone():
    people = people_with(*(((a, b), 30) for a in (0, 1, 2) for b in (0, 1)), ((3, 0), 1))
    records = records_of(people, a=4, b=2)
    source = OfGroups(OfRecords(records), groups_of(records))
    merged = source.published.attribute("a").domain[0]
    assert merged == "a0 and a3 together"
    found = result_of(Estimates(where={"a": (merged,)}), source)
    assert found.n == 61
    assert [one.name for one in found.attributes] == ["smokes"]
    # one apart: the conditions that would differ by the one person
    for where in ({"a": ("a3",)}, {"a": ("a0", "a1", "a2")}):
        with pytest.raises(InvalidParameter, match="is no category of a"):
            result_of(Estimates(where=where), source)
    with pytest.raises(InvalidParameter, match="conditions on a, b"):
        result_of(Estimates(where={"a": (merged,), "b": ("b0",)}), source)
    with pytest.raises(InvalidParameter, match="no attribute of town"):
        result_of(ConditionalShares(of="smokes", given="b", where={"a": (merged,)}), source)


def test_records_themselves_are_not_read():
    records = records_of(HAMLET, commune=4)
    source = OfGroups(OfRecords(records), groups_of(records))
    with pytest.raises(InvalidParameter, match="reads the records themselves"):
        result_of(Estimates(estimator="likelihood"), source)


def test_before_the_end_no_attribute_in_clear_is_shown():
    records = records_of(HAMLET, commune=4)
    groups = ClearGroups.before_the_end(records.published, 10)
    source = OfGroups(OfRecords(records), groups)
    assert [one.name for one in result_of(Estimates(), source).attributes] == ["smokes"]
    assert "once the end of collection is reached" in groups.sentences()[0]
    with pytest.raises(InvalidParameter, match="once the end of collection is reached"):
        groups.require("commune", field="given")


def test_kept_results_are_shown_only_where_their_groups_are():
    records = records_of(HAMLET, commune=4)
    groups = groups_of(records)
    assert groups.why_not_kept({"smokes"}, complete=False) is None
    assert "some of which are merged" in groups.why_not_kept({"commune"}, complete=True)
    whole = records_of(people_with(((0, 0), 30), ((1, 1), 30), ((0, 1), 30)), a=2, b=2)
    groups = groups_of(whole)
    assert groups.why_not_kept({"smokes", "a"}, complete=True) is None
    assert "before the end" in groups.why_not_kept({"smokes", "a"}, complete=False)
    assert "all together can leave few" in groups.why_not_kept({"a", "b"}, complete=True)


def test_groups_are_read_again_as_they_were_written_and_others_refused():
    records = records_of(HAMLET, commune=4)
    groups = groups_of(records)
    document = json.loads(json.dumps(groups.to_dict()))
    again = ClearGroups.from_dict(records.published, document)
    assert again.shown == groups.shown
    assert again.sentences() == groups.sentences()
    for places in ({"smokes": [0, 1]}, {"commune": [0, 2, 1, 1]}, {"commune": [0, 1]}):
        with pytest.raises(InvalidParameter, match="not those of this survey"):
            ClearGroups.from_dict(records.published, {**document, "places": places})
    with pytest.raises(InvalidParameter, match="not those of this survey"):
        ClearGroups.from_dict(records.published, {**document, "apart": [["commune", "x"]]})


def test_categories_that_are_merged_have_a_readable_name_of_a_bounded_length():
    people = people_with(*(((code,), 1) for code in range(40)), ((40,), 30))
    groups = groups_of(records_of(people, commune=41))
    names = groups.shown.attribute("commune").domain
    assert names[0] == "c0, c1, c2, c3, c4, c5, c6, c7 and 2 more together"
    assert len(names) == 5
    assert sorted({len(codes) for codes in groups.merged["commune"]}) == [10]


def test_one_merges_nothing():
    records = records_of(HAMLET, commune=4)
    assert groups_of(records, smallest=1).shown is records.published


ASKED_TOGETHER = {
    "matrix": (
        {
            "name": "content",
            "question": "How content are you with",
            "items": [{"name": name, "question": name} for name in ("home", "street", "town")],
        },
        {"home": "How content are you with home"},
    ),
    "select": (
        {"name": "news", "question": "What do you read?", "select": {"at_most": 2}},
        {},
    ),
    "scale": ({"name": "pain", "scale": "ordinal", "ends": ["none", "much"]}, {}),
    "drawn order": ({"name": "town", "shuffle": {"last": 1}}, {}),
}
CHOICES = ["a", "b", "c", "d"]


@pytest.mark.parametrize("kind", ASKED_TOGETHER)
def test_questions_in_clear_of_every_kind_are_hidden_and_merged(kind):
    asked, texts = ASKED_TOGETHER[kind]
    published = of_questions([SMOKES, asked | {"role": "plain", "categories": CHOICES}])
    before = ClearGroups.before_the_end(published, 10).shown
    assert [one.name for one in before.attributes] == ["smokes"]
    assert not before.selects
    assert not before.matrices
    # The last two categories of the first question in clear are merged, if it has more than two.
    first = published.clear[0]
    places = {one.name: np.arange(one.k) for one in published.clear}
    places[first.name] = np.minimum(places[first.name], max(first.k - 2, 1))
    merged = ClearGroups(published=published, smallest=10, places=places).shown
    assert len(merged.attributes) == len(published.attributes)
    assert merged.wording().questions
    assert {name: merged.attribute(name).question for name in texts} == texts
    assert merged.matrices == ()
    assert merged.attribute(first.name).ends is None
    assert merged.digest == published.digest


def test_a_follow_up_keeps_its_meaning_where_its_router_is_hidden_or_merged():
    job = {"name": "job", "role": "plain", "categories": ["none", "shop", "office"]}
    tired = {"name": "tired", "role": "plain", "categories": CHOICES[:3], "missing": "no answer"}
    published = of_questions(
        [job, SMOKES | {"ask_if": {"job": ["office"]}}, tired | {"ask_if": {"job": ["office"]}}]
    )
    before = ClearGroups.before_the_end(published, 10).shown
    assert before.attribute("smokes").domain == ("no", "yes", "not asked")
    assert before.reach == published.reach
    groups = {"job": [0, 1, 1], "tired": [0, 1, 1, 2, 3]}
    places = {name: np.array(found) for name, found in groups.items()}
    merged = ClearGroups(published=published, smallest=10, places=places).shown
    assert merged.attribute("tired").domain == (
        *("a", "b and c together"), "no answer", "not asked",
    )  # fmt: skip
    assert merged.attribute("tired").ask_if == published.attribute("tired").ask_if
    places["tired"] = np.array([0, 0, 0, 0, 1])
    apart = ClearGroups(published=published, smallest=10, places=places).shown
    assert apart.attribute("tired").ask_if is None
    assert apart.attribute("tired").domain == ("a, b, c and no answer together", "not asked")
