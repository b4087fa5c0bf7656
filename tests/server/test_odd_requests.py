"""Requests with odd methods, targets and headers, drawn by a seed: none is the server's fault."""

from __future__ import annotations

import http.client
import random
import re
import socket

import pytest

from served import Process

METRICS_TOKEN = "metrics-token-of-tests"
REQUESTS = 250
METHODS = (
    *(b"GET", b"POST", b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"PROPFIND", b"TRACE"),
    *(b"CONNECT", b"BREW", b"get", b"M-SEARCH", b"QUERY"),
)
PATHS = (
    *(b"/", b"/api/v1/surveys", b"/api/v1/jobs", b"/dashboard/", b"/dashboard/sign-in"),
    *(b"/results/x", b"/surveys/x", b"/page/x/y", b"/metrics", b"/api/v1/users/x/roles/y"),
    *(b"/api/v1/drafts/plan", b"/dashboard/sign-in/return", b"/dashboard/surveys/x/versions/1"),
)
TARGETS = (
    *(b"?", b"?x=\xff", b"?x=%ff", b"?x=%00", b"?%", b"?format=%ff", b"?name=a%00b", b"?x=a b"),
    *(b"%", b"%zz", b"%00", b"\xff", b"%ff", b"//", b"/..", b"/.", b"/%2e%2e", b";x", b"#f", b"\\"),
    *(b"?" + b"a=1&" * 500, b"/" + b"a" * 3000, b"|", b"{}", b"\x7f", b"?\x7f", b"?[]", b"^"),
    *(b'"', b'?"<>', b"?limit=1e999", b"?limit=" + b"9" * 30, b"?next=//evil", b"?state=x&code=x"),
    *(b"/%c0%ae", b"?version=%F0%9F%92%A9", b"*"),
)
WHOLE_TARGETS = (b"*", b"http://x/dashboard/", b"x:80", b"dashboard", b"http://[/")
NAMES = (
    *(b"Authorization", b"Cookie", b"Accept", b"Accept-Encoding", b"Accept-Language", b"If-Match"),
    *(b"If-None-Match", b"Range", b"If-Modified-Since", b"Content-Type", b"Content-Encoding"),
    *(b"Connection", b"Upgrade", b"Expect", b"TE", b"Trailer", b"Host", b"Origin", b"Referer"),
    *(b"Sec-Fetch-Site", b"X-Forwarded-For", b"X-Forwarded-Prefix", b"Forwarded", b"X_Odd"),
    *(b"Date", b"Transfer-Encoding", b"Content-Length", b"X-Odd!#$%&'*+.^_`|~", b"User-Agent"),
    *(b"Via", b"Keep-Alive", b"Proxy-Authorization", b"X-HTTP-Method-Override", b"Max-Forwards"),
    *(b"Cache-Control", b"Content-Location", b"X-Odd(", b"X Odd", b"\xe9"),
)
VALUES = (
    *(b"", b" ", b"Bearer ", b"Bearer", b"Bearer \t", b"Basic ", b"Basic !!!", b"Basic =", b"\t"),
    *(b'Digest realm="', b"x ", b" x\t ", b"\xff\xfe", b"\xe9t\xe9", b"a\x0bb", b"a\x0cb", b"\x1f"),
    *(b"a\x7fb", b"\x01", b'"', b"'", b";", b",", b"=", b"a=b;;c==", b"*", b"gzip", b"identity"),
    *(b"br;q=2", b"gzip;q=x", b"text/html;charset=bogus", b"application/json", b"bytes=0-"),
    *(b"application/json; charset=utf-16", b"multipart/form-data", b"bytes=5-1", b"Thu, 99 Foo 0"),
    *(
        b"multipart/form-data; boundary=",
        b"multipart/form-data; boundary=\xff",
        b"0",
        b"-1",
        b"1e3",
    ),
    *(b"application/x-www-form-urlencoded; charset=idna", b"9" * 20, b"close", b"keep-alive"),
    *(b"upgrade", b"websocket", b"h2c", b"100-continue", b"trailers", b"chunked", b"gzip, chunked"),
    *(b"x" * 5000, b'"\xff"', b'W/"', b"en;q=0,de", b"unix:/x", b"[::1", b"localhost:99999", b"%"),
    *(b"a b", b"%00", b"hushpoll_session=\xff", b'hushpoll_session="\\000"', b"hushpoll_form="),
    *(b"..", b"x\xa0", b"\xa0x", b"\x85"),
)
BODIES = (b"", b"x", b"{}", b"form_token=%ff&name=%00", b"a=1&a=2", b"--\r\n", b"[]", b"\0" * 10)


def drawn(draw):
    """One request as bytes, with its method."""
    method = draw.choice(METHODS if draw.random() < 0.4 else (b"GET", b"POST"))
    target = draw.choice(PATHS) + (draw.choice(TARGETS) if draw.random() < 0.6 else b"")
    if draw.random() < 0.03:
        target = draw.choice(WHOLE_TARGETS)
    lines = [b"Host: x"] if draw.random() < 0.9 else []
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        colon, end = draw.choice((b":", b": ", b":\t")), draw.choice((b"", b"", b" ", b"\t"))
        lines.append(draw.choice(NAMES) + colon + draw.choice(VALUES) + end)
    body = b""
    if method in (b"POST", b"PUT", b"PATCH") and draw.random() < 0.7:
        body = draw.choice(BODIES)
        lines.append(b"Content-Length: %d" % len(body))
    head = b"\r\n".join((method + b" " + target + b" HTTP/1.1", *lines, b"", b""))
    return method, head + body


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Process(tmp_path_factory.mktemp("server"), "--metrics-token", METRICS_TOKEN) as running:
        yield running


def answered(server, request, method=b"GET"):
    """The status and body of an answer; None where the server closes without one."""
    with server.connect() as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        except OSError:  # refused before all of it was sent
            pass
        answer = http.client.HTTPResponse(connection, method=method.decode())
        try:
            answer.begin()
            return answer.status, answer.read()
        except TimeoutError:  # nothing came, and the connection is open
            raise
        except (http.client.HTTPException, OSError):
            return None
        finally:
            answer.close()


def test_no_request_of_a_client_is_a_fault_of_the_server(server):
    """Guards: a blank behind a header's value was answered 503, which an operator is called for."""
    draw = random.Random(20260301)
    statuses = set()
    for _ in range(REQUESTS):
        method, request = drawn(draw)
        answer = answered(server, request, method)
        if answer is not None:
            assert answer[0] < 500, (request, answer)
            statuses.add(answer[0])
    assert {200, 400, 401, 404, 405} <= statuses
    _, exposition = server.request("/metrics", Authorization=f"Bearer {METRICS_TOKEN}")
    assert re.search(rb'hushpoll_http_requests_total\{[^}]*status="4', exposition)
    assert not re.search(rb'hushpoll_http_requests_total\{[^}]*status="5', exposition)
    assert "internal-error" not in server.log


@pytest.mark.parametrize(
    "line", [b"Authorization: Bearer ", b"Authorization:Bearer\t", b"X-Odd: x "]
)
@pytest.mark.parametrize("path", [b"/api/v1/jobs", b"/dashboard/sign-in", b"/docs"])
def test_blank_behind_a_value_is_no_part_of_it(server, path, line):
    request = b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n" + line + b"\r\n\r\n"
    status, _ = answered(server, request)
    assert status == (401 if path.startswith(b"/api") else 200)
