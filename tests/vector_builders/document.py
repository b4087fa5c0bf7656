"""One file of vectors: what it is, what each field means, and one vector per line."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Vector = dict[str, Any]


@dataclass
class Group:
    """Vectors of one shape."""

    name: str
    comment: str
    fields: dict[str, str]
    vectors: list[Vector] = field(default_factory=list)

    def add(self, **vector: Any) -> None:
        """Add a vector; it may leave out optional fields, but has none undescribed."""
        undescribed = vector.keys() - self.fields.keys()
        if undescribed:
            raise ValueError(f"{self.name} does not describe {sorted(undescribed)}")
        self.vectors.append(vector)


def write(path: Path, comment: str, groups: list[Group], **extra: Any) -> None:
    """Write groups as JSON: readable in a diff, and the same bytes every time."""
    comments = {group.name: {"": group.comment, **group.fields} for group in groups}
    parts = [f'"comment": {_line(comment)}', f'"fields": {json.dumps(comments, indent=1)}']
    parts += [f'"{name}": {_line(value)}' for name, value in extra.items()]
    for group in groups:
        lines = ",\n".join(_line(vector) for vector in group.vectors)
        parts.append(f'"{group.name}": [\n{lines}\n]')
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="ascii")


def hex64(value: int) -> str:
    """Return 16 hexadecimal digits."""
    return f"{value:016x}"


def _line(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
