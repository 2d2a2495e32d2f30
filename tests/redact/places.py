"""Places where secrets turn up, and whether anything of one is left there."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple
from urllib.parse import quote

from tests.redact.seeds import ALNUM, PASSWORDS, PREFIXED, UNMARKED, some

Place = Callable[[str, Random], str]
Write = Callable[[str, str], str]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def wrapped(text: str, width: int, between: str = "\n") -> str:
    return between.join(text[i : i + width] for i in range(0, len(text), width))


def halves(secret: str, rng: Random) -> tuple[str, str]:
    where = rng.randint(min(20, len(secret) // 2 - 1), len(secret) - 8)
    return secret[:where], secret[where:]


PLAIN: dict[str, Place] = {
    "alone": lambda s, r: s,
    "in prose": lambda s, r: f"Then I used {s}, and it worked.",
    "single quotes": lambda s, r: f"client.connect('{s}')",
    "double quotes": lambda s, r: f'client = Client("{s}", timeout=30)',
    "json": lambda s, r: json.dumps({"service": "billing", "credential": s, "retries": 3}),
    "json in json": lambda s, r: json.dumps({"stdout": json.dumps({"x": f"line\n{s}"})}),
    "url query": lambda s, r: f"GET https://api.example.com/v1/items?page=2&access={quote(s)}&z=1",
    "url user": lambda s, r: f"git clone https://{quote(s)}@host.example.org/team/repo.git",
    "url path": lambda s, r: f"POST https://api.example.com/hooks/{quote(s)}/send HTTP/1.1",
    "env": lambda s, r: f"SERVICE_VALUE={s}",
    "shell export": lambda s, r: f"export SERVICE_VALUE={s}; make deploy",
    "diff": lambda s, r: f"@@ -1,2 +1,2 @@\n-old\n+{s}\n+  value: {s}",
    "yaml": lambda s, r: f"service:\n  credential: {s}\n  retries: 3",
    "header": lambda s, r: f"> Authorization: Bearer {s}\r\n> Accept: */*",
    "other header": lambda s, r: f"curl -sS -H 'X-Service: {s}' https://api.example.com | jq .",
    "cookie": lambda s, r: f"Cookie: theme=dark; service={s}; lang=de",
    "log": lambda s, r: f"2026-03-01T10:11:12Z INFO client started with {s}, retrying",
    "log pairs": lambda s, r: f'level=info value={s} msg="client started"',
    "error message": lambda s, r: f"ValueError: expected token {s} to be valid",
    "got": lambda s, r: f"AssertionError: assert '{s}' == 'other'",
    "javascript": lambda s, r: f"const client = new Client({{ credential: '{s}' }});",
    "markdown": lambda s, r: f"Use `{s}` for **staging** only.",
    "table": lambda s, r: f"| staging | {s} | 3 |",
    "xml": lambda s, r: f"<credential>{s}</credential>",
    "colour": lambda s, r: f"\x1b[32m{s}\x1b[0m",
    "escaped": lambda s, r: f'echo -e "value\\n{s}\\tend"',
    "beyond ASCII": lambda s, r: f"Schlüssel„{s}“für die Prüfung",
    "brackets": lambda s, r: f"[{s}] ({s}) {{{s}}} <{s}>",
    "comment": lambda s, r: f"# old: {s}",
    "numbered lines": lambda s, r: f"     1\u2192TOKEN={s}\n     2\u2192X=1",
    "table of a database": lambda s, r: f" 7 | {s} | 2026-03-01",
    "csv": lambda s, r: f"id,name,key\n1,prod,{s}\n2,x,y",
}
WRAPPED: dict[str, Place] = {
    "two lines": lambda s, r: "\n".join(halves(s, r)),
    "two lines among others": lambda s, r: "the key of it\n{}\n{}\nwas read".format(*halves(s, r)),
    "two lines of a diff": lambda s, r: "+value: {}\n+  {}".format(*halves(s, r)),
    "continued": lambda s, r: "value={}\\\n    {}".format(*halves(s, r)),
    "strings in code": lambda s, r: 'x = ("{}"\n     "{}")'.format(*halves(s, r)),
    "strings added": lambda s, r: "x = '{}' +\n    '{}';".format(*halves(s, r)),
    "two lines in json": lambda s, r: json.dumps({"out": "\n".join(halves(s, r))}),
    "strings added on a line": lambda s, r: "x = '{}' + '{}';".format(*halves(s, r)),
    "strings side by side": lambda s, r: 'x = "{}" "{}"'.format(*halves(s, r)),
    "a sign that nobody sees": lambda s, r: "\u200b".join(halves(s, r)),
    "lines of 16": lambda s, r: wrapped(s, 16),
    "a terminal": lambda s, r: wrapped(f"{'x' * r.randint(20, 38)} {s} done", 40),
}
ENCODED: dict[str, tuple[Callable[[str, Random], str], Callable[[str], str]]] = {
    "base64": (lambda s, r: encoded(s), lambda e: f"data: {e}"),
    "base64 of a pair": (lambda s, r: encoded(f"someone:{s}"), lambda e: f'"auth": "{e}"'),
    "base64 of a file": (
        lambda s, r: encoded(f"A=1\nSERVICE_VALUE={s}\nB=2\n"),
        lambda e: f"echo {e} | base64 -d",
    ),
    "base64 of 76": (
        lambda s, r: encoded(f"{some(r, ALNUM, 40)}\n{s}\n" + "nothing else " * 6),
        lambda e: wrapped(e, 76),
    ),
    "base64 for addresses": (
        lambda s, r: base64.urlsafe_b64encode(f"ÿ:{s}".encode()).decode().rstrip("="),
        lambda e: f"https://api.example.com/?state={e}",
    ),
    "base64 twice": (lambda s, r: encoded(encoded(f"k:{s}")), lambda e: f"data: {e}"),
    "hex": (lambda s, r: s.encode().hex(), lambda e: f"00000000: {e}"),
    "hex in capitals": (lambda s, r: s.encode().hex().upper(), lambda e: f"data: {e}"),
    "hex with blanks": (lambda s, r: s.encode().hex(" "), lambda e: f"0000  {e}"),
    "base64 of UTF-16": (
        lambda s, r: base64.b64encode(f"$k='{s}'".encode("utf-16-le")).decode(),
        lambda e: f"powershell -EncodedCommand {e}",
    ),
    "escaped signs": (
        lambda s, r: f"token={s}".replace("-", "%2D").replace("_", "%5F").replace(".", "%2E"),
        lambda e: f"https://api.example.com/?{e}",
    ),
    "escaped letters": (
        lambda s, r: "".join(f"\\u{ord(c):04x}" for c in s),
        lambda e: f'{{"key": "{e}"}}',
    ),
}

KEY_NAMES = (
    *("API_KEY", "STRIPEISH_SECRET", "GITHUBISH_TOKEN", "SERVICE_API_KEY", "ENCRYPTION_KEY"),
    *("JWT_SECRET", "SESSION_SECRET", "ACCESS_TOKEN", "WEBHOOK_SIGNING_KEY", "DEPLOY_TOKEN"),
)
PASSWORD_NAMES = ("DB_PASSWORD", "POSTGRES_PASSWORD", "SMTP_PASSWORD", "ADMIN_PASSWORD", "DB_PASS")
ABROAD = (
    *("Passwort", "DB_PASSWORT", "kennwort", "contraseña", "contrasena", "mot_de_passe", "senha"),
    *(
        "wachtwoord",
        "lösenord",
        "hasło",
        "пароль",
        "密码",
        "パスワード",
        "비밀번호",
        "parola",
        "heslo",
    ),
)


def camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(map(str.title, rest))


NAMED: dict[str, Write] = {
    "env": lambda n, v: f"{n}={v}",
    "env quoted": lambda n, v: f'{n}="{v}"',
    "export": lambda n, v: f"export {n}='{v}' && make deploy",
    "diff": lambda n, v: f"@@ -3 +3 @@\n-{n}=\n+{n}={v}",
    "json": lambda n, v: json.dumps({camel(n): v, "port": 5432}),
    "json in json": lambda n, v: json.dumps({"out": json.dumps({camel(n): v})}),
    "python dict": lambda n, v: f"{{'{n.lower()}': '{v}', 'port': 5432}}",
    "yaml": lambda n, v: f"app:\n  {n.lower()}: {v}\n  port: 5432",
    "yaml quoted": lambda n, v: f'  {n.lower().replace("_", "-")}: "{v}"',
    "yaml single": lambda n, v: f"  {n.lower()}: '{v}'",
    "toml": lambda n, v: f'{n.lower()} = "{v}"',
    "python": lambda n, v: f'connect(host="db", {n.lower()}="{v}", timeout=3)',
    "python typed": lambda n, v: f'{n}: str = "{v}"',
    "environ": lambda n, v: f'os.environ["{n}"] = "{v}"',
    "javascript": lambda n, v: f"  {camel(n)}: '{v}',",
    "go": lambda n, v: f'\t{camel(n)} := "{v}"',
    "coloured value": lambda n, v: f"{n}=\x1b[33m{v}\x1b[0m",
    "flag": lambda n, v: f"deploy --{n.lower().replace('_', '-')} {v} --region north",
    "header": lambda n, v: f"x-{n.lower().replace('_', '-')}: {v}",
    "log": lambda n, v: f"2026-03-01 10:11:12 DEBUG settings {n.lower()}={v} retries=3",
    "xml": lambda n, v: f"<{camel(n)}>{v}</{camel(n)}>",
    "pod": lambda n, v: f"        - name: {n}\n          value: {v}",
    "base64 of a file": lambda n, v: encoded(f"A=1\n{n}={v}\nB=2\n"),
    "continued": lambda n, v: f"{n}={v[:9]}\\\n{v[9:]}",
}
FOR_PASSWORDS: dict[str, Write] = {
    "address": lambda n, v: f"postgres://app:{quote(v, safe='')}@db.internal:5432/app",
    "connection": lambda n, v: f"Server=db;User Id=app;Password={v};Encrypt=true",
    "basic": lambda n, v: "Authorization: Basic " + encoded(f"app:{v}"),
    "basic_auth": lambda n, v: f"basic_auth = 'app:{v}'",
    "pair in code": lambda n, v: f"requests.get(url, auth=('app', '{v}'), timeout=3)",
    "basic_auth in json": lambda n, v: json.dumps({"basic_auth": f"app:{v}"}),
    "curl": lambda n, v: f"curl -sS -u 'app:{v}' https://api.internal/x",
    "said": lambda n, v: f"The password is {v} for now.",
    "error message": lambda n, v: f"error: wrong password '{v}' for user app",
} | {f"named {name}": (lambda n, v, name=name: f"{name}: {v}") for name in ABROAD}  # type: ignore[misc]
FOR_KEYS: dict[str, Write] = {
    "bearer": lambda n, v: f"curl -H 'Authorization: Bearer {v}' https://api.internal/x",
    "query": lambda n, v: f"https://api.internal/x?id=7&{n.lower()}={quote(v, safe='')}",
    "docker": lambda n, v: f"ENV {n} {v}",
    "cookie": lambda n, v: f"Cookie: theme=dark; sessionid={v}; lang=de",
    "short cookie": lambda n, v: f"Cookie: sid={v[:12]}; theme=dark",
    "set-cookie": lambda n, v: f"Set-Cookie: auth={v[:16]}; Path=/; HttpOnly",
    "expected": lambda n, v: f"AssertionError: expected token {v}, got None",
    "invalid": lambda n, v: f"401: invalid API key: {v}",
    "said": lambda n, v: f"The token is {v} for now.",
}


class Trial(NamedTuple):
    kind: str
    place: str
    text: str
    written: str
    """The secret as it stands in the text, breaks between its lines aside."""
    marked: bool
    """Whether a provider's prefix or shape gives it away."""


def marked(rng: Random) -> Iterator[Trial]:
    """Every kind with a prefix or shape, once in every place."""
    for kind, make in PREFIXED.items():
        for place, put in (PLAIN | WRAPPED).items():
            secret = make(rng)
            yield Trial(kind, place, put(secret, rng), secret, True)
        for place, (encode, around) in ENCODED.items():
            made = encode(make(rng), rng)
            yield Trial(kind, place, around(made), made, True)


def unmarked(rng: Random) -> Iterator[Trial]:
    """Every other kind, once in every place where its name stands."""
    for kind, make in UNMARKED.items():
        password = kind in PASSWORDS
        for place, put in (NAMED | (FOR_PASSWORDS if password else FOR_KEYS)).items():
            secret, name = make(rng), rng.choice(PASSWORD_NAMES if password else KEY_NAMES)
            text = put(name, secret)
            written = secret
            if place in ("address", "query"):
                written = quote(secret, safe="")
            elif "cookie" in place and place != "cookie":
                written = secret[: 12 if place == "short cookie" else 16]
            elif place == "basic":
                written = encoded(f"app:{secret}")
            elif place == "base64 of a file":
                written = text
            yield Trial(kind, place, text, written, False)


_BETWEEN = str.maketrans("", "", " \t\r\n\"'+\\")
PIECE = 12


def pieces(secret: str, size: int = PIECE) -> set[str]:
    """What must not be left of a secret."""
    return {secret[i : i + size] for i in range(max(1, len(secret) - size + 1))}


def leaks(trial: Trial, cleaned: str) -> bool:
    """Whether a piece of the secret is left, also one that goes over several lines. Of what is
    encoded, the half that holds it counts: a name or a blank before it may stay."""
    joined = cleaned.replace("\\n", "").translate(_BETWEEN)
    written = trial.written
    size = PIECE if trial.place not in ENCODED else max(PIECE, len(written) // 2)
    return any(piece in cleaned or piece in joined for piece in pieces(written, size))
