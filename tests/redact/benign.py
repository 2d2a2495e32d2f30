"""Lines without a secret that look as if they had one, and plain ones: what must stay as it is."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from random import Random

from tests.redact.seeds import ALNUM, BASE64, HEX, WORD, some, uuid

NOUNS = ("user", "cache", "token", "key", "session", "order", "secret", "page", "auth", "index")
VERBS = ("get", "load", "parse", "check", "rotate", "hash", "count", "refresh", "validate")
PROSE = (
    "The token budget is spent where it buys most, and the key idea is to keep what matters.",
    "Passwords are hashed with bcrypt; see the section on authentication for the secret rotation.",
    "Das Passwort wird nie gespeichert, der Schlüssel liegt im Tresor: Zugriff nur mit Freigabe.",
    "Le mot de passe n'est jamais enregistré ; la clé est renouvelée chaque semaine.",
    "密码不会被保存，令牌每小时刷新一次。请参阅文档中的密钥一节。",
    "Пароль не сохраняется, ключ хранится отдельно: токен обновляется каждый час.",
    "パスワードは保存されません。トークンは一時間ごとに更新されます。",
)
PLACEHOLDERS = (
    'API_KEY="your-api-key-here"',
    "export GITHUB_TOKEN=<your token>",
    "DATABASE_PASSWORD=${DB_PASSWORD}",
    "token: {{ secrets.DEPLOY_TOKEN }}",
    "password: changeme",
    "SECRET_KEY = os.environ['SECRET_KEY']",
    "api_key: xxxxxxxxxxxxxxxxxxxxxxxx",
    'password="********"',
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "postgres://user:password@localhost:5432/app",
    "const token = process.env.API_TOKEN_V2;",
    "password = getpass.getpass()",
    "client_secret: string;",
    "apiKey: config.get('service.apiKey'),",
    "accessToken: AccessToken | undefined",
    "def test_password_reset_token_expires_after_24_hours():",
    "from app.auth.tokens import RefreshToken2, TokenError",
    "max_tokens=4096, token_count=123456789",
    "primary_key=True, foreign_key='orders.id2'",
    "password: test1234",
    "if token == expected_token_v2:",
    "secretName: app-credentials-v2",
    "cacheKey: `user:${id}:profile:v2`",
    "next_page_token: CAUQAA1b2C3d4E5f6",
    'secret: "billing-database-writer"',
    'auth = "digest-with-integrity"',
    'api_token: "your-a1B2c3D4e5F6-here"',
    'SERVICE_TOKEN="xxxx1234XXXXabcd5678"',
    'signing_secret = "EXAMPLE-a8Xk29Qz1Lm3"',
    "access_token=request.session.accessTokenV2",
    "--- PASS: TestCheckpoint_Path/#00 (0.00s)",
)


def code(r: Random) -> str:
    verb, one, two = r.choice(VERBS), r.choice(NOUNS), r.choice(NOUNS)
    return r.choice(
        (
            f"    {one}_{two} = self.{verb}_{one}({two}_id, limit={r.randrange(99)})",
            f"const {one}{two.title()} = await {verb}{one.title()}({two}.id);",
            f"func ({one[0]} *{one.title()}) {verb.title()}{two.title()}(ctx Context) error {{",
            f"if ({one}.{two} !== undefined) return {verb}({one}.{two});",
            f"def test_{verb}_{one}_with_{two}_returns_{r.randrange(500)}() -> None:",
            f"from app.{one}.{two} import {verb}_{one}, {two.title()}Error",
            f"{one}: {two.title()}Key = field(default_factory={one.title()}Token)",
            f"assert {verb}_{one}('{two}') == {r.randrange(10**6)}",
        )
    )


def hashed(r: Random) -> str:
    return r.choice(
        (
            f"commit {some(r, HEX, 40)}",
            f"{some(r, HEX, 7)} {r.choice(VERBS)} the {r.choice(NOUNS)}",
            f"index {some(r, HEX, 7)}..{some(r, HEX, 7)} 100644",
            f"sha256:{some(r, HEX, 64)}  image/{r.choice(NOUNS)}:latest",
            f"{some(r, HEX, 32)}  dist/{r.choice(NOUNS)}-{r.randrange(9)}.tar.gz",
            f'"etag": "{some(r, HEX, 32)}"',
            f"request_id={uuid(r)} user_id={uuid(r)} took {r.randrange(900)} ms",
            f"toolu_01{some(r, ALNUM, 22)} call_{some(r, ALNUM, 24)} msg_{some(r, ALNUM, 22)}",
            f"docker.io/library/app@sha256:{some(r, HEX, 64)}",
        )
    )


def locked(r: Random) -> str:
    whole = base64.b64encode(r.randbytes(64)).decode()
    return r.choice(
        (
            f'      "integrity": "sha512-{whole}",',
            f'    "resolved": "https://registry.npmjs.org/{r.choice(NOUNS)}/-/x-{r.randrange(9)}.2.tgz",',
            f'    {{file = "x-1.2-py3-none-any.whl", hash = "sha256:{some(r, HEX, 64)}"}},',
            f'checksum = "{some(r, HEX, 64)}"',
            f"    --hash=sha256:{some(r, HEX, 64)} \\",
            f"example.org/{r.choice(NOUNS)} v1.2.{r.randrange(9)} h1:{some(r, BASE64, 43)}=",
            f"{r.choice(NOUNS)}.py,sha256={some(r, WORD, 43)},{r.randrange(9999)}",
        )
    )


def data(r: Random) -> str:
    return r.choice(
        (
            "data:image/png;base64,iVBORw0KGgo" + some(r, BASE64, 200),
            "background: url(data:font/woff2;base64,d09GMgAB" + some(r, BASE64, 120) + ");",
            '  "signature": "Ev' + some(r, BASE64, 180) + '",',
            f"!function(e,t){{var n=e.{some(r, ALNUM, 2)}||{{}},r=t[{r.randrange(99)}];"
            + "".join(f"n.{some(r, ALNUM, 1)}{i}=r({r.randrange(999)})," for i in range(9)),
            f".{some(r, ALNUM, 6)}{{color:#{some(r, HEX, 6)};margin:0 {r.randrange(9)}px}}",
            json.dumps({"id": uuid(r), "count": r.randrange(10**9), "state": r.choice(VERBS)}),
            "|".join(str(r.randrange(10**6)) for _ in range(8)),
            f"{some(r, HEX, 16)}: {some(r, HEX, 4)} {some(r, HEX, 4)}  ..{some(r, ALNUM, 5)}",
        )
    )


def logged(r: Random) -> str:
    return (
        f"2026-0{r.randrange(1, 9)}-1{r.randrange(9)}T10:{r.randrange(10, 59)}:07.12Z "
        f"{r.choice(('INFO', 'WARN', 'ERROR'))} [{r.choice(NOUNS)}] {r.choice(VERBS)} took "
        f"{r.randrange(999)} ms, session={uuid(r)}, tokens={r.randrange(10**6)}, "
        f"https://app.example.com/{r.choice(NOUNS)}/{r.randrange(10**6)}?page={r.randrange(99)}"
    )


def said(r: Random) -> str:
    return r.choice(PROSE)


def stood_in(r: Random) -> str:
    return r.choice(PLACEHOLDERS)


FAMILIES: tuple[Callable[[Random], str], ...] = (
    code,
    hashed,
    locked,
    data,
    logged,
    said,
    stood_in,
)
