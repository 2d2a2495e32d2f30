"""Whose voice a sentence speaks with: the user's, or anybody else's, it must not be."""

from __future__ import annotations

import re

from kedge.wording.claims.clauses import is_negated
from kedge.wording.claims.units import About

_USER = (
    r"\b(?:the\s+|our\s+|their\s+)?(?:end\s+)?(?:user|human|owner|operator|customer|maintainer|boss"
    r"|requester|product\s+owner)\b|\byou\b"
)
_ADVERBS = (
    r"(?:(?:has|have|had|also|already|explicitly|clearly|expressly|then|just|now|since|later|did"
    r"|didn't|does|doesn't|not|never|verbally|finally|repeatedly|further|personally|fully)\s+){0,4}"
)
_STATED = (
    r"(?:approv(?:e[sd]|ing)|allow(?:s|ed)|permit(?:s|ted)|authori[sz](?:e[sd])|confirm(?:s|ed)"
    r"|sa(?:ys|id)|t(?:ells|old)|agree(?:s|d)|insist(?:s|ed)|require[sd]|accept(?:s|ed)"
    r"|grant(?:s|ed)|sign(?:s|ed)\s+off|okayed|ok'?d|consent(?:s|ed)|stat(?:es|ed)"
    r"|declar(?:es|ed)|promis(?:es|ed)|order(?:s|ed)|instruct(?:s|ed)|demand(?:s|ed)"
    r"|mandat(?:es|ed)|decid(?:es|ed)|cho(?:oses|se)|rul(?:es|ed)|forb(?:ids|ade)|prohibit(?:s|ed)"
    r"|bann?(?:s|ed)|waiv(?:es|ed)|gave|gives|trusts?|made\s+(?:it\s+)?clear|acknowledg(?:es|ed)"
    r"|verifie[sd]|is\s+(?:fine|happy|ok|okay|satisfied)\s+with|answered|replied|responded|wrote"
    r"|approve|allow|permit|authori[sz]e|insist|require|agree|say|demand|accept|confirm)\b"
)
"""What a user may have said or granted. Only facts tell that, in his own words."""
_WISHED = (
    r"(?:want(?:s|ed)|ask(?:s|ed)|need(?:s|ed)|request(?:s|ed)|prefer(?:s|red)|expect(?:s|ed)"
    r"|would\s+like|like[sd]|wish(?:es|ed)|hope[sd])\b"
)
"""What may be said of him where it is told what he is after, and nowhere else."""
_OPEN = re.compile(r"\b(?:until|if|whether|unless|ask|asking|wait|waiting|let|should|must|to)\b")
"""Words in front that leave open whether the user did."""
_SPOKEN = re.compile(rf"(?:{_USER})\s+{_ADVERBS}(?P<verb>{_STATED})")
_WANTED = re.compile(rf"(?:{_USER})\s+{_ADVERBS}(?:{_WISHED})")
_GRANTED = re.compile(
    r"\b(?:as|like)\s+(?:you|the\s+user|they)?\s*(?:already\s+)?"
    r"(?:requested|asked|agreed|approved|instructed|told|ordered|confirmed|permitted|directed)\b"
    r"|\b(?:approved|authori[sz]ed|confirmed|requested|demanded|allowed|permitted|ordered|required"
    r"|instructed|sanctioned|mandated)\s+by\s+(?:the\s+)?(?:user|you|human|owner|operator)\b"
    r"|\b(?:with|given|under|after|by|per|at|on|has|have|had|received|got|obtained|following)\s+"
    r"(?:the\s+)?(?:explicit\s+|full\s+|written\s+|prior\s+)?"
    r"(?:user'?s?|your|owner'?s?|operator'?s?|human'?s?)\s+"
    r"(?:explicit\s+|full\s+|written\s+|prior\s+)?(?:approval|permission|consent|confirmation"
    r"|authori[sz]ation|request|instructions?|orders?|wish(?:es)?|blessing|go-ahead|sign-off|behalf)\b"
    r"|\b(?:user|you|owner|your|operator)(?:'s)?\s+(?:has\s+|have\s+)?(?:full\s+)?"
    r"(?:approval|permission|consent|confirmation|authori[sz]ation)\s+(?:was|is|has\s+been|to)\b"
    r"|\b(?:approval|permission|consent|authori[sz]ation|sign-off)\s+(?:was|is|has\s+been|were)\s+"
    r"(?:given|granted|obtained|received|confirmed|not\s+(?:needed|required))\b"
    r"|\bno\s+(?:further\s+|more\s+)?(?:approval|permission|confirmation|review|consent)s?\s+"
    r"(?:is\s+|are\s+)?(?:needed|required|necessary)\b|\bno\s+need\s+to\s+(?:ask|confirm)\b"
    r"|\bwithout\s+(?:asking|further\s+(?:approval|confirmation|questions)|approval|permission"
    r"|confirmation|confirming)\b|\bpre-?approved\b"
    r"|\b(?:i|we|agent|assistant)\s+(?:am|are|is|was|were|have|has|had)\s+(?:been\s+|now\s+|fully\s+)*"
    r"(?:allowed|permitted|authori[sz]ed|told|instructed|approved|cleared|permission|asked)\b"
    r"|\b(?:is|are|was|were|been)\s+(?:now\s+|fully\s+|explicitly\s+)*(?:approved|authori[sz]ed"
    r"|permitted|signed\s+off|green-?lit)\b"
)
_ELSEWHERE = re.compile(
    r"\b(?:nutzer|benutzer|anwender|nutzerin)\b.{0,40}\b(?:erlaubt|genehmigt|bestätigt|gesagt"
    r"|zugestimmt|freigegeben|verlangt|besteht|einverstanden)"
    r"|\b(?:utilisateur|utilisatrice)\b.{0,30}\b(?:approuv|autoris|confirm|dit\b|exig|accept|permis)"
    r"|\b(?:usuari[oa]|utente|utilizador)\b.{0,30}\b(?:aprob|aprov|autoriz|confirm|dijo|disse|exig|"
    r"acept|aceit|permit|approv|detto)"
    r"|(?:用户|使用者|用戶).{0,8}(?:批准|允许|允許|同意|确认|確認|说|說|授权|授權|坚持|許可)"
    r"|(?:ユーザー|利用者).{0,12}(?:承認|許可|同意|確認|言っ|認め)"
    r"|(?:사용자).{0,10}(?:승인|허가|허락|동의|확인|말했)"
    r"|\bпользовател\w+\b.{0,30}\b(?:одобрил|разрешил|подтвердил|сказал|согласил|потребовал)"
)
_SPOKE = (
    r"(?:(?:has|have|had|also|already|explicitly|then|now|later|finally|both|all)\s+){0,3}"
    r"(?:said|says|told|approve[sd]|agreed|agrees|allowed|permitted|authori[sz]e[sd]|okayed|ok'd"
    r"|consent(?:s|ed)|sign(?:s|ed)\s+off|granted|waived|cleared|insist(?:s|ed)|instructed|demanded"
    r"|ordered|promised|ask(?:s|ed)\s+(?:to|for|that|us|me|the\s+agent))\b"
)
_OTHERS = re.compile(
    r"\b(?:they|he|she|someone|somebody|everyone|everybody|clients?|customers?|teams?|reviewers?"
    r"|managers?|management|leads?|stakeholders?|company|colleagues?|authors?|admins?|administrators?"
    r"|director|supervisor|sponsor|people|master|captain|lawyers?|auditors?)\s+" + _SPOKE
)
_NAMED = re.compile(
    r"(?<![\w`.])(?!(?:I|We|It|This|That|Nobody|Nothing|None|Which|Who|Agent|Assistant|Subagent|An?"
    r"|The|All|Both|Each|Every|Once|As|When|After|Not|Never|If|Until|No)\b)"
    r"[A-Z][a-zà-ÿ]+\s+" + _SPOKE
)
"""Somebody by name."""
_AGREED = re.compile(
    r"\b(?:it|this|that|there)\s+(?:was|is|has\s+been|had\s+been)\s+(?:\w+ly\s+|also\s+|now\s+)?(?:agreed"
    r"|approved|said|allowed|permitted|cleared|authori[sz]ed|signed\s+off|okayed|granted|agreement)\b"
    r"|\b(?:permission|approval|clearance|consent|authori[sz]ation|go-ahead|sign-off|green\s+light)\b"
    r".{0,60}\b(?:exists?|stands|was|were|came|arrived|is\s+(?:there|given|granted|in|here)|has\s+been)\b"
    r"|\bthere\s+(?:is|was)\s+(?:a\s+|an\s+)?(?:permission|approval|clearance|consent|go-ahead)\b"
)
_UNGIVEN = re.compile(r"\b(?:not|no|never|without|n't|yet|pending|missing|open|if|whether|until)\b")


def speaks_for_user(text: str, lowered: str, about: About) -> bool:
    """Whether a sentence grants, rules or says something in the name of the user, or of anybody
    else but the agent."""
    if _ELSEWHERE.search(lowered) or _speaks_for_others(text, lowered):
        return True
    for found in _GRANTED.finditer(lowered):
        kept = found[0].startswith("without") and is_negated(lowered[: found.start()])
        if not kept:  # nothing is pushed without asking: so it was said
            return True
    if any(not _OPEN.search(lowered[: found.start()]) for found in _SPOKEN.finditer(lowered)):
        return True
    return about != "intent" and _WANTED.search(lowered) is not None


def _speaks_for_others(text: str, lowered: str) -> bool:
    if _AGREED.search(lowered) and not _UNGIVEN.search(lowered):
        return True
    return any(
        not _OPEN.search(within[: found.start()].casefold())
        for within, cue in ((lowered, _OTHERS), (text, _NAMED))
        for found in cue.finditer(within)
    )
