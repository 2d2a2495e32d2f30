"""In a place that is for secrets alone, a long value is one, whatever words are in it."""

from __future__ import annotations

import pytest

from kedgeline.redact import REDACTOR

VALUE = "Zx9hunterQ7supersecretvaluePq"
SECRETS = (
    f"LAMP_TOKEN={VALUE}",
    f"export LAMP_SECRET={VALUE}",
    f'secret_key = "{VALUE}"',
    f"{{'api_key': '{VALUE}'}}",
    f'accessToken: "{VALUE}"',
    f"lamp_token: {VALUE}",
    f"+LAMP_KEY={VALUE}",
    "MY_KEY=hunter2hunter2hunter2",
    "DB_PASSWORD=SuperSecretPassword2024",
    'password="mysecretpassword77"',
    "Authorization: Bearer hunter2supersecretvalue99",
    "curl -H 'authorization: bearer hunter2supersecretvalue99' x",
    "Bearer hunter2supersecretvalue99",
    "Authorization: Basic dXNlcjpwYXNzd29yZGVudg==",
    "gsk" + "_test_hunter4f9a8b7c6d5e4f3a2b1c",
)
BENIGN = (
    "primary_key = user_id",
    'primary_key = "user2profile3settings4"',
    "TOKEN=$TOKEN",
    "LAMP_TOKEN=$LAMP_TOKEN",
    "LAMP_TOKEN=${LAMP2TOKEN3VALUE4:-none}",
    "token = next(tokens)",
    "lamp_token = read_lamp2token3value4(path)",
    'secret_key = os.environ["LAMP2SECRET3KEY4"]',
    "LAMP_TOKEN=<lamp2token3from4login>",
    "LAMP_TOKEN=...",
    "LAMP_TOKEN=your2lamp3token4here5please",
    'client_secret="oauth2_client_secret_name"',
    'secret_key: "k8s-prod-client-secret"',
    "access_token: RefreshToken2Factory",
    'access_token = "accessTokenV2holder"',
    "API_TOKEN = load_token_from_v1store",
    'api_key="projects/lamp2/keys/main3"',
    "LAMP_KEY=/etc/lamp2keys3oil/main",
    'signing_key = "sha256-of-the-lamp4file"',
    'password="resetpasswordform"',
    "Authorization: Bearer access_token_from_login",
    "Authorization: Bearer $LAMP2TOKEN3VALUE4",
    "the bearer authenticates himself with a letter",
)


@pytest.mark.parametrize("line", SECRETS)
def test_a_long_value_in_a_secrets_place_is_taken_out(line: str) -> None:
    cleaned = REDACTOR.clean(line)
    assert "[secret: " in cleaned
    assert not any(part in cleaned for part in ("hunter", "uperSecret", "mysecret", "dXNlcj"))
    assert REDACTOR.clean(cleaned) == cleaned


@pytest.mark.parametrize("line", BENIGN)
def test_what_only_stands_in_such_a_place_stays(line: str) -> None:
    assert REDACTOR.clean(line) == line
