"""Tokens of services beside clouds and code hosts: payments, mail, chat, monitoring, documents."""

from __future__ import annotations

from kedge.redaction.rules import ALNUM, HEX, LEFT, UPPER, WORD, shaped, token

PAYMENTS = (
    token(
        "Stripe key",
        *("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"),
        least=16,
    ),
    token("webhook secret", "whsec_", least=24, body="[A-Za-z0-9+/=]"),
    token(
        "Shopify token",
        "shpat_",
        "shpca_",
        "shppa_",
        "shpss_",
        least=28,
        length=38,
        body="[A-Fa-f0-9]",
    ),
    token("Square token", "sq0atp-", "sq0csp-", "EAAAE", least=22, body=WORD),
    token("EasyPost key", "EZAK", "EZTK", least=50, length=58),
    token("Flutterwave key", "FLWSECK-", "FLWSECK_TEST-", least=30, body="[a-hA-HX0-9-]"),
    token("Shippo token", "shippo_live_", "shippo_test_", least=32, length=52, body=HEX),
    token("Duffel token", "duffel_live_", "duffel_test_", least=30, body=WORD),
    token(
        "Plaid token",
        "access-sandbox-",
        "access-production-",
        "access-development-",
        least=30,
        body="[a-f0-9-]",
    ),
    shaped(
        "Braintree token",
        r"access_token\$",
        rf"(access_token\$(?:production|sandbox)\$[a-z0-9]{{16}}\${HEX}{{32}})",
    ),
)

MAIL_AND_CHAT = (
    token("SendGrid key", "SG.", least=40, length=69, body="[A-Za-z0-9_.-]", entropy=3.5),
    token("Mailgun key", "key-", least=32, length=36, body=HEX, entropy=2.5),
    shaped(
        "Mailgun key",
        "[a-f0-9]{4}-[a-f0-9]{8}-[a-f0-9]{8}",
        rf"{LEFT}({HEX}{{32}}-{HEX}{{8}}-{HEX}{{8}})\b",
    ),
    shaped("Mailchimp key", "[a-f0-9]{4}-us[0-9]", rf"{LEFT}({HEX}{{32}}-us[0-9]{{1,2}})\b"),
    token("Brevo key", "xkeysib-", "xsmtpsib-", least=60, length=89, body="[A-Za-z0-9-]"),
    shaped("Resend key", "re_[A-Za-z0-9]{6}", rf"{LEFT}(re_{ALNUM}{{6,}}_{ALNUM}{{18,}})"),
    token("Twilio key", "SK", least=32, length=34, body=HEX, entropy=2.5),
    token(
        "Slack token",
        "xoxb-",
        "xoxp-",
        "xoxa-",
        "xoxo-",
        "xoxr-",
        "xoxs-",
        "xoxe-",
        "xoxe.xoxp-",
        "xoxe.xoxb-",
        "xoxc-",
        "xoxd-",
        least=16,
        body="[A-Za-z0-9%-]",
    ),
    token("Slack token", "xapp-", least=30, body="[A-Za-z0-9-]"),
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
        r"[A-Za-z0-9_-]{4}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{20}",
        rf"{LEFT}([MNO]{WORD}{{23,27}}\.{WORD}{{6}}\.{WORD}{{27,38}})(?:[^A-Za-z0-9_-]|$)",
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
        rf"{LEFT}(?:bot)?([0-9]{{8,10}}(?::|%3A)A[A-Za-z]{WORD}{{30,}})",
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
)

MONITORING = (
    token(
        "New Relic key", "NRAK-", "NRJS-", "NRII-", "NRIQ-", "NRRA-", least=19, length=32, body=WORD
    ),
    shaped("New Relic key", "NRAL", rf"({HEX}+(?:FFFF)?NRAL)\b", least=34),
    token("Sentry token", "sntrys_eyJ", least=40, body="[A-Za-z0-9+/=_]"),
    token("Sentry token", "sntryu_", least=40, length=71, body=HEX),
    shaped(
        "Datadog key",
        "(?i)dd[_.-]?(?:api|app)|datadog",
        r"(?i)(?:datadog|\bdd)[_.-]?(?:api|app|application)?[_.-]?(?:api|app)?[_.-]?key"
        rf"[\"'\\]{{0,3}}\s*[:=]\s*[\"'\\]{{0,3}}({HEX}{{32}}(?:{HEX}{{8}})?)(?:[^A-Za-z0-9]|$)",
        entropy=2.5,
    ),
    token("Grafana token", "glsa_", least=32, length=46, body="[A-Za-z0-9_]"),
    token("Grafana token", "glc_eyJ", "eyJrIjoi", least=40, body="[A-Za-z0-9+/=]"),
    token(
        "Dynatrace token", "dt0c01.", "dt0s01.", "dt0s16.", least=60, length=96, body="[A-Z0-9.]"
    ),
    token("PostHog key", "phx_", least=32),
    token("Honeycomb key", "hcaik_", "hcbik_", "hcxik_", least=40, body="[a-z0-9_]"),
    token("Axiom token", "xaat-", "xapt-", least=30, length=41, body="[a-f0-9-]"),
)

DOCUMENTS = (
    token("Linear key", "lin_api_", "lin_oauth_", least=32, length=48),
    token("Notion token", "ntn_", least=40, length=50),
    token("Notion token", "secret_", least=43, length=50, entropy=4.0),
    shaped(
        "Airtable token",
        r"[A-Za-z0-9]{4}\.[a-f0-9]{20}",
        rf"{LEFT}(pat{ALNUM}{{14}}\.{HEX}{{40,}})",
    ),
    token("Figma token", "figd_", "figo_", least=32, length=45, body=WORD),
    token("Contentful token", "CFPAT-", least=36, length=49, body=WORD),
    token("Dropbox token", "sl.", least=100, body=WORD, entropy=4.0),
    token("Typeform token", "tfp_", least=40, body="[A-Za-z0-9_.=-]"),
    token("ReadMe key", "rdme_", least=60, length=75, body="[a-z0-9]"),
    token("Prefect key", "pnu_", "pnb_", least=32, length=40),
    token("Infracost key", "ico-", least=30, length=36, entropy=3.5),
    token("Frame.io token", "fio-u-", least=50, length=70, body="[A-Za-z0-9_=-]"),
    token("Facebook token", "EAA", least=80, entropy=4.0),
    token("Twitter token", "AAAAAAAAAAAAAAAAAAAAA", least=40, body="[A-Za-z0-9%]"),
    token("Mapbox token", "sk.eyJ", least=60, body="[A-Za-z0-9_.-]"),
    token("Adobe secret", "p8e-", least=32, length=36),
    token("Octopus key", "API-", least=26, length=30, body=UPPER, entropy=3.5),
)
