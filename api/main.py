"""The command `loregraph`; the one place that reads the environment."""

import asyncio
import socket
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from pydantic import ValidationError
from rich.console import Console

from api.app import VERSION
from api.composition import UnreadableDatabaseError, prepare_data
from api.logs import configure_logs
from api.reindex import reindex
from api.server import build_server
from api.settings import Settings, is_loopback

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000
USAGE_ERROR = 2

cli = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Memory for stories and people, over GraphQL.",
)


def _show_version(is_asked: bool) -> None:  # noqa: FBT001 - called by Typer
    if is_asked:
        typer.echo(f"loregraph {VERSION}")
        raise typer.Exit


@cli.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and stop.")
    ] = False,
) -> None:
    pass


@cli.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to serve.")] = DEFAULT_HOST,
    port: Annotated[int, typer.Option(help="The port to serve; 0 picks a free one.", min=0, max=65535)] = DEFAULT_PORT,
    sample: Annotated[
        Path | None, typer.Option(help="A book to load when there has never been one.", exists=True, dir_okay=False)
    ] = None,
) -> None:
    """Serve GraphQL until interrupted."""
    settings = _settings()
    if not settings.tokens and not is_loopback(host):
        _stop(
            f"Refusing to serve {host} without tokens: anyone who can reach it could read and change everything."
            " Set LOREGRAPH_TOKENS=owner=token, or serve 127.0.0.1."
        )
    configure_logs(settings.log_level)
    _prepare_data(settings)
    listening = listen(host, port)
    _show_urls(host, listening.getsockname()[1], settings)
    server = build_server(settings, sample)
    server.run(sockets=[listening])
    if not server.started:
        raise typer.Exit(1)


@cli.command(name="reindex")
def reindex_command() -> None:
    """Build the search index anew; a running server goes on answering and takes it over."""
    settings = _settings()
    configure_logs("WARNING")
    console = Console()
    try:
        worked = asyncio.run(reindex(settings, console))
    except (UnreadableDatabaseError, OSError) as error:
        _stop(f"{error}.")
    if not worked:
        raise typer.Exit(1)


def main() -> None:
    cli()


def _settings() -> Settings:
    try:
        return Settings()
    except ValidationError as error:
        wrong = "\n".join(f"  {_variable(each['loc'][0])}: {each['msg']}" for each in error.errors())
        _stop(f"These settings cannot be used:\n{wrong}")


def _variable(field: object) -> str:
    """Those of the memory settings have names of their own."""
    name = str(field).upper()
    return name if name.startswith("MEMORY_") else f"LOREGRAPH_{name}"


def _prepare_data(settings: Settings) -> None:
    try:
        asyncio.run(prepare_data(settings))
    except (UnreadableDatabaseError, OSError) as error:
        _stop(f"{error}.")


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        _stop(f"Cannot serve {host}:{port}: {error.strerror}. Choose another with --host and --port.")
    return listening


def _show_urls(host: str, port: int, settings: Settings) -> None:
    base = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    typer.echo(f"Loregraph {VERSION}")
    typer.echo(f"  GraphQL and GraphiQL  {base}/graphql")
    typer.echo(f"  Health                {base}/health")
    typer.echo(f"  Data                  {settings.data_dir.absolute()}")


def _stop(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(USAGE_ERROR)


if __name__ == "__main__":
    main()
