"""The command that reads every file of a library: verify."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eqemb.cli.app import app
from eqemb.cli.console import print_json, print_message, without_controls
from eqemb.cli.options import Json
from eqemb.cli.progress import StageProgress
from eqemb.errors import DamageError

if TYPE_CHECKING:
    from eqemb.facade.verify import Verification


@app.command()
def verify(
    library: Annotated[
        Path, typer.Argument(metavar="LIBRARY", help="The folder of a library or of a model.")
    ],
    as_json: Json = False,
) -> None:
    """Read every file of a library and compare it with its checksums.

    Also lets SQLite check the records. Exits with code 1 if a file is missing, was changed, or does
    not belong where it is.
    """
    found = verify_with_progress(library)
    if as_json:
        print_json(found.to_json())
    else:
        print_verification(found)
    refuse_damage(found)


def verify_with_progress(folder: Path) -> "Verification":
    """Verify a library, and show how far that is."""
    from eqemb.facade.verify import verify as run

    with StageProgress(lines=False) as progress:

        def watch(done: int, total: int) -> None:
            progress.update("verifying", f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB")

        return run(folder, watch)


def print_verification(found: "Verification") -> None:
    """Print damage, one file a line, or what was read; notes are messages."""
    for one in found.damage:
        print(without_controls(f"{found.name(one.path)}\t{one.what}").replace("\n", " "))
    if found.is_intact:
        print(f"no damage: {found.files:,} files, {found.bytes / 1e6:,.1f} MB")
        if found.sha256:
            print(f"sha256   {found.sha256}")
    for note in found.notes:
        print_message(note)


def refuse_damage(found: "Verification") -> None:
    """Raise an error if there is damage."""
    if not found.is_intact:
        files = "1 file" if len(found.damage) == 1 else f"{len(found.damage):,} files"
        raise DamageError(
            f"{found.folder} is damaged ({files}): restore what is listed from a copy, or rebuild"
            " it in another folder"
        )


def require_intact(folder: Path) -> None:
    """Verify a library; print damage and raise an error if there is any."""
    found = verify_with_progress(folder)
    if not found.is_intact:
        print_verification(found)
    refuse_damage(found)
