"""The clauses in which English speakers tell of themselves."""

import re
from typing import Final

from domain.extraction.rule import Rule

IDENTITY: Final = "Identity"
PREFERENCES: Final = "Preferences"
HEALTH: Final = "Health"
PLACES: Final = "Places"
WORK: Final = "Work"
DATES: Final = "Dates"
PEOPLE: Final = "People"
GOALS: Final = "Goals"
NOTES: Final = "Notes"

_AM: Final = r"I(?:'?m| am)(?: (?:also|still|currently|actually|now|originally))?"
_HAVE: Final = r"I(?:'ve| have)(?: (?:also|just|recently|actually|now))*"
_VERY: Final = (
    r"(?:(?:really|absolutely|also|always|still|just|do|totally|truly|particularly|generally|usually|mostly|quite"
    r"|rather|kind of|kinda|actually|personally|definitely|simply|strongly|much|deeply|genuinely|honestly|especially"
    r"|severely|very|highly|extremely|slightly|mildly|deathly|super|so|currently|now|a bit|all that|that"
    r"|at all) )*"
)
_NEVER: Final = r"(?:do not|don'?t|never)"
_IT: Final = r"(?P<it>.+)"
_NAME: Final = r"(?P<name>\S+(?: \S+){0,3})"
# Behind "call me" many other words may stand: only one with a capital is a name.
_CASED: Final = r"(?P<cased>\S+(?: \S+){0,3})"
_DATE: Final = (
    r"(?P<date>.*(?:\d|january|february|march|april|may\b|june|july|august|september|october|november|december"
    r"|christmas|new year|valentine).*)"
)
_ONE_OF_MINE: Final = (
    r"(?:(?:older|younger|elder|little|big|baby|twin|eldest|youngest|oldest|pet|best|late|step|two|three) ?)*"
    r"(?:wife|husband|spouse|partner|fianc[eé]e?|girlfriend|boyfriend|daughter|son|child|kid|baby|mother|father"
    r"|mom|mum"
    r"|dad|parent|sister|brother|sibling|twin|grandmother|grandfather|grandma|grandpa|grandson|granddaughter|aunt"
    r"|uncle"
    r"|cousin|niece|nephew|friend|roommate|flatmate|boss|dog|puppy|cat|kitten|parrot|bird|rabbit|bunny|hamster|horse"
    r"|pony|turtle|tortoise|goldfish|guinea pig|lizard|snake|ferret|budgie|canary|pet)(?:ren|s)?"
)
_PROFESSION: Final = (
    r"(?:accountant|actor|actress|analyst|anesthesiologist|animator|anthropologist|archaeologist|architect|artist"
    r"|astronomer|attorney|author|baker|banker|barber|barista|bartender|biologist|blogger|bookkeeper|bookseller"
    r"|bricklayer|bus driver|butcher|carer|caregiver|carpenter|cashier|chef|chemist|civil servant|cleaner|coach"
    r"|comedian|composer|consultant|contractor|copywriter|counsel(?:l)?or|curator|dancer|data scientist|dentist"
    r"|designer|developer|dietitian|director|doctor|economist|editor|electrician|engineer|entrepreneur|farmer"
    r"|filmmaker|firefighter|fisherman|flight attendant|florist|founder|freelancer|game dev|gardener|geologist"
    r"|hairdresser|historian|homemaker|housewife|illustrator|interpreter|investigator|janitor|jeweller|journalist"
    r"|judge|landlord|lawyer|lecturer|librarian|linguist|manager|marketer|mathematician|mechanic|midwife|musician"
    r"|nanny|neuroscientist|novelist|nurse|nutritionist|officer|optician|painter|paralegal|paramedic|pharmacist"
    r"|photographer|physician|physicist|physiotherapist|pianist|pilot|playwright|plumber|poet|police officer"
    r"|policeman|politician|postdoc|postman|potter|producer|professor|programmer|psychiatrist|psychologist|publisher"
    r"|radiologist|realtor|receptionist|recruiter|researcher|reporter|retiree|sailor|salesman|salesperson|scientist"
    r"|sculptor|secretary|singer|social worker|sociologist|soldier|student|surgeon|tailor|taxi driver|teacher"
    r"|technician|therapist|tour guide|trader|trainer|translator|truck driver|tutor|undergraduate|vet|veterinarian"
    r"|violinist|waiter|waitress|web dev|welder|writer|zoologist)"
)
_ILLNESS: Final = (
    r"(?:(?:type (?:1|2|one|two) )?diabetes|asthma|epilepsy|migraines?|arthritis|eczema|psoriasis|adhd|add|autism"
    r"|dyslexia|hypertension|high blood pressure|insomnia|hay fever|c(?:o)?eliac disease|crohn's(?: disease)?|ibs"
    r"|a heart condition|a pacemaker|anxiety|depression|hypothyroidism|lactose intolerance|tinnitus|sleep apnea)"
)
_CONDITION: Final = (
    r"(?:(?:an? )?(?:strict |lifelong |committed |devout )?(?:vegetarian|vegan|pescatarian|flexitarian"
    r"|teetotal(?:er)?)"
    r"|(?:lactose|gluten)[ -]intolerant"
    r"|(?:an? )?(?:type (?:1|2|one|two) )?(?:diabetic|asthmatic|epileptic|coeliac|celiac)"
    r"|colou?r[ -]?blind|left-handed|dyslexic|autistic|deaf|blind|hard of hearing|near-?sighted|short-?sighted)"
)
# Fears of what may happen pass, those of things stay.
_ATTITUDE: Final = (
    r"(?:(?:an? )?(?:big |huge |great |massive |real )?fan of|into|fond of|crazy about|keen on|passionate about"
    r"|interested in|obsessed with|(?:afraid|scared|terrified) of(?! (?:not|\w+ing)\b))"
)
_BUSINESS: Final = (
    r"(?:shop|store|business|company|restaurant|café|cafe|bakery|farm|studio|agency|startup|blog|podcast|channel"
    r"|school|gallery|bar|hotel)"
)
_PURSUING: Final = (
    r"(?:learning|studying|teaching myself|training for|preparing for|practicing|practising|saving(?: up)? for)"
)


def _rule(category: str, clause: str, fact: str) -> Rule:
    return Rule(category, re.compile(clause, re.IGNORECASE), fact)


RULES: Final = (
    _rule(
        IDENTITY,
        rf"my (?P<which>(?:(?:first|last|full|real|given|family|middle) )?name|nickname|surname)(?: is|'s) {_NAME}",
        "User's {which} is {name}",
    ),
    _rule(
        IDENTITY,
        rf"(?:please |just |you can |you may |everyone |everybody |people |(?:my )?friends )*calls? me {_CASED}",
        "User is called {cased}",
    ),
    _rule(IDENTITY, rf"I go by(?: the name)?(?: of)? {_CASED}", "User goes by {cased}"),
    _rule(IDENTITY, rf"{_AM} called {_CASED}", "User is called {cased}"),
    _rule(
        PREFERENCES,
        rf"I {_VERY}(?P<verb>like|love|adore|enjoy|prefer|hate|dislike|detest|despise) {_IT}",
        "User {verb}s {it}",
    ),
    _rule(
        PREFERENCES,
        rf"I {_VERY}{_NEVER} {_VERY}(?P<verb>like|love|enjoy|care for|care about) {_IT}",
        "User doesn't {verb} {it}",
    ),
    _rule(
        PREFERENCES,
        rf"I (?:really |just )?(?:can't|cant|cannot|can not) (?P<verb>stand|bear) {_IT}",
        "User can't {verb} {it}",
    ),
    _rule(
        PREFERENCES,
        rf"{_HAVE} always (?P<verb>liked|loved|adored|enjoyed|preferred|hated|disliked) {_IT}",
        "User has always {verb} {it}",
    ),
    _rule(
        PREFERENCES,
        rf"{_AM} (?P<how>(?:not )?{_VERY}{_ATTITUDE}) {_IT}",
        "User is {how} {it}",
    ),
    _rule(
        PREFERENCES,
        rf"my (?:(?:absolute|all-time|personal) )?(?P<what>(?:least )?favou?rite(?: [\w'-]+){{1,4}}?) "
        rf"(?P<is>is|are|has always been) (?:definitely |probably |actually |always )?{_IT}",
        "User's {what} {is} {it}",
    ),
    _rule(
        PREFERENCES,
        r"(?P<it>.+) (?P<is>is|are) my (?:absolute |all-time )?(?P<what>(?:least )?favou?rite(?: [\w'-]+){0,3})",
        "User's {what} {is} {it}",
    ),
    _rule(
        PREFERENCES, rf"what I (?P<verb>like|love|enjoy|hate) (?:the )?(?:most|best) is {_IT}", "User {verb}s {it} most"
    ),
    _rule(HEALTH, rf"{_AM} (?P<how>{_VERY})allergic to {_IT}", "User is {how}allergic to {it}"),
    _rule(
        HEALTH,
        r"I(?: also)? have (?P<it>(?:an? )?(?:[\w-]+ ){0,3}(?:allergy|allergies|intolerance)(?: to .+)?)",
        "User has {it}",
    ),
    _rule(HEALTH, rf"I(?: also)? have (?P<it>{_ILLNESS})", "User has {it}"),
    _rule(HEALTH, rf"{_AM} (?P<it>{_CONDITION})", "User is {it}"),
    _rule(HEALTH, rf"{_HAVE} been (?P<it>{_CONDITION}(?: for .+)?)", "User has been {it}"),
    _rule(HEALTH, rf"I {_NEVER} {_VERY}(?P<verb>eat|drink|smoke) {_IT}", "User doesn't {verb} {it}"),
    _rule(HEALTH, rf"I {_NEVER} (?P<verb>smoke|drink)", "User doesn't {verb}"),
    _rule(HEALTH, r"I (?:can't|cannot) eat (?P<it>.+)", "User can't eat {it}"),
    _rule(HEALTH, rf"{_AM} on (?P<it>an? .*diet)", "User is on {it}"),
    _rule(
        PLACES,
        rf"I {_VERY}(?:live|reside) (?P<where>in|near|on|at|outside|by|close to) {_IT}",
        "User lives {where} {it}",
    ),
    _rule(PLACES, rf"{_AM} (?P<where>from|based in|living in) {_IT}", "User is {where} {it}"),
    _rule(PLACES, rf"I(?: originally)? come from {_IT}", "User comes from {it}"),
    _rule(DATES, r"I was born (?P<when>on|in) (?P<it>.*\d.*)", "User was born {when} {it}"),
    _rule(
        PLACES,
        rf"I (?P<how>was born and raised|was born|was raised|grew up) (?P<where>in|on|near) {_IT}",
        "User {how} {where} {it}",
    ),
    _rule(
        PLACES,
        rf"(?:I|{_HAVE}) (?:just |recently |finally )?(?P<verb>moved|relocated|emigrated)(?P<back> back)? to {_IT}",
        "User {verb}{back} to {it}",
    ),
    _rule(PLACES, rf"{_AM} (?P<verb>moving|relocating)(?P<back> back)? to {_IT}", "User is {verb}{back} to {it}"),
    _rule(PLACES, rf"my (?P<what>home ?town|home country|home city) is {_IT}", "User's {what} is {it}"),
    _rule(WORK, rf"I {_VERY}work (?P<where>at|for|as|in|from|with) {_IT}", "User works {where} {it}"),
    _rule(
        WORK,
        rf"(?:{_HAVE} been|{_AM}) working (?P<where>at|for|as) {_IT}",
        "User is working {where} {it}",
    ),
    _rule(
        WORK,
        rf"{_AM} (?P<it>an? (?:[\w'-]+ ){{0,4}}?{_PROFESSION}(?: (?:at|in|for|from|with|by|of|on) .+)?)",
        "User is {it}",
    ),
    _rule(WORK, rf"{_AM} (?P<it>retired|self-employed|unemployed)", "User is {it}"),
    _rule(WORK, rf"my (?P<what>job|profession|occupation|major|minor|job title) is {_IT}", "User's {what} is {it}"),
    _rule(WORK, rf"I {_VERY}work (?P<how>from home|remotely|freelance)", "User works {how}"),
    _rule(WORK, rf"I {_VERY}study {_IT}", "User studies {it}"),
    _rule(WORK, rf"I {_VERY}teach {_IT}", "User teaches {it}"),
    _rule(WORK, rf"I {_VERY}major in {_IT}", "User majors in {it}"),
    _rule(WORK, rf"{_AM} majoring in {_IT}", "User is majoring in {it}"),
    _rule(
        WORK,
        rf"I (?:also )?(?P<verb>own|run) (?P<it>(?:an?|my own) (?:[\w-]+ ){{0,3}}{_BUSINESS}(?: .+)?)",
        "User {verb}s {it}",
    ),
    _rule(
        DATES,
        rf"(?:my|our) (?P<what>(?:{_ONE_OF_MINE}'s )?(?:birthday|date of birth|(?:wedding )?anniversary)) "
        rf"(?P<is>is|falls) {_DATE}",
        "User's {what} {is} {date}",
    ),
    _rule(DATES, rf"(?:I|we) got married (?P<when>on|in) {_DATE}", "User got married {when} {date}"),
    _rule(PEOPLE, rf"my (?P<who>{_ONE_OF_MINE})'?s'? names? (?P<is>is|are) {_NAME}", "User's {who}'s name is {name}"),
    _rule(
        PEOPLE,
        rf"my (?P<who>{_ONE_OF_MINE}) (?P<is>is|are) (?P<called>called|named) {_NAME}",
        "User's {who} {is} {called} {name}",
    ),
    _rule(
        PEOPLE,
        r"(?:I|we)(?: also)? have (?P<it>(?!.*\b(?:friend|boss|roommate|flatmate|partner|baby)s?$)"
        rf"(?:an?|one|two|three|four|five|six|\d+) (?:[\w-]+ ){{0,2}}?{_ONE_OF_MINE}"
        r"(?: and (?:an?|one|two|three|four|\d+) [\w-]+)?(?: (?:called|named) .+)?)",
        "User has {it}",
    ),
    _rule(PEOPLE, rf"{_AM} (?P<it>(?:happily )?married(?: to .+)?)", "User is {it}"),
    _rule(PEOPLE, r"I live with (?P<it>.+)", "User lives with {it}"),
    _rule(
        GOALS,
        rf"{_AM} (?P<verb>{_PURSUING}) {_IT}",
        "User is {verb} {it}",
    ),
    _rule(GOALS, rf"{_HAVE} been (?P<verb>{_PURSUING}) {_IT}", "User has been {verb} {it}"),
    _rule(
        GOALS,
        rf"(?:{_AM}|{_HAVE} been) (?P<it>(?:writing|working on) (?:an?|my) (?:[\w-]+ ){{0,4}}?"
        r"(?:novel|book|thesis|dissertation|memoir|screenplay|phd|album|video game)(?: .+)?)",
        "User is {it}",
    ),
    _rule(
        GOALS,
        rf"my (?:(?:biggest|main|long-term|big|life) )?(?P<what>goal|dream|ambition|new year's resolution) is {_IT}",
        "User's {what} is {it}",
    ),
    _rule(GOALS, r"I want to become (?P<it>an? .+)", "User wants to become {it}"),
)
