"""Mentions in whole novels, compared span by span with a brute-force oracle of its own making."""

from pathlib import Path

from domain.mentions import Matcher, Name
from tests.bench import novel
from tests.bench.table import Table
from tests.domain.mention_oracle import oracle_mentions

NOVELS = ("zh_红楼梦", "ja_こころ", "ja_坊っちゃん")


def run(data: Path) -> Table:
    rows = []
    for title in NOVELS:
        book = novel.read_novel(data, title)
        pairs = [(name, each.id) for each in book.characters for name in (each.name, *(a.name for a in each.aliases))]
        refs = {each.id: each.ref for each in book.characters}
        matcher = Matcher(Name(refs[entity_id], name) for name, entity_id in pairs)
        found = {
            (span.start, span.end, mention.ref.id) for mention in matcher.mentions(book.text) for span in mention.spans
        }
        expected = {(start, end, each) for start, end, ids in oracle_mentions(pairs, book.text) for each in ids}
        rows.append((title, f"{len(book.text):,}", f"{len(expected):,}", str(len(found ^ expected))))
    return Table(
        "Mentions in whole novels against the oracle", ("novel", "characters", "mentions", "differences"), rows
    )
