"""What an OpenAI-compatible server answered: its vectors, or the reason why there are none."""

from typing import Any

from domain.ports import Vector
from persistence.embedding.vectors import NotAVectorError, unit_vector
from persistence.http_model import AnswerRefusedError

# 32 vectors of 8,192 numbers with 24 characters each are 6 MB.
MOST_BODY_BYTES = 16 * 1024 * 1024


def vectors_in(answer: Any, count: int) -> list[Vector]:
    try:
        entries = answer["data"]
        vectors = {entry["index"]: unit_vector(entry["embedding"]) for entry in entries}
    except NotAVectorError:
        raise AnswerRefusedError("its vectors hold something that is not a finite number") from None
    except (KeyError, TypeError):
        raise AnswerRefusedError("its answer is not a list of embeddings") from None
    if len(entries) != count or vectors.keys() != set(range(count)):
        raise AnswerRefusedError(f"its answer does not hold one vector for each of the {count} texts")
    return [vectors[index] for index in range(count)]
