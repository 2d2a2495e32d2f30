"""What a rule is, and all of them. In files beside this one: those of gitleaks, and tokens that
they do not know, or know too narrowly for texts of a session. Here: secrets that their shape or
nothing but their surroundings give away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import msgspec

ALNUM = "[A-Za-z0-9]"
WORD = "[A-Za-z0-9_-]"
BASE64 = "[A-Za-z0-9+/]"
HEX = "[a-f0-9]"

MEMORY = 32 << 20
"""Bytes for the states of one expression; google-re2 starts anew when they are full."""


def compiled(pattern: bytes, *, captures: bool = True) -> Any:
    """For google-re2, byte by byte: no text is wrongly encoded."""
    return _re2().compile(pattern, _options(captures=captures))


def literals(
    short: Iterable[bytes],
    texts: Iterable[bytes] = (),
    any_case: Iterable[bytes] = (),
    *,
    left: bytes = b"",
) -> Any:
    """Any of these texts; where several begin at one place, the longest. `left`: what must stand
    before the short ones, and is a part of what is found."""
    groups = (sorted(some, key=len, reverse=True) for some in (short, texts, any_case))
    one, two, three = (b"|".join(map(_re2().escape, some)) for some in groups)
    patterns = (one and left + b"(?:" + one + b")", two, three and b"(?i:" + three + b")")
    return compiled(b"|".join(filter(None, patterns)), captures=False)


def together(patterns: Iterable[bytes]) -> Any:
    """Says in one pass which of the patterns, by number, stand somewhere in a text."""
    several = _re2().Set.SearchSet(_options(captures=False))
    for pattern in patterns:
        several.Add(pattern)
    several.Compile()
    return several


def _options(*, captures: bool) -> Any:
    chosen = _re2().Options()
    chosen.encoding = _re2().Options.Encoding.LATIN1
    chosen.max_mem = MEMORY
    chosen.never_capture = not captures
    chosen.log_errors = False
    return chosen


def _re2() -> Any:
    import re2  # type: ignore[import-untyped]  # loaded with the first text, not with kedgeline

    return re2


Judge = Literal[
    "sure", "random", "token", "password", "bearer", "pair", "cookies", "assigned", "tail"
]
"""sure: the pattern says it all. random: the secret must look like chance, not like words.
token: the same, and it must not stand for something else.
password: it must not be a placeholder. bearer: chance, or long and in one piece. pair: what stands
behind a colon is a password. cookies: one of several values is by chance. assigned: it is judged
together with the name before it. tail: the lines before it belong to it."""


class Rule(NamedTuple):
    kind: str
    """In the mark that takes the secret's place: letters, digits and blanks."""
    pattern: str
    """For google-re2, over bytes. The secret is the last group that took part, or the whole; a rule
    judged `assigned` has the name in its first group."""
    prefixes: tuple[str, ...] = ()
    """Literal beginnings: the pattern is tried where one stands."""
    any_case: bool = False
    """The prefix is the name of a service, in whatever letters and also inside a longer name."""
    hint: str = ""
    """Without prefixes: a short pattern that stands wherever the long one does. All hints are
    looked for at once."""
    judge: Judge = "sure"
    entropy: float = 0.0
    """Bits per character that the secret has at least."""
    least: int = 0
    """Characters of the whole, where the pattern cannot count them: one that begins with a counted
    run would be slow."""


def shaped(
    kind: str, hint: str, pattern: str, judge: Judge = "sure", *, entropy: float = 0, least: int = 0
) -> Rule:
    """A secret that its shape or the words around it give away."""
    return Rule(kind, pattern, hint=hint, judge=judge, entropy=entropy, least=least)


_QUOTE = r"""[\\]{0,3}["'`]?"""
"""An optional quotation mark, also one that is escaped again and again."""
GAP = r"""(?:\\[nrt]|[\s"'\\,+|>#])"""
"""What stands between the lines of a key: in a file, in a diff, in JSON, in code."""
_ARMOUR = r"""[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"""
_LINES = rf"""(?:{GAP}*(?:[A-Za-z-]{{3,20}}: ?[A-Za-z0-9,. ()-]+{GAP}+)?[A-Za-z0-9+/=]{{16,}})*"""
_START = r"(?:^|[^0-9A-Za-z_-]|\\[nrtbf]|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,8}m)"

SHAPES = (
    shaped(
        "private key",
        "BEGIN [A-Z0-9 ]*PRIVATE KEY",
        rf"-----BEGIN {_ARMOUR}-----"
        rf"(?:{_LINES}{GAP}*[A-Za-z0-9+/=]*{GAP}*-----END {_ARMOUR}-----"
        rf"|{_LINES}{GAP}*[A-Za-z0-9+/=]{{16,}})",
    ),
    shaped("private key", "END [A-Z0-9 ]*PRIVATE KEY", rf"-----END {_ARMOUR}-----", "tail"),
    shaped("PuTTY private key", "Private-Lines", rf"(?:Private-Lines: [0-9]+)({_LINES})"),
    shaped(
        "JWT",
        r"\.ey[A-Za-z0-9]",
        rf"(ey[A-Za-z0-9]{WORD}{{14,}}\.ey[A-Za-z0-9]{WORD}{{10,}}(?:\.[A-Za-z0-9_/+-]*={{0,2}})?)",
    ),
    shaped(
        "JWE",
        "eyJ[A-Za-z0-9]{4}",
        rf"(eyJ{WORD}{{14,}}\.{WORD}*\.{WORD}{{10,}}\.{WORD}{{10,}}\.{WORD}{{10,}})",
    ),
    shaped("Terraform token", r"\.atlasv1\.", rf"({ALNUM}+\.atlasv1\.[A-Za-z0-9_=-]{{40,}})"),
    shaped(
        "AWS secret key",
        r"(?i)secret[\w.-]{0,12}key",
        r"(?i)secret[\w.-]{0,12}key[\w.-]{0,4}"
        rf"[\"'\\]{{0,3}}\s*(?:=>|:=|=|:)\s*[\"'\\]{{0,3}}({BASE64}{{40}})(?:[^A-Za-z0-9+/]|$)",
        "random",
        entropy=3.5,
    ),
    shaped(
        "Google service-account key id",
        "private_key_id",
        rf"private_key_id[\"'\\]{{1,3}}\s*:\s*[\"'\\]{{1,3}}({HEX}{{30,}})",
    ),
    shaped(
        "Firebase server key", "AAAA[A-Za-z0-9_-]{7}:", rf"{_START}(AAAA{WORD}{{7}}:{WORD}{{120,}})"
    ),
    shaped(
        "Azure key",
        "(?i)(?:Account|SharedAccess)Key",
        rf"(?i)(?:Account|SharedAccess)Key\s*=\s*({BASE64}{{30,}}={{0,2}})",
    ),
    shaped(
        "Azure SAS signature",
        "(?i)sig=[A-Za-z0-9%]",
        r"(?i)[?&;\"'\s]sig=([A-Za-z0-9%+/]{30,}={0,2})",
        entropy=3.0,
    ),
    shaped(
        "Azure client secret",
        "[0-9]Q~",
        r"([A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{20,34})",
        entropy=3.0,
    ),
    shaped("Azure DevOps token", "AZDO", rf"({ALNUM}+AZDO{ALNUM}{{4}})\b", least=80),
    shaped(
        "Azure service key",
        "AzFu|AzSe|AStA|ACDb|AIoT|APIM|ACRg",
        rf"(?:^|[^A-Za-z0-9+/_-])({WORD}+(?:AzFu|AzSe|AStA|ACDb|AIoT|APIM|ACRg|JQQJ99){BASE64}{{4,}}={{0,2}})",
        least=44,
    ),
    shaped("Cloudflare origin key", r"v1\.0-[a-f0-9]", rf"(v1\.0-{HEX}{{20,24}}-{HEX}{{60,}})"),
    shaped(
        "Mailgun key",
        "[a-f0-9]{4}-[a-f0-9]{8}-[a-f0-9]{8}",
        rf"{_START}({HEX}{{32}}-{HEX}{{8}}-{HEX}{{8}})\b",
    ),
    shaped("Mailchimp key", "[a-f0-9]{4}-us[0-9]", rf"{_START}({HEX}{{32}}-us[0-9]{{1,2}})\b"),
    shaped("Resend key", "re_[A-Za-z0-9]{6}", rf"{_START}(re_{ALNUM}{{6,}}_{ALNUM}{{18,}})"),
    shaped(
        "Slack webhook",
        "hooks.slack",
        r"hooks\.slack(?:-gov)?\.com\\?/(?:services|workflows|triggers)\\?/([A-Za-z0-9+/\\]{30,})",
    ),
    shaped(
        "Discord webhook",
        "webhooks",
        rf"discord(?:app)?\.com\\?/api\\?/webhooks\\?/[0-9]{{10,}}\\?/({WORD}{{50,}})",
    ),
    shaped(
        "Discord token",
        r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{12}",
        rf"{_START}([MNO]{WORD}{{23,27}}\.{WORD}{{6}}\.{WORD}{{27,}})",
        "random",
        entropy=3.5,
    ),
    shaped(
        "Teams webhook",
        "webhookb2",
        r"webhook\.office\.com\\?/webhookb2\\?/([A-Za-z0-9@/\\-]{60,})",
    ),
    shaped(
        "Telegram token",
        "[0-9]{8}(?::|%3A)A[A-Za-z]",
        rf"{_START}(?:bot)?([0-9]{{8,10}}(?::|%3A)A[A-Za-z]{WORD}{{30,}})",
        entropy=3.5,
    ),
    shaped(
        "Google Chat webhook",
        r"chat\.googleapis",
        rf"chat\.googleapis\.com\\?/v1\\?/spaces\\?/[^\s\"']+?[?&]key=({WORD}+[^\s\"']*)",
    ),
    shaped(
        "Zapier webhook",
        r"hooks\.zapier",
        r"hooks\.zapier\.com\\?/hooks\\?/catch\\?/([0-9]+\\?/[A-Za-z0-9/]{5,})",
    ),
    shaped("New Relic key", "NRAL", rf"({HEX}+(?:FFFF)?NRAL)\b", least=34),
    shaped(
        "Datadog key",
        "(?i)dd[_.-]?(?:api|app)|datadog",
        r"(?i)(?:datadog|\bdd)[_.-]?(?:api|app|application)?[_.-]?(?:api|app)?[_.-]?key"
        rf"[\"'\\]{{0,3}}\s*[:=]\s*[\"'\\]{{0,3}}({HEX}{{32}}(?:{HEX}{{8}})?)(?:[^A-Za-z0-9]|$)",
        entropy=2.5,
    ),
    shaped(
        "Airtable token",
        r"\.[a-f0-9]{16}",
        rf"{_START}(pat{ALNUM}{{14}}\.{HEX}{{40,}})",
    ),
)

_HOST = r"[A-Za-z0-9\[_.-]"
_FOREIGN = r"""[^\s/:@"'<>`\\]"""
"""A character of the part of an address before its host."""
_PARAMETER = (
    r"(?:[\w.-]*(?:token|api_?-?key|apikey|secret|passw(?:or)?d|signature|credential)"
    r"|pwd|sig|key|auth|jwt|access_?key|session(?:id)?|sid)"
)
_CREDENTIAL = r"[A-Za-z0-9._~+/:-]"

ADDRESSES_AND_HEADERS = (
    shaped(
        "password in an address",
        r"://[^\s]+@",
        rf"(?i)[a-z][a-z0-9+.-]+://{_FOREIGN}*:([^\s/@\"'<>`\\]+(?:/[^\s/@\"'<>`\\.]+)*)@{_HOST}",
        "password",
    ),
    shaped(
        "token in an address",
        r"://[^\s]+@",
        rf"(?i)[a-z][a-z0-9+.-]+://({_FOREIGN}{{16,}})@{_HOST}",
        "random",
    ),
    shaped(
        "token in an address",
        r"(?i)(?:token|key|secret|passw(?:or)?d|signature|credential|pwd|sig|auth|jwt|session|id)="
        r"[^\s&#\"'<>`\\;)]{8}",
        rf"(?i)(?:[?&#]|\\u0026|&amp;)({_PARAMETER})=([^\s&#\"'<>`\\;)]{{8,}})",
        "assigned",
    ),
    shaped(
        "authorization",
        "(?i)authorization",
        rf"(?i)authorization{_QUOTE}\s*[:=,]\s*{_QUOTE}(?:bearer|basic|token|bot|apikey|negotiate"
        rf"|splunk|key)[ +]+({_CREDENTIAL}{{8,}}={{0,2}})",
        "password",
    ),
    shaped(
        "authorization",
        "(?i)authorization",
        rf"(?i)authorization{_QUOTE}\s*:\s*{_QUOTE}({_CREDENTIAL}{{16,}}={{0,2}})",
        "random",
    ),
    shaped(
        "bearer token",
        "(?i)bearer[ +]",
        rf"(?i)\bbearer[ +]+({_CREDENTIAL}{{16,}}={{0,2}})",
        "bearer",
    ),
    shaped(
        "basic authorization",
        "[Bb]asic[ +]",
        r"\b[Bb]asic[ +]+([A-Za-z0-9+/]{12,}={0,2})",
        "bearer",
    ),
    shaped(
        "cookie",
        "(?i)set-cookie",
        r"(?i)\bset-cookie\\?[\"']?\s*[:=]\s*\\?[\"']?([\w.-]+=[^\s;\"'\\,]{4,})",
        "cookies",
    ),
    shaped(
        "cookie",
        "(?i)cookie",
        r"(?i)(?:^|[^-\w])cookie\\?[\"']?\s*:\s*\\?[\"']?([\w.-]+=[^\s\"'\\][^\"'\\\r\n]*)",
        "cookies",
    ),
    shaped(
        "cookie",
        r"(?i)(?:sid|sessid|sessionid|session|token)=[a-z0-9%._~+/-]{8}",
        r"(?i)\b(?:jsessionid|phpsessid|sessionid|sessid|asp\.net_sessionid|connect\.sid|csrftoken"
        r"|xsrf-token|[\w.-]*session_?token|remember_token|_gitlab_session)="
        r"(?:s%3a)?([A-Za-z0-9%._~+/-]{16,})",
        "random",
    ),
)

ABROAD = (
    r"passwort|kennwort|contrase(?:ña|Ña|na)|mot[_ -]?de[_ -]?passe|senha|wachtwoord"
    r"|l(?:ö|Ö|o)senord|has(?:ł|Ł|l)o|пароль|Пароль|ПАРОЛЬ|密码|密碼|パスワード|비밀번호|parola|heslo|salasana|passord"
    r"|adgangskode|(?:ş|Ş|s)ifre|jelsz(?:ó|o)"
)
"""A password in other languages."""
_NAME = r"[A-Za-z0-9_.-]*"
_SECRET_WORD = (
    r"(?:passw(?:or)?d|pass(?:phrase|code)?|pwd|secret|token|credentials?"
    rf"|key|auth|_pw|dsn|{ABROAD})"
)
_TAIL = r"(?:[_-]?(?:value|plain|prod(?:uction)?|dev|live|test|staging|b64|base64|hex|[0-9]{1,2}))?"
_TYPE = r"(?:[ \t]*:[ \t]*&?'?[A-Za-z_][A-Za-z0-9_.\[\]<>|? ]{0,30})?"
_EQUALS = r"[ \t]*(?:=>|:=|\|\|=|\?\?=|\?=|={1,3}|:)[ \t]*"
_STRING = (
    r"(?:(?:[a-zA-Z]{0,2}|&)[\\]{0,3}"
    r"""(?:"((?:[^"\\\r\n]|\\[^"nrt\r\n])+)"""
    r"""|'((?:[^'\\\r\n]|\\[^'nrt\r\n])+)"""
    r"""|`((?:[^`\\\r\n]|\\[^`nrt\r\n])+)))"""
)
_PLAIN = r"""([^\s"'`\\,;<>(){}\[\]|&:=][^\s"'`\\,;<>(){}\[\]|&]{7,})"""

NAMED = (
    shaped(
        "assigned value",
        rf"""(?i){_SECRET_WORD}{_TAIL}[\\"'`\]]*[ \t]*[:=?|]""",
        rf"(?i)({_NAME}{_SECRET_WORD}{_TAIL}){_QUOTE}\]?{_TYPE}{_EQUALS}(?:{_STRING}|{_PLAIN})",
        "assigned",
    ),
    shaped(
        "assigned value",
        rf"""(?i){_SECRET_WORD}[\\]?["'][ \t]*,[ \t]*[\\]?["']""",
        rf"""(?i)["']({_NAME}[_-]{_NAME}{_SECRET_WORD}|{_NAME}[_-]{_SECRET_WORD})"""
        r"""[\\]?["'][ \t]*,[ \t]*[\\]?["']([^\s"'`\\,]{8,})""",
        "assigned",
    ),
    shaped(
        "command-line value",
        rf"""(?i)[_-]{_SECRET_WORD}[\s"']""",
        rf"(?i)(?:^|[\s\"'])--?({_NAME}{_SECRET_WORD})(?:[ \t]+|\s*[\"']\s*,?\s*[\"'])"
        r"[\"']?([^\s\"'`\\]{8,})",
        "assigned",
    ),
    shaped(
        "assigned value",
        rf"(?i){_SECRET_WORD}>",
        rf"(?i)<({_NAME}{_SECRET_WORD})>([^<>\s]{{8,}})</",
        "assigned",
    ),
    shaped(
        "assigned value",
        rf"(?i){_SECRET_WORD}[\"'`\\,\s]*value",
        rf"(?i)\b(?:name|key){_QUOTE}\s*[:=]\s*{_QUOTE}({_NAME}{_SECRET_WORD}){_QUOTE}\s*,?\s*"
        rf"{_QUOTE}value{_QUOTE}\s*[:=]\s*{_QUOTE}([^\s\"'`\\,}}]{{8,}})",
        "assigned",
    ),
    shaped(
        "assigned value",
        r"(?i)\b(?:env|arg|setx?)\s+[\w.-]*(?:pass|pwd|secret|token|key|auth|credential)",
        rf"(?i)\b(?:env|arg|setx?)\s+({_NAME}{_SECRET_WORD})\s+[\"']?([^\s\"'`\\]{{8,}})",
        "assigned",
    ),
    shaped(
        "password",
        r"(?i)(?:password|passphrase|passcode|pin|token|secret|key)\s+(?:is|was|will|to)[ :]",
        r"(?i)\b(password|passphrase|passcode|pin|token|secret|api key|secret key|access key)"
        r"\s+(?:is|was|will be|to)[ :]+[\"'`]?([^\s\"'`\\,;&]{8,})",
        "assigned",
    ),
    shaped(
        "token",
        r"(?i)(?:token|api key|secret|access key|credentials?)(?:[:=]? |[:=])[\"'`(<]?[\w+/-]{16}",
        r"(?i)\b(?:token|api key|secret|secret key|access key|credentials?)(?:[:=]? |[:=])[\"'`(<]?"
        r"([A-Za-z0-9+/_-]{16,}={0,2})",
        "token",
    ),
    shaped(
        "password",
        r"(?i)(?:basic_?auth|userpwd|credentials?)",
        r"(?i)(?:basic_?auth|userpwd|credentials?)[\\\"']*\s*(?:=>|[:=,])\s*\(?[\\]*[\"']"
        r"([^\s\"'`\\:]+:[^\s\"'`\\]{4,})",
        "pair",
    ),
    shaped(
        "password",
        "(?i)curl",
        r"(?i)\bcurl\b[^\n|;]*?\s(?:-u|--user)[ =]*[\"']?([^\s:\"']+:[^\s\"']{4,})",
        "pair",
    ),
    shaped(
        "password", "(?i)password[ ]", r"(?i)\blogin\s+\S+\s+password\s+([^\s\"']{4,})", "password"
    ),
    shaped(
        "password",
        "(?i)(?:identified +by|password) +[\\\\]?'",
        r"(?i)(?:identified\s+by|\bpassword)\s+[\\]?'([^'\n\\]{4,})",
        "password",
    ),
    shaped("password", "sshpass", r"\bsshpass\s+-p\s*[\"']?([^\s\"']{4,})", "password"),
    shaped(
        "password",
        "mysql|mariadb",
        r"\b(?:mysql|mysqldump|mariadb|mysqladmin)\s[^\n|;]*?-p([^\s\"'-][^\s\"']{5,})",
        "password",
    ),
    shaped(
        "token",
        "(?i)_auth",
        rf"(?i)_auth(?:token)?\s*=\s*[\"']?({ALNUM}{WORD}{{15,}}={{0,2}})",
        "random",
    ),
)

_CONNECTED = r"""[\w. \t-]{0,20}[\\\s"']{0,4}(?:=|>|:|\|\||,)[\\`"'\s=>]{0,5}"""
_END = r"(?:[^A-Za-z0-9_+/=-]|$)"


def _kept(name: str) -> Iterator[dict[str, Any]]:
    """What a file of rules says, by line."""
    for line in files(__package__).joinpath(name).read_bytes().splitlines():
        yield msgspec.json.decode(line)


def _token(
    kind: str, prefixes: list[str], least: int, body: str = "[A-Za-z0-9]", entropy: float = 0
) -> Rule:
    """One of our own. Formats are as the providers publish them; least lengths are below the real
    ones, so that cut tokens are found too."""
    start = "|".join(prefix.replace(".", r"\.").replace("$", r"\$") for prefix in prefixes)
    pattern = f"(?:{start}){body}{{{least},}}"
    return Rule(kind, pattern, prefixes=tuple(prefixes), entropy=entropy)


def _public(*, prefixes: list[str], service: str = "", value: str = "", **fields: Any) -> Rule:
    """One of gitleaks'. That of a service finds a value of its shape behind the service's name."""
    if service:
        pattern = f"(?i){service}{_CONNECTED}({value}){_END}"
        fields |= {"pattern": pattern, "judge": "random", "any_case": True}
    return Rule(prefixes=tuple(prefixes), **fields)


@cache
def all_rules() -> tuple[Rule, ...]:
    """What several find is named by the first."""
    tokens = (_token(**fields) for fields in _kept("tokens.jsonl"))
    _head, *public = _kept("gitleaks.jsonl")
    services = (_public(**fields) for fields in public)
    return (*tokens, *SHAPES, *services, *ADDRESSES_AND_HEADERS, *NAMED)
