"""A server below a path of a real nginx: pages, sign-in, API, devices and offline copies."""

from __future__ import annotations

import re
from urllib.parse import urljoin

import pytest
import requests

from hushpoll_client import SurveyClient
from hushpoll_protocols import InvalidParameter
from hushpoll_server.config.settings import OWN_PATHS, Settings
from hushpoll_server.prefix import below_prefix
from nginx_server import nginx_server
from sample_survey import SURVEYS, bytes_of, make_draft
from waiting import LONGEST_SECONDS

pytestmark = pytest.mark.sqlite

PASSWORD = "a long enough password"
LOCATION = """
        location /polls/ {{
            proxy_pass {address};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Prefix /elsewhere;
        }}
"""


@pytest.mark.parametrize("taken_off", [True, False], ids=["taken-off", "left"])
def test_everything_works_below_a_prefix_of_nginx(tmp_path, serve, taken_off):
    server = serve("--path-prefix", "/polls", "--trusted-proxies", "1")
    location = LOCATION.format(address=server.url + ("/" if taken_off else ""))
    with nginx_server(tmp_path, location) as proxy, requests.Session() as browser:

        def get(path, status=200):
            answer = browser.get(
                urljoin(proxy, path), allow_redirects=False, timeout=LONGEST_SECONDS
            )
            assert answer.status_code == status, answer.text
            return answer

        # an analyst publishes, by the address with the prefix
        published = browser.post(
            f"{proxy}/polls{SURVEYS}",
            json=make_draft(),
            headers=server.admin,
            timeout=LONGEST_SECONDS,
        )
        assert published.status_code == 201, published.text
        assert published.headers["Location"] == "/polls/api/v1/surveys/work/versions/1"
        assert get(published.headers["Location"]).json()["name"] == "work"

        # a respondent's page, all that it loads, and where its worker may work
        page = get("/polls/s/work").text
        loaded = re.findall(r'(?:src|href)="([^"#?]+)"', page)
        assert any(path.endswith("page/main.js") for path in loaded)
        for path in loaded:
            assert path.startswith("/polls/page/"), path
            get(path)
        attributes = dict(re.findall(r'data-(server|scope|worker)="([^"]*)"', page))
        assert attributes["server"] == "/polls"
        assert attributes["scope"] == "/polls/s/"
        assert get(attributes["worker"]).headers["Service-Worker-Allowed"] == "/polls/"
        assert 'href="/polls/api/v1/openapi.json"' in get("/polls/docs").text

        # a device, by the Python SDK
        survey = SurveyClient(f"{proxy}/polls", "work", storage=tmp_path / "device.sqlite")
        try:
            survey.give_consent()
            fetched = survey.fetch()
        finally:
            survey.close()
        sent = browser.post(
            f"{proxy}/polls{SURVEYS}/work/reports",
            data=bytes_of(fetched),
            headers={"Content-Type": "application/json"},
            timeout=LONGEST_SECONDS,
        )
        assert sent.status_code == 201, sent.text
        assert server.counts()["accepted"] == 1

        # a user signs in and comes to the page that they asked for
        server.post("/api/v1/users", {"name": "ada", "password": PASSWORD, "roles": {"*": "admin"}})
        assert get("/polls/", 303).headers["Location"] == "/polls/dashboard/"
        asked = get("/polls/dashboard/people", 303).headers["Location"]
        assert asked == "/polls/dashboard/sign-in?next=%2Fpolls%2Fdashboard%2Fpeople"
        form = get(asked).text
        hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))
        (action,) = re.findall(r'<form method="post" action="([^"]+)"', form)
        signed = browser.post(
            urljoin(proxy, action),
            data={**hidden, "name": "ada", "password": PASSWORD},
            allow_redirects=False,
            timeout=LONGEST_SECONDS,
        )
        assert signed.status_code == 303, signed.text
        assert signed.headers["Location"] == "/polls/dashboard/people"
        assert {cookie.path for cookie in browser.cookies} == {"/polls/dashboard"}
        get("/polls/dashboard/people")
        shown = get("/polls/dashboard/surveys/work/versions/1").text
        assert f"{proxy}/polls/s/work#sha256={published.json()['digest']}" in shown
        assert not re.search(r'(?:href|action|src)="/(?!polls/)', shown)


@pytest.mark.parametrize(
    ("path", "raw", "inner", "inner_raw"),
    [
        ("/polls/s/work", b"/polls/s/work", "/s/work", b"/s/work"),
        ("/polls/s/a b", b"/p%6flls/s/a%20b", "/s/a b", b"/s/a%20b"),
        ("/polls", b"/polls", "/", b"/"),
        ("/polls/", b"/polls/", "/", b"/"),
        ("/s/work", b"/s/work", "/s/work", b"/s/work"),
        ("/pollsters", b"/pollsters", "/pollsters", b"/pollsters"),
    ],
)
def test_the_prefix_is_taken_off_once_and_with_whole_names(path, raw, inner, inner_raw):
    scope = {"type": "http", "path": path, "raw_path": raw}
    below = below_prefix(scope, "/polls")
    assert (below["path"], below["raw_path"]) == (inner, inner_raw)
    assert scope == {"type": "http", "path": path, "raw_path": raw}
    assert below_prefix(scope, "") is scope


@pytest.mark.parametrize(
    "prefix", ["polls", "/polls/", "//", "/a b", "/../x", "/x?y", "/api", "/s/x"]
)
def test_a_prefix_that_could_be_misread_is_refused(prefix):
    with pytest.raises(InvalidParameter) as caught:
        Settings(path_prefix=prefix)
    assert caught.value.field == "PATH_PREFIX"
    assert repr(prefix) in str(caught.value)


def test_every_address_of_the_server_is_one_that_no_prefix_may_have(make_site):
    site = make_site()
    roots = {rule.rule.split("/")[1] for rule in site.app.url_map.iter_rules()}
    assert roots - {""} <= OWN_PATHS
