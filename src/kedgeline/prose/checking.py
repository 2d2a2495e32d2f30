"""What of a model's reply may stand in a summary: a few plain rules, sentence by sentence.

Names, paths, numbers and quotes must stand in the record to the letter, and most other words in
what user and agent said. Nothing may speak for anybody, command the reader, state a rule or look
like a line of ours. The rest is taken, marked as the model's words: its truth is not checked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence

from kedgeline.model import AnyFact, CommandRun, Dropped, InstructionGiven, Unfit
from kedgeline.prose.asking import is_no_answer
from kedgeline.prose.material import Checked, Packet, Prose, Sources, Unit, entries_of, units_of
from kedgeline.redact import REDACTOR
from kedgeline.text.prose import cut, foreign, holds_plain, one_line, plain

SHOWN, SEARCHED = 120, 2_000
"""Characters of a dropped sentence that a report shows, and that are searched for secrets."""
LEAST_HELD = 0.6
"""Share of the words of a sentence that user or agent used."""
LEAST_ABOUT, FEWEST = 0.5, 4
"""Share of a reply, from so many sentences on, that must be held, or none is taken."""
REPEATED, STEM = 4, 5
"""Words of a sentence that is looked for in longer lines; letters that forms of a word share."""

COMMON = (
    " about after again agent all also and any are because been before both but can change"
    " changed changes code come could did does done each every everything fail failed failing fails"
    " file files for from get had has have here how instead into its itself just left like"
    " make may more most must need never new next not nothing now once one only other our"
    " out over pass passed passes passing run same session should some still such test tests than"
    " that the their them then there these they this those too turn turns until use used user"
    " want wants was way were what when where which who will with without work would yet you "
)
"""Words of any session: they do not show that a sentence is about this one."""
_WORD = re.compile(r"[^\W\d_]+")
AROUND, ENDS = "()[]{}<>,;:!?\"'“”‘’«»*…|~≈", ".,;:!?…"
CHECKS = "test", "build", "lint"
COMMAND: Unfit = "a command that is not in the turns"
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts without blanks between words: pairs of their characters are compared."""

_MARKUP = re.compile(
    r"(?s)```|~~~|^\s*(?:#{1,6}|>)\s|</?[A-Za-z!?|][^<>]*>|&#?\w{2,8};|\]\(|\|.*\||^\s*[\[{].*[\]}]\s*$"
    r"|[A-Za-z][\u0400-\u04ff]|[\u0400-\u04ff][A-Za-z]"
)
_LABEL = re.compile(
    r"\W*(?:(?:[A-Za-z]+[ /-]){0,3}[A-Za-z]+ ?[:：](?=\s|$)|[\u3040-\u9fff]{1,6}[:：])"
)
"""The name of a list, or of who speaks: those are ours."""
_SPEAKS = re.compile(
    r"(?i)\b(?:said|says|told|agree[ds]|approv\w+|permi(?:t\w*|ssion)|allowed|authori[sz]\w+|consent\w*"
    r"|insist\w*|granted|waive\w*|go-ahead|sign(?:ed)?[ -]off|clearance"
    r"|as (?:you |they )?(?:requested|asked|instructed)|without (?:asking|confirm\w+)"
    r"|(?:client|customer|manager|reviewer|team)s? (?:asked|wants|decided))\b"
    r"|\b(?:nutzer|benutzer|utilisa|usuari|utente|пользоват)|用户|用戶|使用者|ユーザー|사용자",
)
"""Something is granted or said in somebody's name; only the record tells that, in their words."""
_WISHES = re.compile(r"\buser\b.{0,20}\b(?:want|ask|need|request|prefer|decid|chose|wish)")
_COMMANDS = re.compile(
    r"(?i)\byour?\b|\b(?:agents?|assistant|model|reader) (?:must|should|shall|may|is to|has to)\b"
    r"|\b(?:must|shall|forbidden|prohibited|mandatory|henceforth|from now on|at all times)\b"
    r"|(?:^|[:;.,]\s*|should )(?:always|never|do not|don't|please|make sure|remember)\b"
    r"|\b(?:ignor|disregard|overrid|bypass|forget)\w*\b|\bsystem (?:prompt|message)\b"
    r"|\b(?:instructions?|rules?|restrictions?|guidelines?|constraints?)\b|\bno matter what\b"
    r"|\b(?:remov|delet|disabl|skip|weaken|silenc)\w*\b.{0,40}\b(?:tests?|test_|assert|check|lint)"
    r"|\btests?\b.{0,30}\b(?:skipped|removed|disabled|deleted)\b"
    r"|\b(?:ab jetzt|désormais|a partir de (?:ahora|agora)|отныне)\b|忽略|从现在|今後は|무시",
)
"""Whoever reads is told what to do, a rule is made or lifted, a test is taken away."""
_ORDERS = re.compile(
    r"(?i)^\W*(?:(?:now|then|next|first|also)[\s,]+)?(?:add|change|clean|commit|delete|deploy|disable"
    r"|download|drop|edit|enable|execute|fetch|install|mail|merge|move|open|post|publish|push|release"
    r"|remove|replace|reset|revert|run|send|set|skip|stop|update|upload|use|wipe|write)\s+(?!was|is)",
)
_REFUSED = re.compile(
    r"(?i)inject|untrusted|malicious|suspicious|\b(?:instructs|demands|tells (?:me|us)|urges)\b"
    r"|\b(?:not|won't|never)\b.{0,12}\b(?:follow|obey|comply|act on)\b",
)
"""The agent only reports what a page demands: nobody meant it."""

_QUOTE = re.compile(
    r"`+([^`]+)`+|[\"“„]([^\"“”]+)[\"“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』|[\"`]"
    r"|(?<![\w)])['‘]([^\s'‘’](?:[^'‘’]|(?<=\w)['’](?=\w))*)['’](?!\w)"
)
_FLAG = re.compile(r"-{1,2}[A-Za-z][\w-]*(?:=\S+)?")
_PATH = re.compile(r"(?=.*[^\W\d]).*[/\\].*|\.?[^\W_][\w-]*(?:\.[\w-]+)*\.[a-z][a-z0-9]{0,4}")
_NAME = re.compile(
    r"\w*[^\W_]_+\w+|_\w+|\w*[a-z0-9][A-Z]\w*|[^\W\d_]\w*(?:(?:\.|::|->)\w+)+"
    r"|[0-9a-f]*(?:\d[a-f]|[a-f]\d)[0-9a-f]*|v?\d+(?:\.\d+){2,}\S*|#\d+|[A-Z]{2,10}-\d+"
    r"|[@$]\w\S*|\S+@\S+\.\w+|[^\W\d_]+\d\w*"
)
_MEASURE = re.compile(r"\d[\d,._]*(?:st|nd|rd|th|x|k|ms?|s|h|d|[kmgt]b|px|%)?", re.IGNORECASE)
_EVERYWHERE = re.compile(r"(?i)e\.g|i\.e|and/or|yes/no|on/off|ci/cd|i/o|n/a|git\w+|\w+script|macos")
_LINES = re.compile(r"(?<=\w):\d+(?:[-:]\d+)?$|#L\d+(?:-L?\d+)?$")
_DIGITS = re.compile(r"(?<![A-Za-z\d])\d+(?:[,_]\d{3})*(?:\.\d+)*(?!\d|[A-Za-z_]\w*\d)")
_SAID = re.compile(r"(?<=[.!?。！？])\s+|\n")
_PIECE = re.compile(r"\S*(?:[/\\_.@]\w|\d)\S*")
NUMBERS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7"}
_DENIES = re.compile(
    r"(?i)\b(?:no|not|never|\w+n't|avoid|optional|withdrawn|dropped|nicht|nie|kein\w*|jamais"
    r"|nunca|не|нельзя)\b|不|别|別|勿|禁止|ない|않"
)
_SUCCESS = re.compile(r"(?i)\b(?:pass(?:es|ed|ing)?|green|succeed\w*|works|fixed|ready|clean)\b")
_OPEN = re.compile(
    r"(?i)\b(?:no|not|\w+n't|never|fail\w*|yet|until|once|when|if|before|should|to)\b"
)


class Record:
    """What was said, shown and known, in the forms in which sentences are held against it."""

    def __init__(self, sources: Sources, facts: Sequence[AnyFact], known: Iterable[str]) -> None:
        told = [*sources.known.splitlines(), *sources.reported.splitlines(), *known]
        self._runs = [_run(line) for line in told]
        self._told = {_gist(line) for line in told}
        self._texts = [plain(one) for one in sources[:4]]
        self.numbers = {number for text in self._texts for number in _numbers(text)}
        meant = (one for one in _SAID.split(sources.said) if not _REFUSED.search(one))
        self.words = frozenset(stem for one in (*meant, sources.known) for stem in _stems(one))
        given = (fact for fact in facts if isinstance(fact, InstructionGiven) and fact.lasts)
        rules = [rule for fact in given for rule in _SAID.split(fact.text)]
        self.rules = [(rule, [*_stems(rule)]) for rule in rules]
        runs = [fact for fact in facts if isinstance(fact, CommandRun) and fact.purpose in CHECKS]
        last = {run.purpose: bool(run.failed) or run.success is False for run in runs}
        self.failing = any(last.values())

    def holds(self, *parts: str) -> bool:
        """Whether one of them stands there, and not as a part of another word."""
        return any(holds_plain(text, plain(part)) for text in self._texts for part in parts)

    def holds_path(self, path: str) -> bool:
        """A file by the end of its path, or a folder by its beginning, in whole names."""
        end = path.removeprefix("./")
        if path.startswith("/"):
            exact = re.compile(rf"(?<![\w.~-]){re.escape(plain(path))}(?!\w|[.-]\w)")
            return any(exact.search(text) for text in self._texts)
        return self.holds(path, f"/{end}", f"\\{end}", f"{end}/", f"/{end}/")

    def repeats(self, text: str) -> bool:
        """Whether it was said already; from now on it was."""
        run, gist = _run(text), _gist(text)
        long = len(run.split()) >= REPEATED or _UNSPACED.search(run)
        found = gist in self._told or bool(long and any(run in one for one in self._runs))
        self._told.add(gist)
        self._runs.append(run)
        return found


def checked(
    prose: Prose,
    packet: Packet,
    sources: Sources,
    facts: Sequence[AnyFact],
    *,
    known: Collection[str] = (),
) -> Checked:
    """What of a reply becomes part of the summary, and what does not. `facts` are those of the
    packet's turns and before; `known` is what was taken already."""
    record = Record(sources, facts, known)
    units = [unit for unit in units_of(prose, packet) if unit.text.strip()]
    fit = [unit for unit in units if not misshapen(unit)]
    held = sum(is_held(unit.text, record) for unit in fit)
    strange = len(fit) >= FEWEST and held < LEAST_ABOUT * len(fit)
    taken: list[Unit] = []
    dropped: list[Dropped] = []
    for unit in units:
        why = misshapen(unit) or unfit(unit, record)
        if not why and strange:
            why = "not about these turns"
        if why:
            dropped.append(Dropped(text=_reported(unit.text), why=why))
        else:
            taken.append(unit)
    return Checked(tuple(entries_of(taken, packet, facts)), tuple(dropped))


def misshapen(unit: Unit) -> Unfit | None:
    """What is wrong with a unit whatever the record holds."""
    if len(unit.text) > unit.most:
        return "too long"
    visible = all(one.isprintable() or one in "\u200c\u200d\u00a0\u3000" for one in unit.text)
    if not visible or _MARKUP.search(unit.text) or foreign(unit.text) != one_line(unit.text):
        return "markup or control characters"
    if REDACTOR.found(unit.text):
        return "a secret"
    return None if unit.listed else "about nothing that was listed"


def unfit(unit: Unit, record: Record) -> Unfit | None:
    """Why a sentence is not taken; the first reason is the one that is told."""
    text = unicodedata.normalize("NFKC", unit.text).replace("’", "'")
    if is_no_answer(text):
        return "an error message or a refusal"
    if _LABEL.match(text):
        return "markup or control characters"
    if _SPEAKS.search(text) or (unit.about != "intent" and _WISHES.search(text.casefold())):
        return "speaks for the user"
    orders = unit.about != "next step" and _ORDERS.match(text)  # a step may be put like one
    if orders or _COMMANDS.search(text) or _is_rule(text, record):
        return "gives an instruction"
    if why := unheld(unit.text, record):
        return why
    if record.failing and _SUCCESS.search(text) and not _OPEN.search(text):
        return "contradicts the facts"
    if not is_held(unit.text, record):
        return "not about these turns"
    return "said already" if record.repeats(unit.text) else None


def unheld(text: str, record: Record) -> Unfit | None:
    """The first quote, path, name or number that is not in the record."""
    for found in _QUOTE.finditer(text):
        inner = next(filter(None, found.groups()), "").strip()
        code = found[0].startswith("`")
        if code and inner and " " not in inner:
            continue  # a name or a path, as below
        if not inner or not record.holds(inner, inner.rstrip(ENDS)):
            return COMMAND if code else "a quote that is not in the turns"
    rest = _QUOTE.sub(lambda one: f" {one[0].strip('`')} " if one[0][0] == "`" else " ", text)
    for token in rest.split():
        if why := _unheld_token(token, record):
            return why
    numbers = {*_numbers(rest), *(NUMBERS[one] for one in _run(rest).split() if one in NUMBERS)}
    for number in numbers - record.numbers:
        if not record.holds(*(word for word, value in NUMBERS.items() if value == number)):
            return "a number that is not in the turns"
    return None


def _unheld_token(token: str, record: Record) -> Unfit | None:
    word = token.strip(AROUND).rstrip(".")
    for ending in ("'s", "’s", "()"):
        word = word.removesuffix(ending)
    word = _LINES.sub("", word)
    if _FLAG.fullmatch(word):
        return None if record.holds(word) else COMMAND
    if _MEASURE.fullmatch(word) or _EVERYWHERE.fullmatch(word):
        return None
    if _PATH.fullmatch(word):
        parts = word.split("/")
        prose = len(parts) == 2 and all(one.isalpha() and record.holds(one) for one in parts)
        held = prose or record.holds_path(word)  # prose: start/stop
        return None if held else "a path that is not in the turns"
    if _NAME.fullmatch(word) and not record.holds(word, f".{word}", f"::{word}", f"@{word}"):
        return "a name that is not in the turns"
    return None


def is_held(text: str, record: Record) -> bool:
    """Whether most of its words are user's and agent's own: a page may say anything."""
    rest = _QUOTE.sub(lambda found: " " if " " in found[0] else found[0], text)
    matter, named = _matter(rest), _matter(" ".join(_PIECE.findall(rest)))
    return bool(matter) and len(matter & record.words | named) >= LEAST_HELD * len(matter)


def _is_rule(text: str, record: Record) -> bool:
    """Whether it speaks of doing what a rule forbids, or denies another: they stand verbatim."""
    matter, denies = _matter(text), bool(_DENIES.search(text))
    for rule, stems in record.rules:
        near = len(matter.intersection(stems)) >= max(2, LEAST_HELD * len(stems))
        if near and (stems[0] in matter if _DENIES.search(rule) else denies):
            return True
    return False


def _stems(text: str) -> Iterator[str]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _UNSPACED.search(word):
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif len(word) > 2 and f" {word} " not in COMMON:
            bare = word.removesuffix("ing").removesuffix("ed").removesuffix("s")
            yield bare.rstrip("eiy")[:STEM]


def _matter(text: str) -> frozenset[str]:
    return frozenset(_stems(text))


def _gist(text: str) -> frozenset[str]:
    return _matter(text).union(_numbers(text)) or frozenset({_run(text)})


def _numbers(text: str) -> Iterator[str]:
    for found in _DIGITS.findall(unicodedata.normalize("NFKC", text)):
        whole = found.replace(",", "").replace("_", "")
        yield whole if "." in whole else whole.lstrip("0") or "0"


def _run(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _reported(text: str) -> str:
    """As a report may show it: no secret, and no halves of characters, which no file takes."""
    return cut(one_line(REDACTOR.clean(text[:SEARCHED].encode(errors="replace").decode())), SHOWN)
