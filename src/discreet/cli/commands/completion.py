"""`discreet completion`: a script that teaches the shell our commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a completion script for your shell, to be sourced or saved.

    \b
    Examples:
      source <(discreet completion bash)
      discreet completion zsh > ~/.zfunc/_discreet
      discreet completion fish > ~/.config/fish/completions/discreet.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "discreet", "_DISCREET_COMPLETE")
    # `source()` would run bash to ask its version; the template alone is the script
    click.echo(script.source_template % script.source_vars())
