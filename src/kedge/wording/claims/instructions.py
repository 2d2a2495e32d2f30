"""Sentences that tell their reader what to do: none may come out of a model's prose."""

from __future__ import annotations

import re

from kedge.wording.claims.index import Held
from kedge.wording.claims.units import About
from kedge.wording.claims.words import raw_words

RUN = 5
"""Words in a row that are copied and not found again by chance."""
FEWEST = 3
"""Words of a demand that is copied whole."""

_VERBS = (
    r"add|allow|append|approve|apply|ask|call|cancel|change|check|clean|clear|click|clone"
    r"|close|commit|configure|connect|contact|copy|create|delete|deploy|destroy|disable"
    r"|discard|disregard|do|don't|download|drop|e-?mail|enable|ensure|erase|execute|export"
    r"|fetch|fix|follow|force|forget|forward|format|get|give|go|grant|hand|hide|ignore"
    r"|implement|import|include|insert|install|invite|kill|leak|list|log|mail|make|merge"
    r"|modify|move|never|notify|open|output|overwrite|paste|pay|perform|post|print|publish"
    r"|push|put|read|rebase|refactor|release|reload|remove|rename|replace|reply|report|reset"
    r"|respond|restart|restore|return|reveal|revert|revoke|rotate|run|save|say|search|send|set"
    r"|share|shut|skip|start|stop|submit|switch|tell|test|transfer|turn|uninstall|unlock"
    r"|update|upgrade|upload|use|verify|visit|wipe|wire|write|always"
)
"""What may be demanded."""
_NOT_TOLD = "".join(
    rf"(?<!\b{word} )" for word in ("was", "were", "is", "are", "been", "has", "have", "had", "be")
)
"""Not behind these: what was never run is told, not demanded."""
_READER = r"(?:you|the\s+(?:agent|assistant|model|reader|ai|llm|next\s+(?:session|agent|turn)))"
_ADDRESSED = re.compile(
    rf"\b{_READER}\s+(?:must|should|shall|need|needs|have\s+to|has\s+to|are\s+to|is\s+to|may|will|can"
    r"|ought|are\s+(?:now|required|expected|allowed|not)|cannot|can't|mustn't|shouldn't)\b"
    r"|\byou\s+are\s+(?:an?|the|in)\b|\byour\s+(?:instructions?|rules?|role|guidelines|task|job|goal"
    r"|orders?|system|new)\b|\b(?:act|behave|respond|answer|reply)\s+(?:as|like|only)\b"
    r"|\bpretend\b|\brole-?play|\bjailbreak|\b(?:developer|dan|god|admin)\s+mode\b"
)
_TAKES_OVER = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|discard)\s+(?:\w+\s+){0,3}?"
    r"(?:previous|prior|above|earlier|preceding|instructions?|rules?|everything|guidelines|safety"
    r"|guardrails|restrictions|prompts?)\b"
    r"|\bfrom\s+now\s+on\b|\bhenceforth\b|\bfrom\s+this\s+point\s+(?:on|forward)"
    r"|\b(?:do\s+not|don't|never)\s+(?:tell|mention|reveal|inform|warn|disclose|show\s+this)\b"
    r"|\bkeep\s+(?:this|it)\s+(?:secret|hidden|quiet|from)\b|\bsystem\s+(?:prompt|message|override)\b"
    r"|\bnew\s+(?:instructions?|rules?|system)\b|\bunder\s+no\s+circumstances\b|\bat\s+all\s+times\b"
    r"|\b(?:mandatory|imperative|compulsory)\b|\bno\s+matter\s+what\b|\bwithout\s+exception\b"
    r"|^\W*(?:important|attention|warning|note\s+to\s+\w+|system|assistant|user|human|developer"
    r"|instructions?|rule)\s*:"
)
_RULES = re.compile(
    rf"(?:^|[:;.–—]\s*|\b(?:must|should|shall|please|agents?|assistant)\s+)(?:always|never)\b"
    rf"|{_NOT_TOLD}\b(?:always|never)\s+(?:{_VERBS})\b"
    r"|^\W*(?:do\s+not|don't|please|make\s+sure|remember|be\s+sure)\b"
    r"|\b(?:all|every|any|each)\s+\w+(?:\s+\w+)?\s+(?:must|shall)\b|\bmust\s+(?:always|never)\b"
)
"""Rules for whoever reads; in a step that is suggested these are no way to say it, too."""
_OBLIGES = re.compile(
    r"\b(?:must|shall|mustn't|not\s+allowed|forbidden|prohibited|required\s+to|obliged\s+to)\b"
)
_ELSEWHERE = re.compile(
    r"\b(?:ignorier\w*|ab\s+(?:jetzt|sofort)|vergiss|ignore[zr]|oublie[zr]?|à\s+partir\s+de\s+maintenant"
    r"|désormais|ignora(?:r|d)?|olvida|a\s+partir\s+de\s+ahora|a\s+partir\s+de\s+agora|d'ora\s+in\s+poi"
    r"|игнорируй\w*|отныне|забудь\w*)\b"
    r"|忽略(?:之前|以上|所有|先前)|无视|從現在|从现在|以前の指示|指示を無視|今後は|무시하|지금부터"
)
_IMPERATIVE = re.compile(
    r"^\W*(?:(?:please|now|then|next|first|finally|also|important|note|urgent|attention|todo|warning)"
    r"[\s:,!]+){0,3}"
    rf"(?:{_VERBS})\b"
    r"|^\W*(?:lösche|sende|schicke|führe|installiere|öffne|supprim|envo(?:ie|yez)|exécute|borra"
    r"|elimina|env[ií]a|ejecuta|удали|отправь|запусти|выполни|删除|刪除|发送|發送|执行|執行|运行|请|請|削除|送信|実行)"
)


_BARE = re.compile(
    r"^\W*(?:(?:please|now|then|next|first|finally|also|just|so)[\s,]+){0,3}"
    rf"(?:(?:{_VERBS}|touch|keep|continue|proceed|wait|treat|consider|trust|accept|provide|supply|enter"
    r"|attach|encrypt|dump|truncate|purge|register|sign|ship|bump|edit|rewrite|bypass|mark|mute"
    r"|silence|try|navigate|browse|load|pull|generate|convert|extract|choose|pick|finish|complete"
    r"|build|review|look|investigate|document|describe)\b(?!-|\s*$))"
)
_NOUNS = re.compile(
    r"^\W*(?:test|list|log|open|read|set|report|output|format|start|change|release|search|return"
    r"|check|call|commit|copy|drop|fix|export|import|mail|e-?mail|merge|move|post|print|push|put|reply"
    r"|reset|restart|restore|run|save|stop|switch|transfer|turn|update|upgrade|use|force|hand|share"
    r"|touch|sign|load|pull|pick|build|review|look|document|trust|mark|tag|ship|dump|clean|complete"
    r"|format|install|download|upload|request|query|deploy|rebase|refactor|delete|insert|respond)\b"
)
"""Verbs that are names of things as well, or stand in front of one."""
_OBJECT = re.compile(
    r"^\W*\w+(?:\s+(?:out|up|off|down|in))?\s+(?:the|a|an|all|any|this|that|these|those|it|them|its"
    r"|your|our|my|every|each|both|everything|⌑)\b"
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|did|can|cannot|will|would|should|must|may|[a-z]{2,}s"
    r"|[a-z]{2,}ed|went|got|came|made|took|gave|found|left|kept)\b"
)
_DUE = re.compile(
    r"\b(?:should|must|ought|shall|may|needs?|needed|required?|requires|necessary|recommended|mandatory"
    r"|supposed\s+to|(?:has|have|had|is|are|remains?|yet|still|want(?:s|ed)?)\s+to"
    r"|to\s+(?:finish|complete|proceed|continue|unlock|activate)|let's|waiting\s+(?:for|to)"
    r"|soll(?:te|en)?|muss|müssen|doit|doivent|debe|deben|должн\w*|нужно|надо)\b|应该|必须|需要|べき|해야"
)
"""Says what is to be done, and not what was."""


def orders(lowered: str) -> bool:
    """Whether a sentence begins as a command does."""
    if not _BARE.match(lowered):
        return False
    if not _NOUNS.match(lowered) or _OBJECT.match(lowered):
        return True
    _, _, behind = lowered.strip().partition(" ")
    return _FINITE.search(behind) is None


def is_due(lowered: str) -> bool:
    return _DUE.search(lowered) is not None


def instructs(lowered: str, about: About) -> bool:
    """Whether a sentence commands its reader. What is suggested as a step may be put as one."""
    if any(cue.search(lowered) for cue in (_ADDRESSED, _TAKES_OVER, _RULES, _ELSEWHERE)):
        return True
    if about in ("change", "rationale", "state") and orders(lowered):
        return True
    return about not in ("intent", "question") and _OBLIGES.search(lowered) is not None


def copies_demand(lowered: str, held: Held) -> bool:
    """Whether a demand is taken from what a tool showed, and neither the user nor the agent spoke
    of it as theirs. What is known does not count here: a line of a log may be among it."""
    if not _IMPERATIVE.match(lowered):
        return False
    words = raw_words(lowered)
    runs = [" ".join(words[at : at + RUN]) for at in range(max(1, len(words) - RUN + 1))]
    return len(words) >= FEWEST and any(
        held.shown.has_run(run) and not held.meant.has_run(run) for run in runs
    )
