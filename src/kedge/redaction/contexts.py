"""Secrets that nothing but their surroundings give away: keys in armour, addresses, headers,
commands, and whatever stands behind a name that says it is secret."""

from __future__ import annotations

from kedge.redaction.rules import ALNUM, UPPER, WORD, shaped, token

_QUOTE = r"""[\\]{0,3}["'`]?"""
"""An optional quotation mark, also one that is escaped again and again."""
GAP = r"""(?:\\[nrt]|[\s"'\\,+|>#])"""
"""What stands between the lines of a key: in a file, in a diff, in JSON, in code."""
_ARMOUR = r"""[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"""
_LINES = rf"""(?:{GAP}*(?:[A-Za-z-]{{3,20}}: ?[A-Za-z0-9,. ()-]+{GAP}+)?[A-Za-z0-9+/=]{{16,}})*"""

KEYS = (
    shaped(
        "private key",
        "PRIVATE KEY",
        rf"-----BEGIN {_ARMOUR}-----"
        rf"(?:{_LINES}{GAP}*[A-Za-z0-9+/=]*{GAP}*-----END {_ARMOUR}-----"
        rf"|{_LINES}{GAP}*[A-Za-z0-9+/=]{{16,}})",
    ),
    shaped(
        "private key",
        "PRIVATE KEY",
        rf"-----END {_ARMOUR}-----",
        "tail",
    ),
    shaped("PuTTY private key", "Private-Lines", rf"(?:Private-Lines: [0-9]+)({_LINES})"),
    token("age key", "AGE-SECRET-KEY-1", least=40, length=74, body=UPPER),
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
)

_HOST = r"[A-Za-z0-9\[_.-]"
_FOREIGN = r"""[^\s/:@"'<>`\\]"""
"""A character of the part of an address before its host."""
_PARAMETER = (
    r"(?:[\w.-]*(?:token|api_?-?key|apikey|secret|passw(?:or)?d|signature|credential)"
    r"|pwd|sig|key|auth|jwt|access_?key|session(?:id)?|sid)"
)
_PARAMETER_HINT = (
    r"(?i)[?&#;6][\w.-]*"
    r"(?:token|key|secret|passw(?:or)?d|signature|credential|pwd|sig|auth|jwt|session|id)="
)

ADDRESSES = (
    shaped(
        "password in an address",
        "://[^\\s/]",
        rf"(?i)[a-z][a-z0-9+.-]+://{_FOREIGN}*:([^\s/@\"'<>`\\]+(?:/[^\s/@\"'<>`\\.]+)*)@{_HOST}",
        "password",
    ),
    shaped(
        "token in an address",
        "://[^\\s/]",
        rf"(?i)[a-z][a-z0-9+.-]+://({_FOREIGN}{{16,}})@{_HOST}",
        "random",
    ),
    shaped(
        "token in an address",
        _PARAMETER_HINT,
        rf"(?i)(?:[?&#]|\\u0026|&amp;)({_PARAMETER})=([^\s&#\"'<>`\\;)]{{8,}})",
        "assigned",
    ),
)

_CREDENTIAL = r"[A-Za-z0-9._~+/:-]"
HEADERS = (
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
        r"(?i)\bset-cookie\\?[\"']?\s*[:=]\s*\\?[\"']?[\w.-]+=([^\s;\"'\\,]{8,})",
        "random",
    ),
    shaped(
        "cookie",
        "(?i)cookie",
        r"(?i)(?:^|[^-\w])cookie\\?[\"']?\s*:\s*\\?[\"']?([\w.-]+=[^\s\"'\\][^\"'\\\r\n]*)",
        "random",
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

_NAME = r"[A-Za-z0-9_.-]*"
_SECRET_WORD = (
    r"(?:passw(?:or)?d|pass(?:phrase|code)?|pwd|secret|token|credentials?"
    r"|key|auth|_pw|dsn)"
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
_PLAIN = r"""([^\s"'`\\,;<>(){}\[\]|&:=*][^\s"'`\\,;<>(){}\[\]|&]{7,})"""
_ASSIGNMENT_HINT = rf"""(?i){_SECRET_WORD}{_TAIL}[\\"'`\]]*[ \t]*[:=?|]"""
_FLAG_HINT = rf"""(?i)-[a-z0-9_.-]*{_SECRET_WORD}[\s"']"""
_SAID_HINT = r"(?i)(?:password|passphrase|passcode|pin|token|secret|key)\s+(?:is|was|will|to)[ :]"

NAMED = (
    shaped(
        "assigned value",
        _ASSIGNMENT_HINT,
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
        _FLAG_HINT,
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
        rf"(?i)\b(?:env|arg|setx?)\s+{_NAME}{_SECRET_WORD}\s",
        rf"(?i)\b(?:env|arg|setx?)\s+({_NAME}{_SECRET_WORD})\s+[\"']?([^\s\"'`\\]{{8,}})",
        "assigned",
    ),
    shaped(
        "password",
        _SAID_HINT,
        r"(?i)\b(password|passphrase|passcode|pin|token|secret|api key|secret key|access key)"
        r"\s+(?:is|was|will be|to)[ :]+[\"'`]?([^\s\"'`\\,;&]{8,})",
        "assigned",
    ),
    shaped(
        "password",
        "(?i)curl",
        r"(?i)\bcurl\b[^\n|;]*?\s(?:-u|--user)[ =]*[\"']?[^\s:\"']+:([^\s\"']{4,})",
        "password",
    ),
    shaped(
        "password", "(?i)password[ ]", r"(?i)\blogin\s+\S+\s+password\s+([^\s\"']{4,})", "password"
    ),
    shaped(
        "password",
        "(?i)identified|password",
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
