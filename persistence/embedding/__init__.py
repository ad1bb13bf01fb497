"""Embedders: the built-in model, any OpenAI-compatible server, and the guard around whichever it is."""

from domain.ports import Embedder
from persistence.embedding.openai import OpenAIEmbedder
from persistence.embedding.use import UseEmbedder


def open_embedder(kind: str, *, base_url: str = "", api_key: str = "", model: str = "") -> Embedder | None:
    """None for "none". Nothing is loaded or reached before the first text."""
    match kind:
        case "none":
            return None
        case "use":
            return UseEmbedder()
        case "openai":
            return OpenAIEmbedder(base_url, model, api_key)
    raise ValueError(kind)
