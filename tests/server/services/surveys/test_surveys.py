"""Publishing, fetching, listing and closing."""

from __future__ import annotations

import hashlib

import pytest

from hushpoll_shared.survey.published import Published
from sample_survey import VERSION, make_draft


def test_publishing_answers_with_the_published_form_and_its_digest(site):
    answer = site.post("/api/v1/surveys", json=make_draft())
    assert answer.status_code == 201
    assert answer.headers["Location"] == VERSION
    published = Published.from_json(answer.json["manifest"])
    assert (answer.json["survey"], answer.json["version"]) == ("work", 1)
    assert answer.json["digest"] == published.digest


def test_publishing_the_same_again_changes_nothing(site):
    first = site.post("/api/v1/surveys", json=make_draft())
    again = site.post("/api/v1/surveys", json=make_draft())
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json == first.json
    assert len(site.get("/api/v1/surveys").json["surveys"]) == 1


def test_a_published_version_never_changes(site):
    before = site.publish()
    answer = site.post("/api/v1/surveys", json=make_draft(title="Another title"))
    assert site.problem(answer) == (409, "version-exists", "version")
    assert before.digest in answer.json["detail"]
    assert site.get("/api/v1/surveys/work").data == before.canonical


@pytest.mark.sqlite
def test_warnings_list_clear_attributes_then_the_protected_width(site):
    warnings = site.post("/api/v1/surveys", json=make_draft()).json["warnings"]
    assert [(one["code"], one.get("attribute")) for one in warnings] == [
        ("clear-attribute", None),
        ("protected-width", "gender"),
        ("release-immediate", None),
        ("small-minimum-batch", None),
    ]
    assert warnings[0]["message"].startswith(
        "answers that leave the device in clear: education (plain) and income (target); epsilon"
    )
    assert "10,000 reports" in warnings[1]["message"]
    assert "2 reports of their own" in warnings[2]["message"]
    assert "minimum_batch is 3" in warnings[3]["message"]


@pytest.mark.sqlite
def test_width_of_a_protected_attribute_in_clear_has_no_remedy_by_epsilon(site):
    def warning(**draft):
        warnings = site.post("/api/v1/surveys", json=make_draft(**draft)).json["warnings"]
        return {one["code"]: one["message"] for one in warnings}["protected-width"]

    assert "give gender a larger part of epsilon" in warning()
    attributes = [
        {**attribute, "role": "plain"} if attribute["name"] == "gender" else attribute
        for attribute in make_draft()["attributes"]
    ]
    in_clear = warning(version=2, attributes=attributes)
    assert "takes" in in_clear
    assert "larger part of epsilon" not in in_clear


@pytest.mark.sqlite
@pytest.mark.parametrize("release", ["daily", "weekly", "end"])
def test_survey_that_releases_enough_on_a_schedule_has_no_warning_of_it(site, release):
    draft = make_draft(release=release, minimum_batch=20)
    codes = {one["code"] for one in site.post("/api/v1/surveys", json=draft).json["warnings"]}
    assert not codes & {"release-immediate", "small-minimum-batch"}


@pytest.mark.sqlite
def test_a_protocol_that_leaves_epsilon_unspent_is_named(site):
    draft = make_draft(protocol="THE")
    warnings = site.post("/api/v1/surveys", json=draft).json["warnings"]
    assert [one["attribute"] for one in warnings if one["code"] == "epsilon-unspent"] == ["gender"]


def attributes(*changed):
    return {"attributes": list(changed)}


GENDER = {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]}


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        (attributes({**GENDER, "categories": ["Female"]}), "attributes[gender].categories"),
        (attributes({**GENDER, "categories": ["A", "B", "A"]}), "attributes[gender].categories"),
        (attributes({**GENDER, "missing": "Male"}), "attributes[gender].missing"),
        (attributes(GENDER, GENDER), "attributes[gender].name"),
        ({"epsilon": "0"}, "epsilon"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": "nan"}, "epsilon"),
        ({"epsilon": "Infinity"}, "epsilon"),
        ({"epsilon": "65"}, "epsilon"),
        ({"epsilon": "0.000001"}, "attributes[gender].epsilon"),
        ({"protected": {"attribute": "race", "privileged": "x", "unprivileged": "y"}},
         "protected.attribute"),
        ({"protected": {"attribute": "gender", "privileged": "x", "unprivileged": "Male"}},
         "protected.privileged"),
        ({"protocol": "ROT13"}, "protocol"),
        ({"name": "../../etc/passwd"}, "name"),
        ({"submission": "blind"}, "submission"),
        ({"minimum_batch": 0}, "minimum_batch"),
        ({"surprise": 1}, "surprise"),
    ],
)  # fmt: skip
def test_a_manifest_that_breaks_a_rule_is_refused_by_field(site, changes, field):
    if "attributes" in changes:
        changes = {**changes, "protected": None}
    draft = {key: value for key, value in make_draft(**changes).items() if value is not None}
    answer = site.post("/api/v1/surveys", json=draft)
    assert site.problem(answer) == (422, "manifest-refused", field)
    assert site.get("/api/v1/surveys").json == {"surveys": []}


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("body", "media_type", "expected"),
    [
        (b"{", "application/json", (400, "invalid-json", "body")),
        (b'{"name": "a", "name": "b"}', "application/json", (400, "invalid-json", "body")),
        (b'{"epsilon": NaN}', "application/json", (400, "invalid-json", "epsilon")),
        (b'{"a": [{"b": -Infinity}]}', "application/json", (400, "invalid-json", "a.0.b")),
        (b"[NaN]", "application/json", (400, "invalid-json", "0")),
        (b"NaN", "application/json", (400, "invalid-json", "body")),
        (b'{"name": "\xff"}', "application/json", (400, "invalid-json", "body")),
        (b"{}", "text/plain", (415, "unsupported-media-type", "Content-Type")),
        (b"[]", "application/json", (422, "manifest-refused", "manifest")),
        (b" " * 5000, "application/json", (413, "payload-too-large", "body")),
    ],
)
def test_a_body_that_is_no_manifest_is_refused(make_site, body, media_type, expected):
    site = make_site(MAX_BODY_BYTES=4096, MAX_JSON_BYTES=4096)
    answer = site.post("/api/v1/surveys", data=body, content_type=media_type)
    assert site.problem(answer) == expected


@pytest.mark.parametrize("path", ["/api/v1/surveys/work", VERSION])
def test_the_fetched_bytes_are_what_was_hashed(site, path):
    published = site.publish()
    answer = site.get(path, headers={})
    assert hashlib.sha256(answer.data).hexdigest() == published.digest
    assert answer.headers["ETag"] == f'"{published.digest}"'
    other = site.get(path, headers={"If-None-Match": '"' + "0" * 64 + '"'})
    assert other.status_code == 200


def test_fetching_by_name_gives_the_highest_open_version(site):
    site.publish()
    site.publish(version=2)
    future = site.publish(version=3, opens="2027-01-01T00:00:00Z")
    assert site.get("/api/v1/surveys/work").json["version"] == 2
    site.post("/api/v1/surveys/work/versions/2/close")
    assert site.get("/api/v1/surveys/work").json["version"] == 1
    site.post(f"{VERSION}/close")
    assert site.get("/api/v1/surveys/work").data == future.canonical


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/surveys/nowhere", (404, "unknown-survey", "name")),
        ("/api/v1/surveys/nowhere/versions/1", (404, "unknown-survey", "name")),
        ("/api/v1/surveys/work/versions/2", (404, "unknown-survey", "version")),
        ("/api/v1/surveys/work/versions/0", (422, "invalid-request", "version")),
        ("/api/v1/surveys/..%2F..%2Fetc", (404, "not-found", None)),
    ],
)
def test_unpublished_survey_is_not_found(site, path, expected):
    site.publish()
    assert site.problem(site.get(path)) == expected


def test_the_list_shows_states_to_all_and_counts_to_readers(site):
    published = site.publish()
    site.publish(name="later", opens="2026-03-02T00:00:00Z")
    site.fill(published, 4)
    public = site.get("/api/v1/surveys", headers={}).json["surveys"]
    assert [(one["survey"], one["state"]) for one in public] == [
        ("later", "scheduled"),
        ("work", "open"),
    ]
    assert all("reports" not in one for one in public)
    assert [one["reports"] for one in site.get("/api/v1/surveys").json["surveys"]] == [0, 4]


@pytest.mark.sqlite
@pytest.mark.parametrize("body", [{"grace_seconds": -1}, {"grace_seconds": "1"}, {"grace": 1}])
def test_closing_refuses_what_it_does_not_know(site, body):
    site.publish()
    answer = site.post(f"{VERSION}/close", json=body)
    assert site.problem(answer) == (422, "invalid-request", next(iter(body)))


def test_version_that_another_process_published_is_there_at_once(make_site):
    """Guards: the list of versions was believed for a second, so a new one was not found."""
    here = make_site()
    there = make_site(clock=here.clock)
    here.publish()
    assert there.get("/api/v1/surveys/work").get_json()["version"] == 1
    assert there.get(VERSION).status_code == 200
    here.publish(version=2)
    assert there.get("/api/v1/surveys/work/versions/2").status_code == 200
    assert there.get("/api/v1/surveys/work").get_json()["version"] == 2
    here.post("/api/v1/surveys/work/versions/2/close", json={"grace_seconds": 0})
    assert there.get("/api/v1/surveys/work").get_json()["version"] == 1
