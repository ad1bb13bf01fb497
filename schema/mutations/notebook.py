"""Adding to the notebook, replacing its files and restoring what was replaced."""

import datetime

import strawberry

from domain import notebook
from schema.context import Info
from schema.payloads import Given, NotebookPayload, mutation
from schema.types.notebook import NotebookFile


@strawberry.input(description="A fact for MEMORY.md.")
class AppendMemoryInput:
    fact: str = strawberry.field(description="One line; line breaks become spaces.")
    category: str | None = strawberry.field(
        default=None, description="The heading it goes under, made when there is none; `General` when left out."
    )


@strawberry.input(description="A note for the log of a day.")
class AppendDailyLogInput:
    entry: str = strawberry.field(description="One list item; it may have several lines.")
    date: datetime.date | None = strawberry.field(
        default=None, description="Which day; today in the time zone of this server when left out."
    )


@strawberry.input(description="A new text for MEMORY.md.")
class WriteNotebookInput:
    content: str = strawberry.field(description="All of the file.")
    expected_version: str = strawberry.field(description="The version that was read; refused when it is another now.")


@strawberry.input(description="A new text for the log of a day.")
class WriteDailyLogInput:
    date: datetime.date = strawberry.field(description="Which day.")
    content: str = strawberry.field(description="All of the file.")
    expected_version: str | None = strawberry.field(
        default=None, description="The version that was read, refused when it is another now; null: whatever it is."
    )


@strawberry.input(description="A version to go back to.")
class RestoreNotebookVersionInput:
    version: str = strawberry.field(description="One that was replaced.")
    path: str = strawberry.field(default=notebook.MEMORY, description="MEMORY.md or daily/YYYY-MM-DD.md.")
    expected_version: str | None = strawberry.field(
        default=None, description="The present version, refused when it is another now; null: whatever it is."
    )


@strawberry.type
class NotebookMutations:
    @mutation(NotebookPayload, "Add a fact to MEMORY.md, as a list item at the end of its category.")
    async def append_memory(self, info: Info, input: Given[AppendMemoryInput]) -> NotebookPayload:
        return _payload(await info.context.use_cases.notebook.append_memory(input.fact, input.category))

    @mutation(NotebookPayload, "Add a note to the log of a day, as a list item at its end.")
    async def append_daily_log(self, info: Info, input: Given[AppendDailyLogInput]) -> NotebookPayload:
        return _payload(await info.context.use_cases.notebook.append_daily_log(input.entry, input.date))

    @mutation(NotebookPayload, "Replace MEMORY.md; what stood there is kept and can be restored.")
    async def write_notebook(self, info: Info, input: Given[WriteNotebookInput]) -> NotebookPayload:
        return _payload(await info.context.use_cases.notebook.write(input.content, input.expected_version))

    @mutation(NotebookPayload, "Replace the log of a day; what stood there is kept and can be restored.")
    async def write_daily_log(self, info: Info, input: Given[WriteDailyLogInput]) -> NotebookPayload:
        return _payload(
            await info.context.use_cases.notebook.write_daily_log(input.date, input.content, input.expected_version)
        )

    @mutation(NotebookPayload, "Put back a version that was replaced; what stands there now is kept in turn.")
    async def restore_notebook_version(self, info: Info, input: Given[RestoreNotebookVersionInput]) -> NotebookPayload:
        return _payload(
            await info.context.use_cases.notebook.restore(input.path, input.version, input.expected_version)
        )


def _payload(file: notebook.NotebookFile) -> NotebookPayload:
    return NotebookPayload(file=NotebookFile.from_domain(file))
