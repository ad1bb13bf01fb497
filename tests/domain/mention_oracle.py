"""A second opinion on mentions: the rules of B1 applied name by name and letter by letter, slowly.

It shares no code with the matcher. A name stands where its letters stand one behind the other. Between two of them
may be up to three separators, and readings: kana in brackets. Two Latin letters are parted where the name is written
so and only there, then also by the end of a line. Neither end may cut a Latin or a katakana word.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

Found = tuple[int, int, frozenset[str]]

ON_A_LINE = " ・·‧•=゠"
LINE_ENDS = "\n\r\t"
MOST_SEPARATORS = 3
OPENING = "(《〈[〔"
CLOSING = ")》〉]〕"
LONGEST_READING = 30
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR", "IDEOGRAPHIC")


@dataclass(frozen=True)
class Text:
    """Folded letters; letter i was made of the original from `begins[i]` to `ends[i]`."""

    letters: str
    begins: Sequence[int]
    ends: Sequence[int]


@dataclass(frozen=True)
class Gap:
    """What is skipped between two letters of a name: where it leads, and its separators."""

    end: int
    separators: str


def oracle_mentions(names: Sequence[tuple[str, str]], text: str) -> list[Found]:
    """(start, end, ids of the entities named there) in the order of the text; `names` are (name, entity id)."""
    folded = fold(text)
    named: dict[tuple[int, int], set[str]] = defaultdict(set)
    for name, entity_id in names:
        for start, end in places_of(name, folded):
            named[folded.begins[start], folded.ends[end - 1]].add(entity_id)
    covered = bytearray(len(text))
    kept = []
    for start, end in sorted(named, key=lambda span: (span[0] - span[1], span[0])):
        if not any(covered[start:end]):
            covered[start:end] = b"\x01" * (end - start)
            kept.append((start, end, frozenset(named[start, end])))
    return sorted(kept, key=lambda found: found[0])


def fold(text: str) -> Text:
    letters: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    begin = 0
    while begin < len(text):
        end = begin + 1
        while end < len(text) and hangs_on_the_one_before(text[end]):
            end += 1
        for letter in fold_cluster(text[begin:end]):
            letters.append(letter)
            begins.append(begin)
            ends.append(end)
        begin = end
    return Text("".join(letters), begins, ends)


@cache
def hangs_on_the_one_before(character: str) -> bool:
    is_hangul_vowel_or_final = 0x1160 <= ord(character) <= 0x11FF
    return is_hangul_vowel_or_final or character in "ﾞﾟ" or unicodedata.category(character) in ("Mn", "Mc", "Me")


@cache
def fold_cluster(cluster: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", cluster).casefold()).lower()
    has_letters = any(each.isalnum() for each in folded)
    return folded if has_letters or len(folded) <= len(cluster) else cluster


def places_of(name: str, text: Text) -> Iterator[tuple[int, int]]:
    """Where the name stands, as positions in the folded letters."""
    wanted, parted_before = taken_apart(name)
    if not wanted:
        return
    start = text.letters.find(wanted[0])
    while start >= 0:
        for is_past_readings in (False, True):
            end = end_of_name(wanted, parted_before, text.letters, start, is_past_readings=is_past_readings)
            if end is not None and not cuts_a_word(text.letters, start) and not cuts_a_word(text.letters, end):
                yield start, end
        start = text.letters.find(wanted[0], start + 1)


def taken_apart(name: str) -> tuple[str, set[int]]:
    """Its letters, and before which of them a separator is written."""
    letters = ""
    parted_before = set()
    for letter in fold(name).letters:
        if letter in ON_A_LINE + LINE_ENDS:
            parted_before.add(len(letters))
        else:
            letters += letter
    return letters, parted_before


def end_of_name(
    wanted: str, parted_before: set[int], letters: str, start: int, *, is_past_readings: bool
) -> int | None:
    position = start
    for index in range(1, len(wanted)):
        gap = gap_at(letters, position + 1, is_past_readings=is_past_readings)
        if gap.end >= len(letters) or letters[gap.end] != wanted[index]:
            return None
        is_parted = gap.end > position + 1
        is_latin = word_script(letters[position]) == word_script(letters[gap.end]) == "latin"
        if is_latin and is_parted != (index in parted_before):
            return None
        if len(gap.separators) > MOST_SEPARATORS:
            return None
        if not is_latin and any(each in LINE_ENDS for each in gap.separators):
            return None
        position = gap.end
    return position + 1


def gap_at(letters: str, position: int, *, is_past_readings: bool) -> Gap:
    separators = ""
    while position < len(letters):
        if letters[position] in ON_A_LINE + LINE_ENDS:
            separators += letters[position]
            position += 1
        elif is_past_readings and (end := end_of_reading(letters, position)) is not None:
            position = end
        else:
            break
    return Gap(position, separators)


def end_of_reading(letters: str, position: int) -> int | None:
    if letters[position] not in OPENING:
        return None
    end = position + 1
    while end < len(letters) and is_kana(letters[end]):
        end += 1
    is_closed = end < len(letters) and letters[end] in CLOSING
    return end + 1 if is_closed and 1 <= end - position - 1 <= LONGEST_READING else None


def is_kana(letter: str) -> bool:
    return "ぁ" <= letter <= "ゟ" or "ァ" <= letter <= "ヿ"


def cuts_a_word(letters: str, edge: int) -> bool:
    if edge in (0, len(letters)):
        return False
    script = word_script(letters[edge - 1])
    return script != "none" and script == word_script(letters[edge])


@cache
def word_script(letter: str) -> str:
    """Which run of letters is one word; "none" where names need no space around them."""
    if "ァ" <= letter <= "ヿ" and letter != "・":
        return "katakana"
    if unicodedata.name(letter, "").startswith(UNSPACED):
        return "none"
    return "latin" if letter.isalnum() or unicodedata.combining(letter) else "none"
