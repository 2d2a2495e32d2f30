"""Secrets made by chance: in the shapes that providers publish, and as people and programs make
passwords and keys. None was ever one. Prefixes are written in two pieces, so that no scanner takes
this file for one that holds secrets."""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable
from random import Random

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
    "1password": lambda r: "A" + "3-" + "-".join(some(r, UPPER, n) for n in (6, 6, 5, 5, 5, 5)),
    "openshift": plain("sha" + "256~", of=WORD, count=43),
    "scalingo": plain("tk" + "-us-", of=WORD, count=48),
    "planetscale": plain("pscale" + "_tkn_", of=WORD, count=43),
    "easypost": plain("EZ" + "AK", count=54),
    "frame.io": plain("fi" + "o-u-", of=WORD, count=64),
    "dynatrace": lambda r: "dt0" + "c01." + some(r, UPPER, 24) + "." + some(r, UPPER, 64),
}


PEOPLE = ("Sommer", "Kestrel", "marble", "Oakwood", "tulip", "Granite", "falcon", "Violet")

UNMARKED: dict[str, Make] = {
    "password of a person": lambda r: r.choice(
        (
            f"{r.choice(PEOPLE)}{r.randrange(10, 9999)}!",
            f"{r.choice(PEOPLE)}-{r.choice(PEOPLE)}-{r.randrange(10, 9999)}",
            f"{r.choice(PEOPLE)}@{r.randrange(10, 9999)}{r.choice(PEOPLE)}",
        )
    ),
    "password with signs": lambda r: some(r, ALNUM + "!@#%^*", 13) + "7",
    "letters and digits": lambda r: some(r, ALNUM, r.randint(16, 40)),
    "hex, 32": lambda r: some(r, HEX, 32),
    "hex, 64": lambda r: some(r, HEX, 64),
    "for addresses, 43": lambda r: some(r, WORD, 42) + "x",
    "base64, 44": lambda r: some(r, BASE64, 43) + "=",
    "uuid": uuid,
}
"""Nothing but the words around them says what they are."""
PASSWORDS = {"password of a person", "password with signs"}


def private_key(rng: Random, label: str = "RSA ") -> str:
    """A key in armour; its lines are chance."""
    lines = [some(rng, BASE64, 64) for _ in range(24)] + [some(rng, BASE64, 30) + "=="]
    dashes = "-" * 5
    begin, end = (f"{dashes}{word} {label}PRIVATE KEY{dashes}" for word in ("BEGIN", "END"))
    return "\n".join((begin, *lines, end))
