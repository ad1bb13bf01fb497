"""`loregraph reindex`: the index built anew, with a bar to watch it by."""

from contextlib import suppress

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from api.composition import BuildFailedError, BuildProgress, RebuildState, open_parts
from api.settings import Settings


class Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0:,.0f}/s")


async def reindex(settings: Settings, console: Console) -> bool:
    """Whether it worked; a server that runs beside goes on answering, and takes the new index once it is whole."""
    columns = (TextColumn("Indexing"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    told = BuildProgress()
    async with open_parts(settings) as service:
        with Progress(*columns, console=console) as bar:
            task = bar.add_task("index", total=None)

            def tell(progress: BuildProgress) -> None:
                nonlocal told
                told = progress
                bar.update(task, completed=progress.done, total=progress.total or None)

            with suppress(BuildFailedError):  # it is told as well
                await service.library.build_once(tell)
    if told.state is not RebuildState.COMPLETED:
        console.print(f"The index could not be built: {told.error}")
        return False
    console.print(f"Indexed {told.total:,} documents.")
    return True
