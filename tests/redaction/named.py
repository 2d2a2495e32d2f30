"""Secrets that wear no prefix: passwords and keys of anyone's making, behind a name that tells."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from random import Random
from urllib.parse import quote

from tests.redaction.seeds import ALNUM, BASE64, HEX, WORD, some, uuid

PEOPLE = ("Sommer", "Kestrel", "marble", "Oakwood", "tulip", "Granite", "falcon", "Violet")


def chosen(rng: Random) -> str:
    """As a person chooses one."""
    number = rng.randrange(10, 9999)
    return rng.choice(
        (
            f"{rng.choice(PEOPLE)}{number}!",
            f"{rng.choice(PEOPLE)}-{rng.choice(PEOPLE)}-{number}",
            f"{rng.choice(PEOPLE)}@{number}{rng.choice(PEOPLE)}",
            some(rng, ALNUM + "!@#%^*", 13) + "7",
        )
    )


KEYS: tuple[Callable[[Random], str], ...] = (
    lambda r: some(r, ALNUM, r.randint(16, 40)),
    lambda r: some(r, HEX, 32),
    lambda r: some(r, HEX, 64),
    lambda r: some(r, WORD, 42) + "x",
    lambda r: some(r, BASE64, 43) + "=",
    uuid,
)
KEY_NAMES = (
    *("API_KEY", "STRIPEISH_SECRET", "GITHUBISH_TOKEN", "SERVICE_API_KEY", "ENCRYPTION_KEY"),
    *("JWT_SECRET", "SESSION_SECRET", "ACCESS_TOKEN", "WEBHOOK_SIGNING_KEY", "DEPLOY_TOKEN"),
)
PASSWORD_NAMES = ("DB_PASSWORD", "POSTGRES_PASSWORD", "SMTP_PASSWORD", "ADMIN_PASSWORD", "DB_PASS")


def camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(map(str.title, rest))


Write = Callable[[str, str], str]
PLACES: dict[str, Write] = {
    "env": lambda n, v: f"{n}={v}",
    "env quoted": lambda n, v: f'{n}="{v}"',
    "export": lambda n, v: f"export {n}='{v}' && make deploy",
    "diff": lambda n, v: f"@@ -3 +3 @@\n-{n}=\n+{n}={v}",
    "json": lambda n, v: json.dumps({camel(n): v, "port": 5432}),
    "json in json": lambda n, v: json.dumps({"out": json.dumps({camel(n): v})}),
    "yaml": lambda n, v: f"app:\n  {n.lower()}: {v}\n  port: 5432",
    "yaml quoted": lambda n, v: f'  {n.lower().replace("_", "-")}: "{v}"',
    "toml": lambda n, v: f'{n.lower()} = "{v}"',
    "python": lambda n, v: f'connect(host="db", {n.lower()}="{v}", timeout=3)',
    "python typed": lambda n, v: f'{n}: str = "{v}"',
    "environ": lambda n, v: f'os.environ["{n}"] = "{v}"',
    "javascript": lambda n, v: f"  {camel(n)}: '{v}',",
    "go": lambda n, v: f'\t{camel(n)} := "{v}"',
    "flag": lambda n, v: f"deploy --{n.lower().replace('_', '-')} {v} --region north",
    "header": lambda n, v: f"x-{n.lower().replace('_', '-')}: {v}",
    "docker": lambda n, v: f"ENV {n} {v}",
    "xml": lambda n, v: f"<{camel(n)}>{v}</{camel(n)}>",
    "pod": lambda n, v: f"        - name: {n}\n          value: {v}",
    "address": lambda n, v: f"postgres://app:{quote(v, safe='')}@db.internal:5432/app",
    "query": lambda n, v: f"https://api.internal/x?id=7&{n.lower()}={quote(v, safe='')}",
    "connection": lambda n, v: f"Server=db;User Id=app;Password={v};Encrypt=true",
    "bearer": lambda n, v: f"curl -H 'Authorization: Bearer {v}' https://api.internal/x",
    "basic": lambda n, v: "Authorization: Basic " + base64.b64encode(f"app:{v}".encode()).decode(),
}
ONLY_PASSWORDS = {"address", "connection", "basic"}
ONLY_KEYS = {"bearer", "query", "docker"}


def named(rng: Random) -> tuple[str, str, str]:
    """A place, a secret, and the text with it in that place."""
    place = rng.choice(sorted(PLACES))
    password = place in ONLY_PASSWORDS or (place not in ONLY_KEYS and rng.random() < 0.4)
    name = rng.choice(PASSWORD_NAMES if password else KEY_NAMES)
    secret = chosen(rng) if password else rng.choice(KEYS)(rng)
    return place, secret, PLACES[place](name, secret)


def private_key(rng: Random, label: str = "RSA ") -> str:
    """A key in armour; its lines are chance."""
    lines = [some(rng, BASE64, 64) for _ in range(24)] + [some(rng, BASE64, 30) + "=="]
    dashes = "-" * 5
    return "\n".join(
        (
            f"{dashes}BEGIN {label}PRIVATE KEY{dashes}",
            *lines,
            f"{dashes}END {label}PRIVATE KEY{dashes}",
        )
    )
