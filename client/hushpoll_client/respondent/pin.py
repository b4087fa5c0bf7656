"""The pinned manifest: which survey the device's owner has agreed to answer.

A digest given out of band is a pin. Without one the first manifest that a client sees becomes its
pin: that protects against a later change, not against a server that lied at first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hushpoll_protocols.errors import ManifestRefused

if TYPE_CHECKING:
    from hushpoll_shared.survey.published import Published

# A server decides how much there is to differ; an error message stays readable.
_SHOWN = 20
_WIDTH = 80


def check_pin(
    offered: Published, *, survey: str, digest: str | None, known: Published | None
) -> None:
    """Refuse ``offered`` unless it is the survey that was pinned.

    Parameters
    ----------
    offered : Published
        What the server published, its arithmetic already checked.
    survey : str
        The name that was asked for.
    digest : str or None
        The pinned digest, if there is one.
    known : Published or None
        The pinned survey itself, if the device has it: the message then shows what changed.

    Raises
    ------
    ManifestRefused
        If name or digest differ.
    """
    if offered.name != survey:
        raise ManifestRefused(
            f"the server answered with survey {offered.name!r} for {survey!r}; nothing was sent",
            field="name",
        )
    if digest is None or offered.digest == digest:
        return
    lines = [
        f"survey {survey!r} is not the one that was pinned; nothing was sent",
        f"  pinned digest:  {digest}",
        f"  offered digest: {offered.digest} (version {offered.version})",
    ]
    if known is None:
        lines.append(
            "  the pinned manifest itself is not at hand, so its fields cannot be compared"
        )
    else:
        lines += [f"  {line}" for line in describe_difference(known, offered)]
    lines.append("compare it with the survey's author; to answer the offered one, give its digest")
    raise ManifestRefused("\n".join(lines), field="digest")


def describe_difference(old: Published, new: Published) -> list[str]:
    """Say field by field how two published surveys differ, at most 20 lines."""
    lines = list(_differences(old.to_dict(), new.to_dict(), ""))
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"… and {len(lines) - _SHOWN} more differences"]
    return lines


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else str(key)
            if key not in new:
                yield f"{inner}: {_shown(old[key])} was removed"
            elif key not in old:
                yield f"{inner}: {_shown(new[key])} was added"
            else:
                yield from _differences(old[key], new[key], inner)
    elif _is_named(old) and _is_named(new):
        names = {entry["name"] for entry in [*old, *new]}
        before = {entry["name"]: entry for entry in old}
        after = {entry["name"]: entry for entry in new}
        if len(before) == len(old) and len(after) == len(new) and names:
            yield from _differences_by_name(before, after, path)
    elif old != new:
        yield f"{path}: {_shown(old)} became {_shown(new)}"


def _differences_by_name(
    before: Mapping[str, Any], after: Mapping[str, Any], path: str
) -> Iterator[str]:
    for name in [*before, *(name for name in after if name not in before)]:
        inner = f"{path}[{name}]"
        if name not in after:
            yield f"{inner} was removed"
        elif name not in before:
            yield f"{inner} was added"
        else:
            yield from _differences(before[name], after[name], inner)
    kept = [name for name in before if name in after]
    if kept != [name for name in after if name in before]:
        yield f"{path}: the order became {', '.join(after)}"


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(entry, Mapping) and isinstance(entry.get("name"), str) for entry in value
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
