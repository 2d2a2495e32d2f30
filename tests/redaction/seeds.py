"""Secrets made by chance in the shapes that providers publish, and the places where they turn up.
None was ever one. Prefixes are written in two pieces, so that no scanner takes this file for one
that holds secrets."""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable
from random import Random
from urllib.parse import quote

ALNUM = string.ascii_letters + string.digits
WORD = ALNUM + "_-"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
BASE64 = ALNUM + "+/"

Make = Callable[[Random], str]


def some(rng: Random, letters: str, count: int) -> str:
    return "".join(rng.choices(letters, k=count))


def plain(*prefixes: str, of: str = ALNUM, count: int = 36, end: str = "") -> Make:
    """A prefix, and characters by chance; the last is a letter or digit."""

    def make(rng: Random) -> str:
        body = some(rng, of, count - 1) + some(rng, [c for c in of if c.isalnum()], 1)  # type: ignore[arg-type]
        return rng.choice(prefixes) + body + end

    return make


def uuid(rng: Random) -> str:
    return "-".join(some(rng, HEX, n) for n in (8, 4, 4, 4, 12))


def jwt(rng: Random) -> str:
    def part(fields: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")

    head = part({"alg": "HS256", "typ": "JWT"})
    body = part({"sub": some(rng, ALNUM, 12), "iat": rng.randrange(10**9)})
    return f"{head}.{body}.{some(rng, WORD, 43)}"


PREFIXED: dict[str, Make] = {
    "aws id": plain("AK" + "IA", "AS" + "IA", of=string.ascii_uppercase + "234567", count=16),
    "github": plain("gh" + "p_", "gh" + "o_", "gh" + "u_", "gh" + "s_", "gh" + "r_"),
    "github fine": lambda r: "github" + "_pat_" + some(r, ALNUM, 22) + "_" + some(r, ALNUM, 59),
    "gitlab": plain("gl" + "pat-", "gl" + "dt-", "gl" + "rt-", of=WORD, count=20),
    "openai": lambda r: "sk" + "-" + some(r, ALNUM, 20) + "T3Blbk" + "FJ" + some(r, ALNUM, 20),
    "openai project": plain("sk" + "-proj-", "sk" + "-svcacct-", of=WORD, count=120),
    "anthropic": plain("sk" + "-ant-api03-", of=WORD, count=93, end="AA"),
    "openrouter": plain("sk" + "-or-v1-", of=HEX, count=64),
    "groq": plain("gs" + "k_", count=52),
    "xai": plain("xa" + "i-", count=80),
    "perplexity": plain("pp" + "lx-", count=48),
    "replicate": plain("r8" + "_", count=37),
    "hugging face": plain("h" + "f_", of=string.ascii_letters, count=34),
    "google api": plain("AI" + "za", of=WORD, count=35),
    "google oauth": plain("GOC" + "SPX-", of=WORD, count=28),
    "google access": plain("ya" + "29.", of=WORD, count=120),
    "slack": lambda r: (
        f"xo{'xb'}-{some(r, string.digits, 12)}-{some(r, string.digits, 12)}-{some(r, ALNUM, 24)}"
    ),
    "slack user": lambda r: (
        f"xo{'xp'}-{some(r, string.digits, 11)}-{some(r, string.digits, 11)}-{some(r, HEX, 32)}"
    ),
    "stripe": plain("sk" + "_live_", "rk" + "_live_", "sk" + "_test_", count=24),
    "stripe long": plain("sk" + "_live_", count=99),
    "twilio": plain("S" + "K", of=HEX, count=32),
    "sendgrid": lambda r: "S" + "G." + some(r, WORD, 22) + "." + some(r, WORD, 42) + "x",
    "mailgun": plain("ke" + "y-", of=HEX, count=32),
    "mailchimp": lambda r: some(r, HEX, 32) + "-us" + str(r.randrange(1, 22)),
    "npm": plain("np" + "m_", count=36),
    "pypi": plain("py" + "pi-AgEIcHlwaS5vcmc", of=WORD, count=150),
    "rubygems": plain("ruby" + "gems_", of=HEX, count=48),
    "docker": plain("dckr" + "_pat_", of=WORD, count=27),
    "databricks": plain("da" + "pi", of=HEX, count=32),
    "digitalocean": plain("do" + "p_v1_", "do" + "o_v1_", of=HEX, count=64),
    "heroku": lambda r: "HR" + "KU-" + uuid(r),
    "supabase": plain("sb" + "p_", of=HEX, count=40),
    "netlify": plain("nf" + "p_", count=36),
    "new relic": plain("NR" + "AK-", of=UPPER, count=27),
    "sentry": plain("sntr" + "yu_", of=HEX, count=64),
    "grafana": lambda r: "gl" + "sa_" + some(r, ALNUM, 32) + "_" + some(r, HEX, 8),
    "shopify": plain("sh" + "pat_", "sh" + "pss_", of=HEX, count=32),
    "square": plain("sq0" + "atp-", of=WORD, count=22),
    "telegram": lambda r: some(r, "123456789", 9) + ":A" + "A" + some(r, WORD, 32) + "q",
    "discord": lambda r: (
        "M" + some(r, ALNUM, 25) + "." + some(r, WORD, 6) + "." + some(r, ALNUM, 38)
    ),
    "linear": plain("lin" + "_api_", count=40),
    "notion": plain("nt" + "n_", count=46),
    "atlassian": plain("AT" + "ATT3", of=WORD, count=180),
    "vault": plain("hv" + "s.", of=WORD, count=24),
    "doppler": plain("dp" + ".pt.", count=43),
    "age": plain("AGE-" + "SECRET-KEY-1", of="QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", count=58),
    "airtable": lambda r: "pa" + "t" + some(r, ALNUM, 14) + "." + some(r, HEX, 64),
    "figma": plain("fi" + "gd_", of=WORD, count=40),
    "postman": lambda r: "PM" + "AK-" + some(r, HEX, 24) + "-" + some(r, HEX, 34),
    "tailscale": lambda r: "ts" + "key-auth-" + some(r, ALNUM, 12) + "-" + some(r, ALNUM, 32),
    "terraform": lambda r: some(r, ALNUM, 14) + ".atlas" + "v1." + some(r, ALNUM, 67),
    "azure client": lambda r: some(r, ALNUM, 3) + "8Q" + "~" + some(r, ALNUM + "_~.-", 33) + "x",
    "jwt": jwt,
    "pulumi": plain("pu" + "l-", of=HEX, count=40),
    "contentful": plain("CF" + "PAT-", of=WORD, count=43),
    "dynatrace": lambda r: "dt0" + "c01." + some(r, UPPER, 24) + "." + some(r, UPPER, 64),
}
BY_SHAPE = {"mailchimp", "telegram", "discord", "airtable", "terraform", "azure client", "jwt"}
"""Known by their whole shape: halves and base64 are not looked for."""
SEEN_WHOLE = {"two lines", "base64", "base64 of a pair"}
"""Places in which a secret is not seen as a whole."""

Place = Callable[[str, Random], str]
PLACES: dict[str, Place] = {
    "json": lambda s, r: json.dumps({"service": "billing", "credential": s, "retries": 3}),
    "json in json": lambda s, r: json.dumps({"stdout": json.dumps({"x": f"line\n{s}"})}),
    "url query": lambda s, r: f"GET https://api.example.com/v1/items?page=2&access={quote(s)}&z=1",
    "url user": lambda s, r: f"git clone https://{quote(s)}@host.example.org/team/repo.git",
    "env": lambda s, r: f"SERVICE_VALUE={s}",
    "diff": lambda s, r: f"@@ -1,2 +1,2 @@\n-old\n+{s}\n+  value: {s}",
    "yaml": lambda s, r: f"service:\n  credential: {s}\n  retries: 3",
    "shell": lambda s, r: f"curl -sS -H 'X-Service: {s}' https://api.example.com | jq .",
    "log": lambda s, r: f"2026-03-01T10:11:12Z INFO client started with {s}, retrying",
    "python": lambda s, r: f'client = Client("{s}", timeout=30)',
    "javascript": lambda s, r: f"const client = new Client({{ credential: '{s}' }});",
    "markdown": lambda s, r: f"Use `{s}` for **staging** only.",
    "colour": lambda s, r: f"\x1b[32m{s}\x1b[0m",
    "escaped": lambda s, r: f'echo -e "value\\n{s}\\tend"',
    "header": lambda s, r: f"> Authorization: Bearer {s}\r\n> Accept: */*",
    "two lines": lambda s, r: broken(s, r),
    "base64": lambda s, r: "data: " + base64.b64encode(s.encode()).decode(),
    "base64 of a pair": lambda s, r: "auth: " + base64.b64encode(f"someone:{s}".encode()).decode(),
}


def broken(secret: str, rng: Random) -> str:
    """Over two lines: wrapped, continued, or put together in code."""
    where = rng.randint(min(20, len(secret) // 2 - 1), len(secret) - 8)
    left, right = secret[:where], secret[where:]
    forms = (f"{left}\n{right}", f"value={left}\\\n    {right}", f'x = ("{left}"\n     "{right}")')
    return rng.choice(forms)


def pieces(secret: str, size: int = 12) -> set[str]:
    """What must not be left of a secret, however it was written."""
    return {secret[i : i + size] for i in range(len(secret) - size + 1)}
