"""Texts as an embedder can take them."""

from collections.abc import Iterator, Sequence


def embeddable(text: str, longest: int) -> str:
    """At most `longest` characters, with nothing that cannot be written as UTF-8 or that ends a C string."""
    return text[:longest].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def slices(texts: Sequence[str], most_texts: int, most_characters: int) -> Iterator[Sequence[str]]:
    """The texts in order, in runs within both bounds; a longer text makes a run of its own."""
    start = characters = 0
    for end, text in enumerate(texts):
        if end > start and (end - start == most_texts or characters + len(text) > most_characters):
            yield texts[start:end]
            start, characters = end, 0
        characters += len(text)
    if start < len(texts):
        yield texts[start:]
