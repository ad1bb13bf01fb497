"""Reading the notebook, and what was replaced in it."""

import datetime
from typing import Annotated

import strawberry

from domain.notebook import MEMORY
from schema.context import Info
from schema.paging import DEFAULT_PAGE_SIZE, After, Connection, First, ask_page, connect
from schema.types.notebook import NotebookComparison, NotebookFile, NotebookVersion

DAILY_LOG_LIST = "dailyLog"
VERSION_LIST = "notebookVersion"

Path = Annotated[str, strawberry.argument(description="MEMORY.md or daily/YYYY-MM-DD.md.")]


@strawberry.type
class NotebookQueries:
    @strawberry.field(description="MEMORY.md; with empty content when there is none yet.")
    async def notebook(self, info: Info) -> NotebookFile:
        return NotebookFile.from_domain(await info.context.use_cases.notebook.read())

    @strawberry.field(description="The log of one day, or null.")
    async def daily_log(
        self, info: Info, date: Annotated[datetime.date, strawberry.argument(description="Which day.")]
    ) -> NotebookFile | None:
        found = await info.context.use_cases.notebook.daily_log(date)
        return None if found is None else NotebookFile.from_domain(found)

    @strawberry.field(description="All daily logs, the newest day first.")
    async def daily_logs(
        self, info: Info, first: First = DEFAULT_PAGE_SIZE, after: After = None
    ) -> Connection[NotebookFile]:
        asked = ask_page(first, after, DAILY_LOG_LIST)
        use_cases = info.context.use_cases.notebook
        page = await use_cases.daily_logs(asked.page)
        return connect(page, NotebookFile.from_domain, asked, use_cases.count_daily_logs)

    @strawberry.field(description="What was replaced in a file, the last first; what was appended replaced nothing.")
    async def notebook_versions(
        self, info: Info, path: Path = MEMORY, first: First = DEFAULT_PAGE_SIZE, after: After = None
    ) -> Connection[NotebookVersion]:
        asked = ask_page(first, after, VERSION_LIST)
        use_cases = info.context.use_cases.notebook
        page = await use_cases.versions(path, asked.page)
        return connect(page, NotebookVersion.from_domain, asked, lambda: use_cases.count_versions(path))

    @strawberry.field(description="A file as it was in one version, or null.")
    async def notebook_version(
        self,
        info: Info,
        version: Annotated[str, strawberry.argument(description="One that was replaced, or the present one.")],
        path: Path = MEMORY,
    ) -> NotebookFile | None:
        found = await info.context.use_cases.notebook.version(path, version)
        return None if found is None else NotebookFile.from_domain(found)

    @strawberry.field(description="What changed from one version of a file to another.")
    async def compare_notebook_versions(
        self,
        info: Info,
        from_version: Annotated[str, strawberry.argument(description="One that was replaced, or the present one.")],
        to_version: Annotated[
            str | None, strawberry.argument(description="What to compare it with; what stands there now when left out.")
        ] = None,
        path: Path = MEMORY,
    ) -> NotebookComparison:
        return NotebookComparison.from_domain(
            await info.context.use_cases.notebook.compare(path, from_version, to_version)
        )
