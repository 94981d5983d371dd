"""`discreet serve`: the curator as a service, with its web page."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.options import FILE
from discreet.errors import BadInput


@click.command()
@click.argument("settings_path", metavar="[SETTINGS]", type=FILE, required=False)
@click.option("--demo", is_flag=True, help="Serve the bundled table, with a demo analyst.")
@click.option(
    "--folder",
    type=FILE,
    help="Where the demo keeps its files. Default: a temporary folder that is removed at the end.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Listen here. Default: as the settings say."
)
def command(settings_path: Path | None, demo: bool, folder: Path | None, port: int | None) -> None:
    """Serve live questions and releases over HTTP, with accounts, budgets and a web page.

    The settings file says which tables and releases. `discreet curator init` writes one. The
    demo needs none: it listens on this machine alone, and prints links to click.

    \b
    Examples:
      discreet serve --demo
      discreet serve curator.toml
      discreet serve curator.toml --port 9000
    """
    if demo == (settings_path is not None):
        raise click.UsageError("Give a settings file, or --demo.")
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise BadInput(
            "`discreet serve` needs FastAPI and uvicorn: pip install 'discreet[server]'."
        ) from None
    try:
        if settings_path is None:
            _serve_demo(folder, port)
        else:
            _serve(settings_path, port)
    except KeyboardInterrupt:
        click.echo("Ended. What was charged stays charged.", err=True)


def _serve(path: Path, port: int | None) -> None:
    from discreet.service.serving import serve

    serve(path, port=port, ready=lambda url: click.echo(f"Serving {url}", err=True))


def _serve_demo(folder: Path | None, port: int | None) -> None:
    import tempfile

    from discreet.service.demo import serve_demo

    def ready(url: str, tokens: dict[str, str]) -> None:
        click.echo("The demo serves a generated table. Open it as\n")
        for (name, token), role in zip(
            tokens.items(), ("analyst", "custodian", "reviewer"), strict=True
        ):
            click.echo(f"  {name + ', ' + role:<18} {url}/sign-in#{token}")
        click.echo("\nPress Ctrl+C to end it.")

    wanted = 8765 if port is None else port
    if folder is not None:
        serve_demo(folder, port=wanted, ready=ready)
        return
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as made:
        serve_demo(Path(made), port=wanted, ready=ready)
