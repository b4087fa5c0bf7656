"""The process that draws: it reads specifications from its input and writes pictures.

Rendering holds Python's lock for a tenth of a second or more, so it has a process of its own. A
request is a line of JSON; an answer is a line of JSON with a size in bytes, then so many bytes, or
a line with the type of an error. The process ends when its input is closed.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import vl_convert


def draw(specification: dict[str, object], media: str) -> bytes:
    """Return the picture of a Vega-Lite specification: ``svg``, or ``png`` at twice the size."""
    # A specification carries its data; nothing is loaded from anywhere.
    if media == "png":
        return bytes(vl_convert.vegalite_to_png(specification, scale=2, allowed_base_urls=[]))
    return str(vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])).encode()


def main() -> None:
    """Answer requests until the end of the input."""
    # Ctrl-C reaches every process of a terminal; this one ends when its server closes the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What the library prints must not get between the answers.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            picture = draw(request["specification"], request["media"])
        except Exception as error:  # of whatever kind: the asker shows the table alone
            output.write(json.dumps({"error": type(error).__name__}).encode() + b"\n")
        else:
            output.write(json.dumps({"size": len(picture)}).encode() + b"\n" + picture)
        output.flush()


if __name__ == "__main__":
    main()
