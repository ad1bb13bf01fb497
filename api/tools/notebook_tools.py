"""Tools over the notebook, and the search over everything that is kept."""

from typing import Final

from api.tools.answers import hit_as_json
from api.tools.tool import Arguments, Tool, text_schema
from domain.search import Filters
from domain.usecases import UseCases

MAX_RESULTS: Final = 10


async def read_memory(use_cases: UseCases, _: Arguments) -> str:
    return (await use_cases.notebook.read()).content


async def append_memory(use_cases: UseCases, given: Arguments) -> object:
    file = await use_cases.notebook.append_memory(given["fact"], given.get("category"))
    return {"path": file.path}


async def search_memory(use_cases: UseCases, given: Arguments) -> object:
    result = await use_cases.search.run(given["query"], MAX_RESULTS, Filters())
    attachments = await use_cases.attachments.of([hit.memory.id for hit in result.hits if hit.memory is not None])
    return {"engine": result.engine.value, "results": [hit_as_json(hit, attachments) for hit in result.hits]}


async def append_daily_log(use_cases: UseCases, given: Arguments) -> object:
    file = await use_cases.notebook.append_daily_log(given["entry"], None)
    return {"path": file.path}


NOTEBOOK_TOOLS: Final = (
    Tool(
        name="read_memory",
        description=(
            "Read MEMORY.md, the long-term memory about the user and the work, whole, as Markdown."
            " Call it at the start of a conversation, unless its text stands in your instructions already."
            " To look for one thing, or for what is kept about a book, use search_memory."
        ),
        run=read_memory,
        example={},
        properties={},
    ),
    Tool(
        name="append_memory",
        description=(
            "Add one lasting fact to MEMORY.md: a preference, a decision, a way of working, something about the user"
            " that will still matter in later conversations. One fact per call. Look with search_memory or read_memory"
            " first, and do not repeat what is known. Do not store passwords, keys or other secrets, nor one-off"
            " remarks. What happened or was done today belongs into append_daily_log; what is known about the"
            " characters, terms and chapters of a book into create_memory."
        ),
        run=append_memory,
        example={"fact": "The user wants honorifics kept in translations.", "category": "Preferences"},
        properties={
            "fact": text_schema(
                "One whole sentence that can be understood alone: name people and things, and write dates out instead"
                " of 'today'. Up to 5,000 characters; line breaks become spaces."
            ),
            "category": text_schema(
                "The heading of MEMORY.md it goes under, such as Preferences or Decisions. Prefer one that is there;"
                " a new one is made. 'General' when left out."
            ),
        },
        required=("fact",),
    ),
    Tool(
        name="search_memory",
        description=(
            "Search everything that is kept, by words and by meaning: memories about books, facts about the user, and"
            " the passages of MEMORY.md and of the daily logs. Answers the 10 best at most. Use it before you answer"
            " from what you may have been told earlier, and before create_memory, update_memory or append_memory, so"
            " that nothing is stored twice. A result of source 'memory' has the id for update_memory, its book_id, and"
            " what it is attached to; one of source 'notebook' has its file and line. `snippet` is the part that fits"
            " best, with the words found between **. No results means that nothing is known: do not invent it."
        ),
        run=search_memory,
        example={"query": "How does Tanaka address his teacher?"},
        properties={
            "query": text_schema(
                "A question or the words to look for, in any language: names, terms and topics, not 'what I said"
                " before'. Plain text, up to 10,000 characters; a * at the end of a word finds words that begin so."
            ),
        },
        required=("query",),
    ),
    Tool(
        name="append_daily_log",
        description=(
            "Add one entry to today's log: what was done, decided or left open in this conversation, as a note with a"
            " date to come back to. One matter per call. What stays true beyond today belongs into append_memory, and"
            " what is known about a book into create_memory. Do not store passwords, keys or other secrets."
        ),
        run=append_daily_log,
        example={"entry": "Finished chapter 3; the name of the inn is still open."},
        properties={
            "entry": text_schema("The note, up to 20,000 characters. It may have several lines, and needs no date.")
        },
        required=("entry",),
    ),
)
