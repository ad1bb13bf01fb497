"""What an English sentence states about the user."""

import re
from collections.abc import Iterator
from typing import Final

from domain.extraction import Learned
from domain.extraction.english_rules import NOTES, PEOPLE, RULES
from domain.extraction.sentences import Sentence

# A message with one of these gives us a text to work on, a part to play or a joke.
_HANDS_OVER: Final = re.compile(
    r"(?:^|[.!?\n][ \t]{0,3}|\b(?:please|you|me|me to|to|let's)\s+)"
    r"(?:(?:translate|proofread|paraphrase|rephrase|rewrite|summari[sz]e|role-?play|act as|pretend|imagine)\b"
    r"|(?:correct|check|edit|improve|fix|polish|revise)\s+(?:this|these|that|the|my)\s+(?:following\s+)?"
    r"(?:sentence|text|grammar|paragraph|essay|email|letter|translation|english|spelling|draft)"
    r"|(?:write|compose|draft)\s(?:[\w-]+\s){0,5}?"
    r"(?:story|poem|song|letter|e-?mail|essay|bio|dialogue|monologue|scene|script|speech|post|review|message|diary))"
    r"|\b(?:my character|in character|just kidding|(?:only|just|was|am|'m) joking|jk|lyrics|example sentences?"
    r"|you are (?:an?|my|now) )",
    re.IGNORECASE,
)

# A sentence with one of these tells what is not, or what somebody else said.
_DOUBT: Final = re.compile(
    r"\b(?:if|unless|suppose|supposing|imagine|pretend|wish|hypothetically|maybe|perhaps|probably|let's say|as though"
    r"|what would|when I was|as a (?:kid|child|teenager)|(?:years|months) ago"
    r"|back (?:in|when|then)|in (?:my|the|this|that|a) (?:dreams?|movie|film|story|book|novel|game|play|show|song"
    r"|scene)"
    r"|says|thinks|claims|asks|asked|wrote|writes|sings|called out|shouted|replied|answered"
    r"|(?<!\bI )(?<!\bI've )(?:said|told)|according to|would be|was like|be like)\b",
    re.IGNORECASE,
)

_LEAD: Final = re.compile(
    r"^(?:(?:well|so|also|and|but|oh|ah|hi|hello|hey|there|yes|yeah|yep|no|nope|ok|okay|hmm+|wow|haha|actually"
    r"|honestly"
    r"|personally|basically|generally|btw|by the way|in fact|to be honest|tbh|fyi|anyway|however|plus|besides|since"
    r"|because|though|although|while|now|currently|these days|nowadays|just so you know|speaking of [\w-]+|sure|right"
    r"|thanks|thank you|sorry|look|listen|I mean|as I (?:said|mentioned)(?: before)?"
    r"|I(?:'ve)? (?:said|told you)(?: that)?|that's why|too)(?=\s|$)\s*)+",
    re.IGNORECASE,
)

# Where another clause begins, with a subject of its own or with the one before.
_NEXT: Final = (
    r"(?:I|I'm|I've|I'd|I'll|my|we|he|she|it|it's|they|you|there|that|this|then|so|but|because|which|who|where|when"
    r"|while|live|work|like|love|enjoy|hate|prefer|have|am|is|are|was|were|do|don't|can|can't|cannot|could|will|would"
    r"|want|need|study|moved|also|now|not|just|what|how|why|please|especially|though|although|since|thanks|too|if)\b"
)
_WORD: Final = rf"(?!{_NEXT}|and\b|or\b)[\w'&.+#/-]+"
_ITEM: Final = rf"{_WORD}(?: {_WORD}){{0,3}}"
_ENUMERATION: Final = re.compile(rf"(?:, {_ITEM}){{1,9}},? (?:and|or) {_ITEM}", re.IGNORECASE)
_PLACE_IN_PLACE: Final = re.compile(
    r"\b(?:in|from|to|near) (?:[A-Z][\w.-]+ ?){1,3}, (?:[A-Z][\w.-]+ ?){1,3}(?=$|[,;.])"
)
_KEPT_COMMA: Final = "\x1f"
_CUT: Final = re.compile(
    r"\s*[,;()—–]\s*|\s+-{1,2}\s+"
    r"|\s+(?=(?:but|because|so|which|who|where|since|although|though|while|whereas|however|especially)\b)"
    rf"|\s+and\s+(?={_NEXT})",
    re.IGNORECASE,
)

# A last clause that asks for something else leaves the statements before it as they are; "don't I?" does not.
_OWN_QUESTION: Final = re.compile(
    r"(?:and |but |so |or )?(?:what|how|which|where|who|why|when|can|could|would|will|should|is there|are there|any"
    r"|(?:do|did|does|is|are|was|has|have)(?! (?:I|it|that|this)\b)|you(?: know)?$|yours$)\b",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"(?:can|could|would|will|should) I$|do you (?:think|mean)$|or (?:what|not)", re.IGNORECASE)

_REQUEST: Final = re.compile(
    r"(?:(?:so|and|also|oh|ok|okay|hey|btw|by the way)[, ]+)*"
    r"(?:(?:please|(?:can|could|will|would|should) you|you should|I(?: want| need|'d like| would like) you to),? )*"
    r"(?:(?:always |just )?(?:remember|keep in mind|bear in mind|don'?t forget|do not forget"
    r"|make a note|take note|note down)(?: this| for later| for me| for the future)?"
    r"(?:,? that |: |, (?=I|my|our|we|the)"
    r"| (?=(?:I|I'm|I've|my|our|we)\b.*(?:\b(?:am|is|are|was|were|has|have|can|can't|will|must|need|do|don't|like"
    r"|love"
    r"|hate|prefer|live|work)\b|'m|'s|'ve)))"
    r"|(?<=please )note(?: that |: )|for future reference[:,] )(?P<matter>.+)",
    re.IGNORECASE,
)
_NO_MATTER: Final = re.compile(
    r"(?:to|when|how|what|who|where|why|me|this|that|it|you|us"
    r"|(?:the |one )?(?:time|day|night|moment|trip|guy|song|movie))\b",
    re.IGNORECASE,
)
_POLITE: Final = re.compile(r".*\b(?:can|could|will|would) you\b", re.IGNORECASE)

_VAGUE_START: Final = re.compile(
    r"(?:(?-i:it|us)|this|that|these|those|its|you|your|yours|him|her|them|me|he|she|they|what|how|where|who|why"
    r"|one|ones"
    r"|the ones?|both|either|neither|some|something|someone|everything|everyone|nothing|anything|all|any|more|less"
    r"|if|as|about|around|a lot|so|too|myself|not to|having to|being|to (?:say|think|ask|bother|interrupt|admit"
    r"|tell|break|disappoint|see|know|be"
    r"|believe|hear|inform|have)|the (?:first|second|third|last|latter|former|other|next|new|old|previous|same"
    r"|idea|plan"
    r"|one|way|version|result|answer|suggestion|design|sound|look|fact|thought|option|part|couch|point|hotel|airport"
    r"|moment|future|middle|present|past|train|bus)|option|version|number|choice|fear|hope|peace|doubt|a world"
    r"|an? hotel|trouble"
    r"|progress|from|out|here|there|home|new things|lots|much|hard|fast)\b",
    re.IGNORECASE,
)
_VAGUE: Final = re.compile(
    r"\b(?:you|your|yours|I|me|we|(?-i:us)|our|he|she|him|his|hers|they|them|these|those|today|tonight|tomorrow"
    r"|yesterday|right now|just now|at the moment|this (?:morning|afternoon|evening|week|weekend|one|time|way)"
    r"|would|could|should"
    r"|might|maybe|perhaps|anymore|any more|yet|there|here|(?-i:it)(?! (?:rains|snows|is|gets)\b))\b",
    re.IGNORECASE,
)
_FAULTS: Final = re.compile(
    r"an? (?:.* )?(?:bad|good|great|terrible|horrible|better|worse|worst|best|slow|quick|fast|big|huge|lousy)\b",
    re.IGNORECASE,
)
_NO_NAME: Final = re.compile(
    r"(?:not|on|in|at|too|so|very|hard|easy|long|short|a|an|the|to|and|or|of|back|later|when|if|up|what|out|it"
    r"|this|that"
    r"|also|always|your|my|for|known|based|spelled|pronounced|common|unusual|important|irrelevant|secret|private"
    r"|crazy)",
    re.IGNORECASE,
)
_CASED_NAME: Final = re.compile(r"[^\W\d_a-z][\w'.-]*|[\ue000-\uf8ff]|(?:de|van|von|der|da|di|la|le|bin|al|and|&)")
_PLAIN_NAME: Final = re.compile(r"[a-z]{2,20}(?: [a-z]{2,20})?")
_CLOSING_WORDS: Final = re.compile(
    r"(?:\s+(?:too|as well|though|now|currently|these days|nowadays|right|actually|please|lol|haha|btw|by the way"
    r"|so much|a lot|very much|the most|the best|at all|instead|anyway|of course|honestly|you know))+$"
    r"|[\s.~～^]+$",
    re.IGNORECASE,
)
_MINE: Final = re.compile(r"\b(my|myself|mine)\b", re.IGNORECASE)
_THEIRS: Final = {"my": "their", "myself": "themselves", "mine": "theirs"}
# "…, just like my sister" goes on with no statement.
_COMPARES: Final = re.compile(r"(?:just )?like\b", re.IGNORECASE)
MAX_OBJECT_LENGTH: Final = 100


def hands_over(text: str) -> bool:
    return _HANDS_OVER.search(text) is not None


def stated_in(sentence: Sentence) -> tuple[Learned, ...]:
    request = _REQUEST.fullmatch(sentence.text)
    if request is not None and (_POLITE.match(sentence.text) or not sentence.is_question):
        return _requested(request["matter"].strip())
    if _DOUBT.search(sentence.text):
        return ()
    clauses = _clauses(sentence.text)
    if sentence.is_question:
        clauses = clauses[:-1] if _OWN_QUESTION.match(clauses[-1]) and not _TAG.match(clauses[-1]) else []
    return tuple(_facts(clauses))


def _requested(matter: str) -> tuple[Learned, ...]:
    """By the rules if they tell all of it, else as it was said."""
    clauses = _clauses(matter)
    facts = tuple(_facts(clauses))
    if len(facts) == len(clauses) and not _DOUBT.search(matter):
        return facts
    is_said = " " in matter and not _NO_MATTER.match(matter)
    return (Learned(matter, NOTES),) if is_said else ()


def _clauses(text: str) -> list[str]:
    joined = _ENUMERATION.sub(_keep_commas, _PLACE_IN_PLACE.sub(_keep_commas, text))
    clauses = [clause.replace(_KEPT_COMMA, ",").strip() for clause in _CUT.split(joined)]
    return [clause for clause in clauses if clause] or [""]


def _keep_commas(found: re.Match[str]) -> str:
    return found[0].replace(",", _KEPT_COMMA)


def _facts(clauses: list[str]) -> Iterator[Learned]:
    """Behind a statement about the user, a clause without a subject goes on with it."""
    is_about_user = False
    for clause in clauses:
        said = _LEAD.sub("", clause)
        goes_on = is_about_user and not _COMPARES.match(clause)
        fact = _stated(said) or (_stated(f"I {said}") if goes_on else None)
        is_about_user = fact is not None and fact.category != PEOPLE
        if fact is not None:
            yield fact


def _stated(clause: str) -> Learned | None:
    said = _CLOSING_WORDS.sub("", clause)
    for rule in RULES:
        found = rule.clause.fullmatch(said)
        if found is not None and _is_clear(found.groupdict()):
            parts = {name: _of_user(part or "") for name, part in found.groupdict().items()}
            return Learned(rule.fact.format_map(parts), rule.category)
    return None


def _is_clear(parts: dict[str, str | None]) -> bool:
    """Nothing that needs the conversation to be understood, or that tomorrow will have passed."""
    name, cased, it = parts.get("name"), parts.get("cased"), parts.get("it") or parts.get("date")
    if _VAGUE.search(parts.get("what") or ""):
        return False
    if name is not None or cased is not None:
        return _is_cased_name(name or cased or "") or (name is not None and _is_plain_name(name))
    if it is None:
        return True
    return len(it) <= MAX_OBJECT_LENGTH and not (_VAGUE_START.match(it) or _VAGUE.search(it) or _FAULTS.match(it))


def _is_cased_name(words: str) -> bool:
    return all(_CASED_NAME.fullmatch(word) and not _NO_NAME.fullmatch(word) for word in words.split())


def _is_plain_name(words: str) -> bool:
    return _PLAIN_NAME.fullmatch(words) is not None and not any(map(_NO_NAME.fullmatch, words.split()))


def _of_user(words: str) -> str:
    return _MINE.sub(lambda word: _THEIRS[word[0].lower()], words)
