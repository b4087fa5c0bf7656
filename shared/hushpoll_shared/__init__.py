"""What client and server agree on: manifest, budget, record, wire, problems.

The base install needs the standard library alone. The array side is in
:mod:`hushpoll_shared.wire.batch` (extra ``kernels``), YAML and the terminal need the extra ``cli``.
"""

from hushpoll_shared.drafts.manifest import Manifest, load_manifest
from hushpoll_shared.survey.published import Published

__all__ = ["Manifest", "Published", "load_manifest"]
