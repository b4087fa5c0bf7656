"""Drafts over HTTP: kept, changed by one editor at a time, published, begun from a version."""

from __future__ import annotations

import pytest

from hushpoll_server.services.surveys import drafts
from hushpoll_shared.drafts.manifest import Manifest
from sample_survey import SURVEYS, VERSION, bearer, make_draft

DRAFTS = "/api/v1/drafts"


def begin(site, **changes):
    answer = site.post(DRAFTS, json={"manifest": make_draft(**changes)})
    assert answer.status_code == 201, answer.json
    assert answer.headers["Location"] == f"{DRAFTS}/{answer.json['id']}"
    return f"{DRAFTS}/{answer.json['id']}", answer


def put(site, path, manifest, etag=None, headers=None):
    more = {} if etag is None else {"If-Match": etag}
    sent = {**(headers or site.admin), **more}
    return site.client().put(path, json={"manifest": manifest}, headers=sent)


def acts(site):
    return [
        (line.act, line.survey, line.subject) for line in reversed(site.services.actions.newest(50))
    ]


def test_a_draft_is_kept_listed_changed_and_deleted_and_the_log_says_by_whom(site):
    path, begun = begin(site, title="First\0 title", odd={"kept": [None, 1]})
    draft_id = begun.json["id"]
    assert begun.headers["ETag"] == '"1"'
    shown = site.get(path)
    assert shown.json == begun.json
    assert shown.json["manifest"] == make_draft(title="First\0 title", odd={"kept": [None, 1]})
    assert shown.json["owner"].startswith("token:")
    site.clock.advance(60)
    changed = put(site, path, {"name": "work", "title": 5}, etag='"1"')
    assert (changed.status_code, changed.headers["ETag"]) == (200, '"2"')
    (listed,) = site.get(DRAFTS).json["drafts"]
    assert listed["revision"] == 2
    assert listed["changed_at"] == "2026-03-01T12:01:00Z"
    assert listed["title"] == ""
    assert "manifest" not in listed
    kept = {**site.admin, "If-None-Match": '"2"'}
    assert site.get(path, headers=kept).status_code == 304
    assert site.client().delete(path, headers=site.admin).status_code == 204
    assert site.problem(site.get(path))[:2] == (404, "not-found")
    assert site.get(DRAFTS).json == {"drafts": []}
    assert acts(site) == [
        (act, "work", draft_id) for act in ("began-draft", "changed-draft", "deleted-draft")
    ]


def test_two_editors_do_not_overwrite_each_other(site):
    path, _ = begin(site)
    assert put(site, path, make_draft(title="Ada"), etag='W/"1"').status_code == 200
    late = put(site, path, make_draft(title="Bob"), etag='"1"')
    assert site.problem(late) == (412, "draft-changed", "If-Match")
    assert "revision 2" in late.json["detail"]
    assert site.get(path).json["manifest"]["title"] == "Ada"
    for etag in ('"1"', '"x"'):
        headers = {**site.admin, "If-Match": etag}
        assert site.problem(site.client().delete(path, headers=headers))[0] == 412
        assert site.problem(site.post(f"{path}/publish", headers=headers))[0] == 412
    assert put(site, path, make_draft(title="Bob"), etag='"7", "2"').status_code == 200
    assert put(site, path, make_draft(title="Eve"), etag="*").status_code == 200


@pytest.mark.sqlite
def test_a_change_that_names_no_state_is_refused(site):
    path, _ = begin(site)
    for answer in (put(site, path, make_draft()), site.post(f"{path}/publish")):
        assert site.problem(answer) == (428, "etag-needed", "If-Match")


@pytest.mark.sqlite
@pytest.mark.parametrize("name", [None, "A b", 5, "", "x" * 65])
def test_a_draft_needs_the_name_of_a_survey(site, name):
    answer = site.post(DRAFTS, json={"manifest": {"name": name}})
    assert site.problem(answer) == (422, "manifest-refused", "name")
    path, _ = begin(site)
    refused = put(site, path, {"name": name}, etag='"1"')
    assert site.problem(refused) == (422, "manifest-refused", "name")


@pytest.mark.sqlite
def test_a_draft_that_is_too_large_is_refused(make_site):
    site = make_site(MAX_MANIFEST_BYTES=2000)
    answer = site.post(DRAFTS, json={"manifest": make_draft(description="x" * 2000)})
    assert site.problem(answer) == (413, "payload-too-large", "manifest")


def test_one_token_begins_so_many_drafts_and_no_more(site, monkeypatch):
    """Guards: one editor could fill the database with drafts."""
    monkeypatch.setattr(drafts, "MOST_DRAFTS", 2)
    first, _ = begin(site)
    begin(site)
    site.publish()
    for path, body in ((DRAFTS, {"manifest": make_draft()}), (f"{VERSION}/draft", None)):
        answer = site.post(path, json=body)
        status, code, field = site.problem(answer)
        assert (status, code, field) == (422, "invalid-request", "drafts")
        assert "2 that you have begun, of at most 2; publish or delete one" in answer.json["detail"]
    # Those of another token are no matter of it.
    of_work = bearer(site.services.access.issue(["publish"], surveys=["work"]).token)
    other = site.client().post(DRAFTS, json={"manifest": make_draft()}, headers=of_work)
    assert other.status_code == 201, other.json
    assert site.client().delete(first, headers=site.admin).status_code == 204
    begin(site)


def test_a_bound_token_sees_and_changes_drafts_of_its_own_surveys_alone(site):
    access = site.services.access
    of_home = bearer(access.issue(["publish"], surveys=["home"]).token)
    path, _ = begin(site)
    own = site.post(DRAFTS, json={"manifest": make_draft(name="home")}, headers=of_home).json
    assert [one["survey"] for one in site.get(DRAFTS, headers=of_home).json["drafts"]] == ["home"]
    refusals = [
        site.get(path, headers=of_home),
        put(site, path, make_draft(name="home"), etag="*", headers=of_home),
        put(site, f"{DRAFTS}/{own['id']}", make_draft(), etag="*", headers=of_home),
        site.client().delete(path, headers=of_home),
        site.post(f"{path}/publish", headers={**of_home, "If-Match": "*"}),
        site.post(DRAFTS, json={"manifest": make_draft()}, headers=of_home),
        site.post(f"{DRAFTS}/validate", json={"manifest": make_draft()}, headers=of_home),
    ]
    assert {site.problem(answer)[:2] for answer in refusals} == {(403, "forbidden")}
    assert len(site.get(DRAFTS).json["drafts"]) == 2


def test_a_published_draft_is_gone_and_its_survey_is_there(site):
    path, begun = begin(site)
    answer = site.post(f"{path}/publish", headers={**site.admin, "If-Match": '"1"'})
    assert answer.status_code == 201
    assert answer.headers["Location"] == VERSION
    assert answer.json["digest"] == Manifest.from_dict(begun.json["manifest"]).resolve().digest
    assert answer.json["warnings"]
    assert site.get(path).status_code == 404
    assert acts(site)[-1][:2] == ("published", "work")


def test_a_draft_that_cannot_be_published_is_kept(site):
    path, _ = begin(site, epsilon="60")
    match = {**site.admin, "If-Match": "*"}
    weak = site.post(f"{path}/publish", headers=match)
    assert site.problem(weak)[1] == "hardly-protected"
    put(site, path, make_draft(release="now"), etag="*")
    assert site.problem(site.post(f"{path}/publish", headers=match))[2] == "release"
    assert site.get(path).status_code == 200
    put(site, path, make_draft(epsilon="60"), etag="*")
    assert site.post(f"{path}/publish?allow_weak=true", headers=match).status_code == 201


def test_the_next_version_begins_as_a_draft_of_the_published_one(site):
    published = site.publish(closes="2026-03-02T00:00:00Z", description="As it was.")
    answer = site.post(f"{VERSION}/draft")
    assert answer.status_code == 201
    manifest = answer.json["manifest"]
    assert manifest["version"] == 2
    assert manifest["attributes"][2]["range"] == [1, 5]
    assert not {"format", "closes"} & set(manifest)
    again = Manifest.from_dict({**manifest, "version": 1, "closes": published.closes})
    assert again.resolve().digest == published.digest
    site.post(SURVEYS, json=manifest)
    assert site.post(f"{VERSION}/draft").json["manifest"]["version"] == 3
    unknown = site.post(f"{SURVEYS}/work/versions/9/draft")
    assert site.problem(unknown)[:2] == (404, "unknown-survey")


@pytest.mark.sqlite
def test_validation_has_problems_warnings_and_the_form_that_would_be_published(site):
    def validated(**changes):
        answer = site.post(f"{DRAFTS}/validate", json={"manifest": make_draft(**changes)})
        assert answer.status_code == 200
        return answer.json

    good = validated(minimum_batch=5)
    assert (good["valid"], good["problems"]) == (True, [])
    codes = {warning["code"] for warning in good["warnings"]}
    assert codes == {
        "clear-attribute", "protected-width", "release-immediate", "small-minimum-batch",
    }  # fmt: skip
    published = site.publish(minimum_batch=5)
    assert (good["digest"], good["manifest"]) == (published.digest, published.to_dict())
    assert validated(minimum_batch=5)["valid"]
    other = validated(title="Another")
    assert [problem["field"] for problem in other["problems"]] == ["version"]
    assert "publish this as version 2" in other["problems"][0]["message"]
    weak = validated(epsilon="60", version=2)
    assert weak["valid"]
    assert "epsilon" in weak["hardly_protected"]
    many = validated(attributes=[{"name": f"a{n}", "range": [1, 60000]} for n in range(9)])
    assert [problem["field"] for problem in many["problems"]] == ["attributes"]
    assert "declares 540000 categories together" in many["problems"][0]["message"]
    bad = validated(epsilon="x", release="now")
    assert not bad["valid"]
    assert [problem["field"] for problem in bad["problems"]] == ["epsilon", "release"]
    assert site.get(DRAFTS).json == {"drafts": []}


@pytest.mark.sqlite
def test_a_plan_of_too_many_categories_is_refused_before_a_range_is_expanded(site):
    ranges = [
        {"name": f"q{place}", "role": "sensitive", "range": [0, 65_535]} for place in range(256)
    ]
    # Were the manifest read, its epsilon would be refused first.
    body = {"manifest": make_draft(attributes=ranges, epsilon="lots", protected=None), "n": 1000}
    answer = site.post(f"{DRAFTS}/plan", json=body)
    assert site.problem(answer)[2] == "attributes"
    assert "16777216 categories" in answer.json["detail"]


@pytest.mark.sqlite
def test_the_launch_plan_gives_a_pair_the_verdict_that_its_result_begins_with(site):
    marked = make_draft(pairs=[["income", "gender"]])
    body = {"manifest": marked, "n": 50}
    (pair,) = site.post(f"{DRAFTS}/plan", json=body).json["pairs"]
    assert (pair["a"], pair["b"], pair["statistic"]) == ("income", "gender", "independence")
    site.fill(site.publish(), 50)
    site.seal()
    asked = {"a": "income", "b": "gender"}
    result = site.get(f"{VERSION}/independence", query_string=asked).json
    assert pair["verdict"] == result["verdict"]


@pytest.mark.sqlite
def test_the_launch_plan_has_every_question_a_verdict_and_the_audit(site):
    def planned(**changes):
        body = {"manifest": make_draft(), "n": 1000, **changes}
        return site.post(f"{DRAFTS}/plan", json=body)

    plan = planned().json
    assert [one["name"] for one in plan["questions"]] == [
        "gender", "age", "country", "education", "income",
    ]  # fmt: skip
    assert plan["questions"][3]["protocol"] is None
    widest = max(plan["questions"], key=lambda one: one["width"])
    assert plan["verdict"]["goal"]["subject"] == widest["name"]
    assert plan["verdict"]["predicted"] == pytest.approx(widest["width"])
    assert plan["verdict"]["sentence"].startswith("No: ")
    assert plan["audit"]["attribute"] == "gender"
    assert 0 < plan["audit"]["powers"]["SPD"] < 1
    assert "disparity in SPD is found" in plan["audit"]["sentence"]
    more = planned(n=plan["verdict"]["n_needed"]).json
    assert more["verdict"]["answer"] == "yes"
    assert planned(manifest=make_draft(protected=None)).json["audit"] is None
    assert plan["pairs"] == []
    assert site.problem(planned(n=0))[2] == "n"
    assert site.problem(planned(manifest=make_draft(release="now")))[1] == "manifest-refused"
