"""The id of a report whose device keeps its secret, and the body that takes it back."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from hushpoll_shared.spelling.base64url import b64encode
from hushpoll_shared.wire.withdrawals import encode_withdrawal_json, id_of
from vector_builders.document import Group, write


def build(folder: Path) -> None:
    """Write withdrawals.json."""
    withdrawals = Group(
        "withdrawals",
        "A report's id is the first 16 bytes of SHA-256 of the 32 bytes of its secret.",
        {
            "secret": "what the device keeps, base64url",
            "id": "what is sent with the report, base64url",
            "digest": "of the survey's version",
            "body": "JSON that takes the report back",
        },
    )
    secrets = [bytes(32), b"\xff" * 32, bytes(range(32))]
    secrets += [sha256(f"secret {number}".encode()).digest() for number in range(5)]
    for number, secret in enumerate(secrets):
        digest = sha256(f"survey {number}".encode()).hexdigest()
        body = json.dumps(encode_withdrawal_json(digest, secret), separators=(",", ":"))
        withdrawals.add(
            secret=b64encode(secret), id=b64encode(id_of(secret)), digest=digest, body=body
        )
    write(folder / "withdrawals.json", "Reports that are taken back.", [withdrawals])
