"""The notebook's files and what was replaced in them, as clients see them."""

import datetime

import strawberry

from domain import notebook
from schema.context import Info


@strawberry.type(description="A Markdown file of the notebook.")
class NotebookFile:
    path: str = strawberry.field(description="Where it stands in the notebook: MEMORY.md or daily/YYYY-MM-DD.md.")
    content: str = strawberry.field(description="All of it, as people write it.")
    version: str = strawberry.field(description="Changes with every byte of the file; empty files share one.")
    date: datetime.date | None = strawberry.field(description="The day of a daily log; null for MEMORY.md.")

    @classmethod
    def from_domain(cls, file: notebook.NotebookFile) -> "NotebookFile":
        return cls(path=file.path, content=file.content, version=file.version, date=notebook.day_of(file.path))


@strawberry.type(description="What stood in a file until it was replaced.")
class NotebookVersion:
    path: str = strawberry.field(description="The file it is a version of.")
    version: str = strawberry.field(description="Names it when it is looked up, compared or restored.")
    replaced_at: datetime.datetime = strawberry.field(description="When something else took its place.")

    @strawberry.field(description="The file as it was; null when that copy was deleted by hand.")
    async def file(self, info: Info) -> NotebookFile | None:
        found = await info.context.use_cases.notebook.version(self.path, self.version)
        return None if found is None else NotebookFile.from_domain(found)

    @classmethod
    def from_domain(cls, kept: notebook.KeptVersion) -> "NotebookVersion":
        return cls(path=kept.path, version=kept.version, replaced_at=kept.replaced_at)


@strawberry.type(description="What changed from one version of a file to another.")
class NotebookComparison:
    path: str = strawberry.field(description="The file whose versions they are.")
    from_version: str = strawberry.field(description="The older one, as a rule.")
    to_version: str = strawberry.field(description="The one it was compared with.")
    diff: str = strawberry.field(description="A unified diff with three lines of context; empty when they are equal.")

    @classmethod
    def from_domain(cls, comparison: notebook.Comparison) -> "NotebookComparison":
        return cls(
            path=comparison.path,
            from_version=comparison.from_version,
            to_version=comparison.to_version,
            diff=comparison.diff,
        )
