"""What this service put into a prompt is recognised, whatever a host made of it, and what others wrote stays."""

import html
import re
import textwrap
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from domain.entities import Character, Term
from domain.injected import without_injected
from domain.prompt_text import ENTITY_TITLE, MEMORY_TITLE, assemble, entity_section, memory_section
from domain.system_prompt import CLOSING, EXPLANATION, OPENING, compose
from domain.tokens import estimate_tokens

Host = Callable[[str], str]

NOTEBOOK = "# Preferences\n\n- likes green tea\n\n## Work\n- writes Python & SQL, 1 < 2 > 0\n"
PROMPT = compose(NOTEBOOK, ["drinks tea"], ["met Tanaka"], None, estimate_tokens).text
ENTITIES = entity_section([Character("char_1", "book_1", "田中"), Term("term_1", "book_1", "魔石", description="青い")])
MEMORIES = memory_section(["田中 was a doctor & a liar <once>", "魔石 glows"], 3)


def quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def wrapped(text: str) -> str:
    return "\n".join("\n".join(textwrap.wrap(line, 18)) for line in text.split("\n"))


def with_crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


HOSTS: list[Host] = [
    str,
    quoted,
    indented,
    html.escape,
    wrapped,
    with_crlf,
    lambda text: quoted(quoted(text)),
    lambda text: quoted(html.escape(text)),
    lambda text: html.escape(quoted(text)),
    lambda text: html.escape(html.escape(text)),
    lambda text: quoted(wrapped(text)),
    lambda text: with_crlf(quoted(indented(text))),
]
hosts = st.sampled_from(HOSTS)


def written_lines(text: str) -> list[str]:
    """Without those that are blank or have nothing but the sign of a quotation."""
    lines = (line.rstrip("\r") for line in text.split("\n"))
    return [line for line in lines if re.sub("&gt;|[\\s>]", "", line)]


# Blocks of the system prompt


def test_a_text_with_nothing_injected_stays_as_it_is() -> None:
    text = "\n  I like <b>tea</b>.\r\n\n> ## Long-term Memory\n\n "

    assert without_injected(text) == text


def test_a_system_prompt_is_removed_whole() -> None:
    assert without_injected(PROMPT) == ""


def test_what_stands_around_it_stays() -> None:
    text = f"  You are a translator.\n\n{PROMPT}\n\n  Be brief.\n\nThanks."

    assert without_injected(text) == "  You are a translator.\n\n  Be brief.\n\nThanks."


@pytest.mark.parametrize("host", HOSTS)
def test_it_is_recognised_whatever_the_host_made_of_it(host: Host) -> None:
    text = host(f"You are kind.\n\n{PROMPT}\n\nBe brief.")

    assert written_lines(without_injected(text)) == written_lines(f"{host('You are kind.')}\n{host('Be brief.')}")


def test_lines_joined_into_one_are_recognised() -> None:
    assert without_injected(" ".join(f"Hello. {PROMPT} Bye.".split())) == "Hello. \n\n Bye."


@pytest.mark.parametrize(
    "block",
    [
        f"{EXPLANATION}\n\n{OPENING}\ntea\n{CLOSING}",
        f"## Long-term Memory\n{OPENING}\ntea\n{CLOSING}",
        f"{OPENING}tea{CLOSING}",
    ],
)
def test_heading_and_explanation_may_be_missing(block: str) -> None:
    assert without_injected(f"a\n{block}\nb") == "a\n\nb"


@pytest.mark.parametrize("kept", [0, 3, 40])
def test_a_block_cut_off_goes_to_the_end(kept: int) -> None:
    beginning = PROMPT.index(OPENING) + len(OPENING)

    assert without_injected(f"Hello.\n\n{PROMPT[: beginning + kept]}") == "Hello."


def test_a_closing_marker_alone_removes_only_itself() -> None:
    assert without_injected(f"likes tea\n{CLOSING}\nHello.") == "likes tea\n\nHello."


def test_a_heading_of_the_user_stays() -> None:
    text = f"## Long-term Memory\n\nmy own words\n\n{PROMPT}"

    assert without_injected(text) == "## Long-term Memory\n\nmy own words"


def test_what_is_left_is_not_put_together_to_a_marker() -> None:
    assert without_injected(f"<lore{PROMPT}graph-memory>\nHello.") == "<lore\n\ngraph-memory>\nHello."


# Sections of a chunk's prompt


def test_the_sections_of_a_chunk_are_removed_and_the_text_to_translate_stays() -> None:
    assert without_injected(assemble(ENTITIES, MEMORIES, "田中は魔石を見た。")) == "田中は魔石を見た。"


@pytest.mark.parametrize("host", HOSTS)
def test_sections_are_recognised_whatever_the_host_made_of_them(host: Host) -> None:
    text = host(f"Translate this.\n\n{assemble(ENTITIES, MEMORIES)}\n\n田中")

    assert written_lines(without_injected(text)) == written_lines(f"{host('Translate this.')}\n{host('田中')}")


def test_a_section_ends_with_its_last_line() -> None:
    assert without_injected(f"Use this: {MEMORIES}\nI like tea.\n- and milk") == "Use this: \n\nI like tea.\n- and milk"
    assert without_injected(f"{memory_section(['甲'], 0)}\nI like tea.") == "I like tea."


def test_the_indented_rest_of_the_last_line_belongs_to_it() -> None:
    assert without_injected(f"{MEMORY_TITLE}\n  - [Memory] a long\n    story\n  I like tea.") == "  I like tea."


def test_the_rest_of_a_wrapped_line_above_another_belongs_to_it() -> None:
    assert without_injected(f"{MEMORY_TITLE}\n- [Memory] a long\nstory\n- [Memory] b\nI like tea.") == "I like tea."


@pytest.mark.parametrize(
    "text", [f"{MEMORY_TITLE}\nmine", f"{ENTITY_TITLE}\n\n- [Term] a", "- [Memory] a", "【注意】\n- [Memory] a"]
)
def test_a_title_or_a_line_alone_is_no_section(text: str) -> None:
    assert without_injected(text) == text


def test_a_marker_in_a_memory_takes_nothing_else_along() -> None:
    assert without_injected(f"{memory_section([OPENING], 0)}\n\nI like tea.") == "I like tea."


def test_a_block_right_below_a_section_is_removed_as_well() -> None:
    block = f"{OPENING}\nx\n- [Memory] y\n\nz\n{CLOSING}"

    assert without_injected(f"{memory_section(['甲'], 0)}\n{block}\nI like tea.") == "I like tea."


# For any text

pieces = st.sampled_from(
    [
        *(OPENING, CLOSING, html.escape(OPENING), html.escape(CLOSING), PROMPT, MEMORIES, ENTITIES),
        *("<", "/", "&lt;", "&", "amp;", "lore", "graph", "-", "memory", "<loregraph-memory", ">", "&gt;", "＜"),
        *("\n", "\n", "\r\n", "\r", "\u2028", "\u200b", "\u3164", " ", "> ", "\n\n", "    ", "#"),
        *("## Long-term Memory", "## Relevant Past Context", EXPLANATION, MEMORY_TITLE, ENTITY_TITLE),
        *("- [Memory] x", "\n- [Term] y", "... and 2 more memories", "甲", "a", "word " * 9),
    ]
)
hostile = st.lists(pieces, max_size=20).map("".join) | st.text(max_size=20)


def is_of_others(text: str) -> bool:
    return without_injected(text) == text


@settings(deadline=None, max_examples=500)
@given(hostile)
def test_removing_twice_removes_nothing_more(text: str) -> None:
    assert without_injected(without_injected(text)) == without_injected(text)


@settings(deadline=None, max_examples=300)
@given(
    hostile.filter(is_of_others),
    hostile,
    st.lists(hostile, max_size=3),
    st.none() | st.integers(60, 300),
    hostile.filter(is_of_others),
)
def test_nothing_of_a_prompt_remains_and_all_around_it(
    before: str, notebook: str, said: list[str], budget: int | None, after: str
) -> None:
    prompt = compose(notebook, said[:1], said[1:], budget, estimate_tokens).text
    assume(prompt)

    rest = without_injected(before + prompt + after)

    assert written_lines(rest) == written_lines(before) + written_lines(after)


@settings(deadline=None, max_examples=300)
@given(hostile, st.lists(hostile, max_size=3), hosts)
def test_nothing_of_a_prompt_remains_whatever_the_host_made_of_it(notebook: str, facts: list[str], host: Host) -> None:
    prompt = compose(notebook, facts, (), None, estimate_tokens).text

    rest = without_injected(host(f"Hello.\n\n{prompt}\n\nBye."))

    assert written_lines(rest) == written_lines(f"{host('Hello.')}\n{host('Bye.')}")


@settings(deadline=None, max_examples=200)
@given(st.lists(hostile, min_size=1, max_size=3), st.integers(0, 2))
def test_nothing_of_a_section_remains(summaries: list[str], left_out: int) -> None:
    section = memory_section(summaries, left_out)

    assert without_injected(assemble("Hello.", section, "Bye.")) == "Hello.\n\nBye."


@pytest.mark.parametrize(
    "text",
    [
        "<" * 10**6,
        "<loregraph-\n" * 80_000,
        f"{CLOSING}{OPENING}" * 25_000,
        "## Long-term Memory\n" * 50_000,
        f"{MEMORY_TITLE}\n- [Memory] x\ny\n" * 40_000,
        "> " * 500_000,
        "&amp;" * 200_000,
    ],
)
def test_a_megabyte_of_hostile_text_is_no_burden(text: str) -> None:
    assert OPENING not in without_injected(text)
