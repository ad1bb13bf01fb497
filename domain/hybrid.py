"""How the two halves of a search become one score, and the order of its hits."""

from dataclasses import dataclass

from domain.search import Found, FoundDocument, SearchEngine

VECTOR_WEIGHT = 0.7
KEYWORD_WEIGHT = 0.3

# What shares no word with the query is a hit only if it is at all about the same thing. Between two languages even
# what is meant is not much nearer: a floor of 0.2 would lose a fifth of it (tests/bench/results.md).
LEAST_COSINE = 0.1


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """Each score is in 0..1, larger is better; the vector score is None where only words were searched."""

    document: FoundDocument
    score: float
    vector_score: float | None
    keyword_score: float | None


def rank(found: Found, limit: int) -> tuple[ScoredDocument, ...]:
    """Best first; of equals the same one always comes first."""
    best = max((each.keyword for each in found.documents if each.keyword is not None), default=0.0)
    # What was merely looked through is scored by the part of the keywords that stand in it, already in 0..1.
    scale = 1.0 if found.engine is SearchEngine.LIKE else best
    scored = [each for document in found.documents if (each := _scored(document, found.engine, scale)) is not None]
    return tuple(sorted(scored, key=_order)[:limit])


def _scored(document: FoundDocument, engine: SearchEngine, scale: float) -> ScoredDocument | None:
    keyword = _keyword_score(document, scale)
    if engine is not SearchEngine.HYBRID:
        return None if keyword is None else ScoredDocument(document, keyword, None, keyword)
    # Both halves are known for every candidate: a hit of one arm is not punished for the size of the other.
    cosine = document.cosine if document.cosine is not None else 0.0
    if keyword is None and cosine < LEAST_COSINE:
        return None
    vector = min(1.0, max(0.0, cosine))
    return ScoredDocument(document, VECTOR_WEIGHT * vector + KEYWORD_WEIGHT * (keyword or 0.0), vector, keyword or 0.0)


def _keyword_score(document: FoundDocument, scale: float) -> float | None:
    """Of the best hit 1, of the others their part of it."""
    if document.keyword is None:
        return None
    return document.keyword / scale if scale > 0 else 1.0


def _order(scored: ScoredDocument) -> tuple[float, str, str]:
    return -scored.score, scored.document.source.value, scored.document.id
