"""Every route times every role.

The routes are those of the application's map. Rows of the API are made from the declarations of
its operations; whether these ask for the right scope, `SCOPES_BY_HAND` says. One that is added
fails here until it stands there, unless it is a GET of scope `read`; a page fails until it has a
row. ``scope`` is the scope that a route asks for; None where it is public. ``done`` is the status
that an authorised request gets, with the arguments given here.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from hushpoll_server.device_routes import ROUTES as DEVICE_ROUTES
from hushpoll_server.device_routes import match
from hushpoll_server.http.endpoint import Operation
from hushpoll_server.services.surveys.access import SCOPES
from hushpoll_server.web_application import OPERATIONS
from hushpoll_shared.querying.registry import all_queries
from hushpoll_shared.wire import reports as wire
from sample_survey import REPORTS, VERSION, bearer

METRICS_TOKEN = "m" * 24
# What stands in the places of a path: a survey's version, and ids of nothing that is there.
PLACES = {
    "name": "work",
    "int:version": "1",
    "survey": "work",
    "user": "nobody",
    "token_id": "0123456789abcdef",
    "draft_id": "0" * 16,
    **dict.fromkeys(("job_id", "model_id", "audit_id", "regression_id"), "0" * 32),
}
HERE = {"name", "int:version"}
# Who may do what, said once more and by hand: what changes something, or lets a person in.
SCOPES_BY_HAND = {
    "": ["surveys.list_surveys"],
    "admin": [
        "analysis.delete_records",
        "operations.operations",
        "tokens.issue_token",
        "tokens.list_tokens",
        "tokens.revoke_token",
        "tokens.rotate_token",
        "users.add_user",
        "users.give_role",
        "users.list_actions",
        "users.list_users",
        "users.remove_user",
        "users.set_password",
        "users.take_role",
    ],
    "publish": [
        "drafts.add_draft",
        "drafts.add_image",
        "drafts.delete_draft",
        "drafts.draft_version",
        "drafts.import_draft",
        "drafts.list_drafts",
        "drafts.plan_draft",
        "drafts.publish_draft",
        "drafts.replace_draft",
        "drafts.show_draft",
        "drafts.validate_draft",
        "jobs.invite",
        "jobs.remind",
        "jobs.seal",
        "origins.list_origins",
        "origins.replace_origins",
        # on a closed survey a token needs `read` as well: tests/server/http/test_survey_reports.py
        "survey_reports.publish_results",
        "survey_reports.take_results_back",
        "surveys.close",
        "surveys.publish",
        "tokens.issue_invitations",
        "tokens.issue_respondent_tokens",
        "tokens.preview_mails",
    ],
    "train": [
        "audits.delete_audit",
        "jobs.fairness",
        "jobs.train",
        "jobs.tune",
        "models.delete_model",
    ],
    # and all that is looked at by GET
    "read": [
        "jobs.dependencies",
        "jobs.export",
        "jobs.regress",
        "jobs.report",
        "jobs.shape",
        "jobs.table",
        "jobs.weight",
        "plans.plan",
        "regressions.delete_regression",
        "relations.weighted_shares",
    ],
    # each that may ask for a job may cancel its own: see below
    "read train publish": ["jobs.cancel"],
}
BYTES: dict[str, Any] = {"data": b"%PDF-", "content_type": "application/octet-stream"}
# Where the answer to an authorised request does not follow from its method and path: its status,
# the request, and what stands in the path.
UNLIKE_OTHERS: dict[str, tuple[int, dict[str, Any], dict[str, str]]] = {
    "analysis.delete_records": (409, {}, {}),
    "drafts.add_image": (422, BYTES, {}),
    "drafts.draft_version": (201, {}, {}),
    "drafts.import_draft": (422, BYTES, {}),
    "drafts.publish_draft": (404, {}, {}),
    "jobs.cancel": (404, {}, {}),
    # what is sent, and to whom: tests/server/test_mailing.py
    "jobs.invite": (422, {"json": {"people": [{"address": "a@example.org"}]}}, {}),
    "jobs.remind": (422, {"json": {}}, {}),
    "jobs.seal": (202, {}, {}),
    "origins.replace_origins": (200, {"json": {"origins": []}}, {}),
    "survey_reports.publish_results": (409, {}, {}),
    "surveys.close": (200, {}, {"name": "ending"}),
    # of a survey that takes none: tests/server/test_invitations.py issues some
    "tokens.issue_invitations": (422, {"json": {"count": 1}}, {}),
    "tokens.issue_respondent_tokens": (201, {"json": {"count": 1}}, {"name": "panel"}),
    "tokens.rotate_token": (404, {}, {}),
    # a query that needs parameters refuses a request without them, once it is authorised
    **{
        f"queries.{query.name.replace('-', '_')}": (422, {}, {})
        for query in all_queries().values()
        if any(one.required for one in query.parameters())
    },
}


@dataclass(frozen=True)
class Route:
    """One method of one endpoint; of several scopes one suffices."""

    endpoint: str
    method: str
    path: str
    scope: str | tuple[str, ...] | None
    done: int
    options: Mapping[str, Any] = field(default_factory=dict)
    # Whether a token is looked at though none is asked for: then one that is no good is refused.
    optional: bool = False

    @property
    def scopes(self) -> tuple[str, ...]:
        return (self.scope,) if isinstance(self.scope, str) else self.scope or ()


def declared(operation: Operation) -> Route:
    """A row of the table: an operation as its route declares it, and a request for it."""
    places = re.findall(r"<([\w:]+)>", operation.rule)
    if operation.method in ("POST", "PUT"):
        done, options = 422, {"json": {"x": 1}}
    else:
        done = 200 if operation.method == "GET" and HERE.issuperset(places) else 404
        options = {}
    done, options, others = UNLIKE_OTHERS.get(operation.name, (done, options, {}))
    path = re.sub(r"<([\w:]+)>", lambda found: (PLACES | others)[found[1]], operation.rule)
    scope = operation.scopes[0] if len(operation.scopes) == 1 else operation.scopes or None
    return Route(
        operation.name, operation.method, path, scope, done, options, optional=scope is None
    )


ROUTES = [
    # respondents and everybody
    Route("surveys.fetch_survey", "GET", "/api/v1/surveys/work", None, 200),
    Route("surveys.fetch_version", "GET", VERSION, None, 200),
    # Any client that has the secret of a report; no token is looked at.
    Route("reports.withdraw", "POST", "/api/v1/surveys/work/withdrawals", None, 422, {"json": {}}),
    # an invitation is looked at, and no analyst's token: the survey takes none
    Route("reports.redeem", "POST", "/api/v1/surveys/work/redemptions", None, 422, {"json": {}}),
    Route("openapi", "GET", "/api/v1/openapi.json", None, 200),
    Route("docs", "GET", "/docs", None, 200),
    Route("health.health", "GET", "/health", None, 200),
    Route("health.ready", "GET", "/ready", None, 200),
    Route("page.survey", "GET", "/s/work", None, 200),
    Route("page.survey_version", "GET", "/s/work/versions/1", None, 200),
    Route("public_results.newest", "GET", "/results/work", None, 404),
    Route("public_results.results", "GET", "/results/work/versions/1", None, 404),
    Route("public_results.file", "GET", "/results/work/versions/1/bundle.zip", None, 404),
    Route("page.asset", "GET", "/page/0/nothing.js", None, 404),
    Route("page.image", "GET", "/image/" + "0" * 64, None, 404),
    # the dashboard looks at its own session and at no bearer token: all are led to the sign-in
    Route("start", "GET", "/", None, 303),
    Route("dashboard.start", "GET", "/dashboard", None, 303),
    Route("dashboard.sign_in", "GET", "/dashboard/sign-in", None, 200),
    Route("dashboard.begin_session", "POST", "/dashboard/sign-in", None, 403),
    # where no OpenID Connect provider is configured
    Route("dashboard.to_provider", "GET", "/dashboard/sign-in/provider", None, 404),
    Route("dashboard.from_provider", "GET", "/dashboard/sign-in/return", None, 404),
    *(
        Route(f"dashboard.{endpoint}", method, f"/dashboard{path}", None, 303)
        for method, path, endpoint in (
            ("GET", "/", "surveys"),
            ("GET", "/account", "account"),
            ("POST", "/account/sessions/0/end", "end_session"),
            ("POST", "/account/password", "change_password"),
            ("POST", "/sign-out", "sign_out"),
            ("GET", "/surveys/work/versions/1", "survey"),
            ("POST", "/surveys/work/versions/1/close", "close"),
            ("GET", "/surveys/work/versions/1/qr-code.svg", "code"),
            ("POST", "/surveys/work/versions/1/origins", "replace_origins"),
            ("POST", "/surveys/work/versions/1/tokens", "issue_respondent_tokens"),
            ("GET", "/surveys/work/versions/1/invitations", "invitations"),
            ("POST", "/surveys/work/versions/1/invitations", "issue_invitations"),
            ("POST", "/surveys/work/versions/1/invitations/mail", "invite_people"),
            ("POST", "/surveys/work/versions/1/invitations/reminders", "remind_people"),
            ("POST", "/surveys/work/versions/1/delete-records", "delete_records"),
            ("GET", "/surveys/work/versions/1/days.csv", "days_file"),
            ("GET", "/surveys/work/versions/1/estimates", "estimates"),
            ("GET", "/surveys/work/versions/1/estimates/age.csv", "estimates_file"),
            ("GET", "/surveys/work/versions/1/weighted", "weighted"),
            ("GET", "/surveys/work/versions/1/weighted/shares.csv", "weighted_file"),
            ("GET", "/surveys/work/versions/1/cross-tables", "cross_tables"),
            ("GET", "/surveys/work/versions/1/cross-table.csv", "cross_table_file"),
            ("GET", "/surveys/work/versions/1/report", "report"),
            ("GET", "/surveys/work/versions/1/report-file", "report_file"),
            ("GET", "/surveys/work/versions/1/privacy-sheet.html", "sheet"),
            ("GET", "/surveys/work/versions/1/codebook.html", "codebook_of_survey"),
            ("POST", "/surveys/work/versions/1/public-results", "publish_results"),
            ("POST", "/surveys/work/versions/1/public-results/take-back", "take_results_back"),
            ("GET", "/surveys/work/versions/1/comparison", "comparison"),
            ("GET", "/surveys/work/versions/1/comparison.csv", "comparison_file"),
            ("GET", "/surveys/work/versions/1/results", "kinds_of_results"),
            ("GET", "/surveys/work/versions/1/results.csv", "all_results_file"),
            ("GET", "/surveys/work/versions/1/results/estimates", "result"),
            ("GET", "/surveys/work/versions/1/results/estimates/file.csv", "result_file"),
            ("GET", "/surveys/work/versions/1/tables/0", "joint_table"),
            ("GET", "/surveys/work/versions/1/tables/0/table.csv", "joint_table_file"),
            ("GET", "/surveys/work/versions/1/models", "models"),
            ("POST", "/surveys/work/versions/1/models", "ask_for_training"),
            ("GET", "/surveys/work/versions/1/models/compare", "compare"),
            ("GET", "/surveys/work/versions/1/models/compare.csv", "compare_file"),
            ("GET", "/surveys/work/versions/1/models/0", "model_card"),
            ("POST", "/surveys/work/versions/1/models/0/delete", "delete_model"),
            ("GET", "/surveys/work/versions/1/regressions", "regressions"),
            ("POST", "/surveys/work/versions/1/regressions", "ask_for_regression"),
            ("GET", "/surveys/work/versions/1/regressions/0", "regression"),
            ("GET", "/surveys/work/versions/1/regressions/0/chart.csv", "regression_file"),
            ("POST", "/surveys/work/versions/1/regressions/0/delete", "delete_regression"),
            ("GET", "/surveys/work/versions/1/fairness", "fairness"),
            ("POST", "/surveys/work/versions/1/fairness", "ask_for_audit"),
            ("GET", "/surveys/work/versions/1/fairness/0", "audit"),
            ("GET", "/surveys/work/versions/1/fairness/0/chart.csv", "audit_file"),
            ("POST", "/surveys/work/versions/1/fairness/0/delete", "delete_audit"),
            ("GET", "/surveys/work/versions/1/quality", "quality"),
            ("POST", "/surveys/work/versions/1/quality", "ask_for_shape"),
            ("GET", "/surveys/work/versions/1/quality/refusals.csv", "refusals_file"),
            ("GET", "/surveys/work/versions/1/quality/shape/0.csv", "shape_file"),
            ("GET", "/curve", "curve"),
            ("POST", "/curve", "draw_curve"),
            ("GET", "/surveys/work/versions/1/jobs", "survey_jobs"),
            ("POST", "/surveys/work/versions/1/jobs", "ask_for_export"),
            ("POST", "/surveys/work/versions/1/tables", "ask_for_table"),
            ("GET", "/jobs", "jobs"),
            ("GET", "/jobs/0/result", "job_result"),
            ("POST", "/jobs/0/cancel", "cancel_job"),
            ("GET", "/people", "people"),
            ("GET", "/operations", "operations"),
            ("POST", "/people", "add_user"),
            ("POST", "/people/ada/role", "give_role"),
            ("POST", "/people/ada/remove", "remove_user"),
            ("POST", "/tokens", "issue_token"),
            ("POST", "/tokens/0/revoke", "revoke_token"),
            ("GET", "/drafts/new", "new_draft"),
            ("POST", "/drafts/new", "begin_draft"),
            ("POST", "/surveys/work/versions/1/draft", "draft_version"),
            ("GET", "/drafts/0", "draft"),
            ("POST", "/drafts/0", "change_draft"),
            ("GET", "/drafts/0/publish", "publish_page"),
            ("POST", "/drafts/0/publish", "publish_draft"),
            ("POST", "/drafts/0/delete", "delete_draft"),
            ("POST", "/drafts/0/logo", "change_logo"),
            ("GET", "/nothing", "nothing"),
        )
    ),
    # reports: see below for single ones and for token surveys
    Route(
        "reports.submit", "POST", REPORTS, "submit", 422,
        {"data": b"HUSH", "content_type": wire.REPORTS_MEDIA_TYPE},
    ),
    # what reads metrics has a token of its own, in the settings
    Route("metrics.read", "GET", "/metrics", "metrics", 200),
    *map(declared, OPERATIONS),
]  # fmt: skip


pytestmark = pytest.mark.sqlite


def filled(site):
    site.fill(site.publish(), 5)
    site.seal()
    site.publish(name="panel", submission="token")
    site.publish(name="ending")
    return site


@pytest.fixture
def site(make_site):
    return filled(make_site(METRICS_TOKEN=METRICS_TOKEN))


@pytest.fixture(scope="module")
def asked(tmp_path_factory, migrated, make_whole):
    """One site for all rows, and a token for each role.

    What a row may do is refused for its arguments, or changes nothing that other rows look at.
    """
    path = tmp_path_factory.mktemp("matrix") / "hushpoll.sqlite"
    shutil.copy(migrated, path)
    site = make_whole(f"sqlite:///{path}", METRICS_TOKEN=METRICS_TOKEN)
    filled(site)
    tokens = tokens_of(site)
    yield site, tokens
    site.stop()


def tokens_of(site):
    """A bearer token for each role; None for nobody."""
    access = site.services.access

    def issue(*scopes, **more):
        return access.issue(scopes, **more)

    expired = issue("admin", expires_in=1)
    overlapped = issue("admin")
    revoked, replaced, rotated_out = issue("admin"), issue("admin"), issue("admin")
    access.revoke(revoked.id)
    access.rotate(rotated_out.id, overlap_seconds=1)
    access.rotate(overlapped.id, overlap_seconds=3600)
    access.revoke(access.rotate(replaced.id, overlap_seconds=3600).issued.id)
    site.clock.advance(1)
    respondent = site.tokens(1, name="panel")[0]
    return {
        "nobody": None,
        "nonsense": "nonsense",
        "respondent": respondent,
        **{scope: issue(scope).token for scope in SCOPES},
        "all but admin": issue("submit", "publish", "read", "train").token,
        "expired": expired.token,
        "revoked": revoked.token,
        "rotated out": rotated_out.token,
        "in its overlap": overlapped.token,
        "in its overlap, successor revoked": replaced.token,
        "forged": "hp_" + access.issue(["admin"]).id + "_" + "A" * 43,
        "metrics": METRICS_TOKEN,
    }


# Whose tokens are no good anywhere in the API, and what each of the others holds.
WORTHLESS = {"nonsense", "respondent", "expired", "revoked", "rotated out", "forged", "metrics"}
HOLDS = {
    **{scope: {scope} for scope in SCOPES},
    "admin": set(SCOPES),
    "all but admin": {"submit", "publish", "read", "train"},
    "in its overlap": set(SCOPES),
    "in its overlap, successor revoked": set(SCOPES),
}


def expected(route, role):
    if route.scope == "metrics":
        return route.done if role == "metrics" else 401
    if role == "nobody":
        return route.done if route.scope is None else 401
    if role in WORTHLESS:
        return 401 if route.scope is not None or route.optional else route.done
    return route.done if route.scope is None or set(route.scopes) & HOLDS[role] else 403


@pytest.mark.parametrize("route", ROUTES, ids=[f"{one.method} {one.endpoint}" for one in ROUTES])
def test_each_route_answers_each_role_as_the_table_says(asked, route):
    site, tokens = asked
    assert set(tokens) == {"nobody"} | WORTHLESS | set(HOLDS)
    client = site.client()
    found = {}
    for role, token in tokens.items():
        headers = {} if token is None else bearer(token)
        answer = client.open(route.path, method=route.method, headers=headers, **route.options)
        found[role] = answer.status_code
        if answer.status_code == 401:
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert answer.json["code"] == "unauthorized"
        if answer.status_code == 403 and not route.endpoint.startswith("dashboard."):
            assert (answer.json["code"], answer.json["scope"]) == ("forbidden", route.scopes[0])
    assert found == {role: expected(route, role) for role in tokens}


def test_each_operation_of_the_api_asks_for_the_scope_that_is_listed_here():
    by_hand = {name: scopes for scopes, names in SCOPES_BY_HAND.items() for name in names}
    assert {one.name for one in OPERATIONS} >= set(by_hand), "there is no such operation any more"
    for operation in OPERATIONS:
        unlisted = "read" if operation.method == "GET" else "list it in SCOPES_BY_HAND"
        assert " ".join(operation.scopes) == by_hand.get(operation.name, unlisted), operation.name


def test_the_table_has_every_route_and_no_other(site):
    routed = {
        (rule.endpoint, method)
        for rule in site.app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    devices = [(one, found) for one in ROUTES if (found := match(one.path)) is not None]
    assert {found.route for _, found in devices} == set(DEVICE_ROUTES)
    routed |= {(one.endpoint, one.method) for one, _ in devices}
    named = {(route.endpoint, route.method) for route in ROUTES}
    assert routed - named == set(), (
        "say in ROUTES who may do this, and what an allowed request gets"
    )
    assert named - routed == set(), "there is no such route any more"
    assert len(named) == len(ROUTES)


def test_the_document_says_which_routes_need_a_token(site):
    document = site.get("/api/v1/openapi.json").json
    guarded = {
        operation["operationId"]
        for operations in document["paths"].values()
        for operation in operations.values()
        if operation.get("security")
    }
    needing = {
        route.endpoint
        for route in ROUTES
        if route.scope not in (None, "metrics") and route.endpoint != "reports.submit"
    }
    assert {one.endpoint for one in ROUTES} >= needing
    assert len(guarded) == len(needing)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_head_and_options_give_no_more_than_get(site, method):
    """HEAD asks for the same scope; OPTIONS is answered without one and tells nothing."""
    client = site.client()
    for route in ROUTES:
        if route.method != "GET" or route.scope is None:
            continue
        answer = client.open(route.path, method=method)
        assert answer.status_code == (401 if method == "HEAD" else 200), route.path
        assert answer.data == b""


def test_a_single_report_needs_no_token_and_is_hurt_by_none(site):
    """In an open survey; in a token survey nothing but an unspent token of it will do."""
    published = site.services.surveys.published(site.row())
    panel = site.services.surveys.published(site.services.surveys.latest("panel"))
    for role, token in tokens_of(site).items():
        assert site.send(published, token=token).status_code == 201, role
        status = site.send(panel, token=token).status_code
        assert status == (201 if role == "respondent" else 401), role


@pytest.mark.parametrize(
    ("scope", "kind", "body"),
    [
        ("train", "fairness", {}),
        ("publish", "seal", {}),
        ("read", "table", {"attributes": ["gender", "age"]}),
    ],
)
def test_token_cancels_the_job_that_it_asked_for_and_no_other(site, scope, kind, body):
    """Guards: a token that may train, and may not read, could not end its own training."""
    headers = site.analyst(scope)
    job = site.add_job(kind, body, headers=headers)
    for other in (site.analyst(scope), site.analyst("submit")):
        refused = site.post(f"/api/v1/jobs/{job}/cancel", headers=other)
        assert site.problem(refused)[:2] == (403, "forbidden")
    assert site.job(job)["state"] == "queued"
    answer = site.post(f"/api/v1/jobs/{job}/cancel", headers=headers)
    assert (answer.status_code, answer.json["state"]) == (200, "cancelled")
