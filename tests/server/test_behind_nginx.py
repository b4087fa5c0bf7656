"""The sample of docs/operate.md for nginx, in a real nginx: its syntax, and requests through it."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest
import trustme

from ports import free_port
from served import Process
from waiting import LONGEST_SECONDS, wait_until

PAGE = Path(__file__).parents[2] / "docs" / "operate.md"
HOST = "polls.example.org"


def sample():
    """The one block of nginx on the page."""
    (block,) = re.findall(r"```nginx\n(server \{.*?\n\}\n)```", PAGE.read_text(), re.DOTALL)
    return block


@pytest.fixture
def nginx(tmp_path):
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    assert program, "nginx is missing; apt-get install nginx-light"
    authority = trustme.CA()
    certificate = authority.issue_cert(HOST, "127.0.0.1")
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(tmp_path / "fullchain.pem", append=True)
    certificate.private_key_pem.write_to_path(tmp_path / "privkey.pem")
    port = free_port()
    running = []

    def start(server):
        block = sample()
        changes = {
            "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
            f"/etc/letsencrypt/live/{HOST}/": f"{tmp_path}/",
            "http://127.0.0.1:8000": server.url,
        }
        for there, here in changes.items():
            assert there in block, there
            block = block.replace(there, here)
        folders = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        configuration = tmp_path / "nginx.conf"
        configuration.write_text(
            f"daemon off;\npid {tmp_path}/pid;\nerror_log {tmp_path}/error.log;\nevents {{}}\n"
            f"http {{\n{folders}{block}}}\n"
        )
        command = [program, "-p", str(tmp_path), "-c", str(configuration), "-g", "user root;"]
        tested = subprocess.run([*command, "-t"], capture_output=True, text=True)
        assert tested.returncode == 0, tested.stderr
        running.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        return f"https://127.0.0.1:{port}", str(tmp_path / "authority.pem")

    yield start
    for process in running:
        process.terminate()
        process.wait(LONGEST_SECONDS)


def test_sample_of_the_page_serves_over_tls_and_keeps_metrics_inside(nginx, tmp_path):
    flags = ("--trusted-proxies", "1", "--behind-tls", "true")
    with Process(tmp_path, *flags) as server:
        url, authority = nginx(server)

        trusted = ssl.create_default_context(cafile=authority)

        def ask(path):
            try:
                return httpx.get(url + path, verify=trusted, headers={"Host": HOST})
            except httpx.TransportError:
                return None

        health = wait_until(lambda: ask("/health"))
        assert (health.status_code, health.json()) == (200, {"status": "ok"})
        assert "max-age=31536000" in health.headers["Strict-Transport-Security"]
        assert ask("/metrics").status_code == 404
        assert ask("/ready").json()["status"] == "ready"
    logged = (tmp_path / "error.log").read_text()
    assert "127.0.0.1" not in logged
