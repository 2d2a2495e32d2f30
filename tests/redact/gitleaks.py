"""Makes the file of rules that kedgeline ships out of a configuration of gitleaks:
`python -m tests.redact.gitleaks FILE SOURCE "VERSION, DATE" > gitleaks.jsonl`

A text of a session is no source file: a token stands in JSON, in a log or beside a comma, and may
be cut. So what a rule asks for behind a token is left out, and a token may be half as long or
longer. Rules that the contexts of `kedgeline.redact.rules` cover better are left out, and so are
identifiers that are not secret."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

LICENCE = (
    "MIT License. Copyright (c) 2019 Zachary Rice. Permission is hereby granted, free of "
    "charge, to any person obtaining a copy of this software and associated documentation "
    'files (the "Software"), to deal in the Software without restriction, including without '
    "limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, "
    "and/or sell copies of the Software, and to permit persons to whom the Software is "
    "furnished to do so, subject to the following conditions: The above copyright notice and "
    "this permission notice shall be included in all copies or substantial portions of the "
    'Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR '
    "IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A "
    "PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT "
    "HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF "
    "CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR "
    "THE USE OR OTHER DEALINGS IN THE SOFTWARE."
)
LEFT_OUT = (
    r"generic-|curl-|kubernetes-|pkcs12|private-key$|jwt|hashicorp-tf-password|nuget-config|freemius"
    r"|facebook-access|sourcegraph|twilio|vault-service|harness|-client-id$|-access-id$|-pub-|public"
    r"|-user-api-id$|dropbox-api-token|slack-|gitlab-session|aws-access|openai|github|gitlab|anthropic"
    r"|sendgrid|square-|telegram|mailchimp|microsoft-teams|sentry-org|azure-ad|hashicorp-tf-api"
    r"|cloudflare-origin|sidekiq-sensitive|facebook-page|maxmind|1password-service|notion|stripe"
    r"|heroku-api-key-v2|lob-|flyio|doppler|gcp-api-key|vault-batch"
)
BEHIND = (
    r"""(?:[\x60'"\s;]|\\[nr]|$)""",
    r"""(?:[\x60'"\s;]|\\[nr]|$|\b)""",
    r"(?:[^\w-]|\z)",
    r"\b",
)
NAME = r"[\w.-]{0,50}?"
NAMED = re.compile(
    r"(?:\(\?i\)|\(\?i:)(\(.*?\))\(\?:\[ \\t\\w\.-\]\{0,20\}\)"
    r".*?\[\\x60'\"\\s=\]\{0,5\}(\(.*\))\Z"
)
LEAST, SHARE = 16, 2
MOST_BITS = 3.0
"""Per character: half of a token has fewer than a whole one."""


def rules(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for rule in config["rules"]:
        if re.search(LEFT_OUT, rule["id"]) or not rule.get("regex"):
            continue
        made = {
            "kind": rule["id"].replace("-", " "),
            "entropy": min(rule.get("entropy", 0.0), MOST_BITS),
        }
        pattern = bare(rule["regex"])
        named = NAMED.match(pattern.replace(NAME, ""))
        if named:
            service, value = named.groups()
            words = [word for word in rule["keywords"] if word in service.lower()]
            if words:
                shapes = {"service": uncaptured(service), "value": uncaptured(value)}
                yield made | {"prefixes": words} | shapes
            continue
        words = [word for word in rule["keywords"] if not word.isalpha()] or rule["keywords"]
        yield made | {
            "prefixes": [exact(word, rule["regex"]) for word in words],
            "pattern": opened(uncaptured(re.sub(r"\A(\(\?i\))?\\b", r"\1", pattern))),
        }


def bare(pattern: str) -> str:
    for behind in BEHIND:
        pattern = pattern.removesuffix(behind)
    return pattern


def uncaptured(pattern: str) -> str:
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", pattern)


def opened(pattern: str) -> str:
    """A token that may be cut or longer."""
    found = list(re.finditer(r"\{(\d+)(?:,\d*)?\}", pattern))
    if not found or int(found[-1][1]) < LEAST:
        return pattern
    start, end = found[-1].span()
    least = max(LEAST, int(found[-1][1]) // SHARE)
    return f"{pattern[:start]}{{{least},}}{pattern[end:]}"


def exact(keyword: str, pattern: str) -> str:
    """A keyword with the capitals that it has in the pattern."""
    found = re.search(re.escape(keyword), pattern.replace("\\.", ".").replace("\\-", "-"), re.I)
    return found[0] if found else keyword


if __name__ == "__main__":
    made = list(rules(tomllib.loads(Path(sys.argv[1]).read_text())))
    head = {
        "source": sys.argv[2],
        "version": sys.argv[3].split(", ")[0],
        "date": sys.argv[3].split(", ")[1],
        "licence": LICENCE,
        "made": "python -m tests.redact.gitleaks",
        "rules": len(made),
    }
    sys.stdout.buffer.write(b"\n".join(map(msgspec.json.encode, (head, *made))) + b"\n")
