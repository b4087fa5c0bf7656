"""Groups of commands whose help has the whole first sentence of each command (extra ``cli``)."""

from __future__ import annotations

from typing import Final

import click

_LONGEST_SENTENCE: Final = 1000


class CommandGroup(click.Group):
    """A group that cuts no summary off: click's own ends each at the width of a line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its first sentence, over as many lines as it takes."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, command.get_short_help_str(_LONGEST_SENTENCE)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
