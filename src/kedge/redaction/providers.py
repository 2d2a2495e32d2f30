"""Tokens of providers that wear a prefix or a shape of their own. Formats are as the providers
publish them; least lengths are below the real ones, so that cut tokens are found too."""

from __future__ import annotations

from kedge.redaction.rules import ALNUM, BASE64, HEX, LEFT, UPPER, WORD, shaped, token

_DOTTED = "[A-Za-z0-9_.=-]"

CODE_HOSTS = (
    token("GitHub token", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", least=20, length=40),
    token("GitHub token", "github_pat_", least=30, length=93, body="[A-Za-z0-9_]"),
    token(
        "GitLab token",
        *("glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-"),
        *("glagent-", "glsoat-", "gloas-", "glffct-", "GR1348941"),
        least=18,
        length=25,
        body=_DOTTED,
    ),
    token("Bitbucket token", "ATBB", least=28, length=36),
    token("Atlassian token", "ATATT3", "ATCTT3", least=40, length=192, body="[A-Za-z0-9_=-]"),
    token("Sourcegraph token", "sgp_", least=36, body="[a-f0-9_]"),
    token("npm token", "npm_", least=30, length=40),
    token("PyPI token", "pypi-AgE", least=40, body=WORD),
    token("RubyGems key", "rubygems_", least=40, length=57, body=HEX),
    token("crates.io token", "cio", least=32, length=35, entropy=4.0),
    token("NuGet key", "oy2", least=43, length=46, body="[a-z0-9]"),
    token("Clojars token", "CLOJARS_", least=50, length=68, body="[a-z0-9]"),
    token("Docker token", "dckr_pat_", "dckr_oat_", least=20, length=36, body=WORD),
    token("JFrog key", "AKCp", "cmVmdGtu", least=50, length=73),
    token("CircleCI token", "CCIPAT_", "CCIPRJ_", least=30, body="[A-Za-z0-9_]"),
    token("Buildkite token", "bkua_", least=30, length=45, body=HEX),
    token("SonarQube token", "squ_", "sqp_", "sqa_", least=32, length=44, body=HEX),
    token("Pulumi token", "pul-", least=32, length=44, body=HEX),
    token("Postman key", "PMAK-", least=40, length=64, body="[a-f0-9-]"),
    shaped("Terraform token", r"\.atlasv1\.", rf"({ALNUM}+\.atlasv1\.[A-Za-z0-9_=-]{{40,}})"),
)

MODELS = (
    token("Anthropic key", "sk-ant-", least=16, length=108, body=WORD),
    token("OpenRouter key", "sk-or-v1-", least=40, length=73, body=HEX),
    token("Langfuse key", "sk-lf-", least=30, length=42, body="[a-f0-9-]"),
    token("OpenAI key", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-", least=20, body=WORD),
    token("OpenAI key", "sk-", least=20, length=51, entropy=3.0),
    token("Groq key", "gsk_", least=32, length=56),
    token("xAI key", "xai-", least=40, length=84),
    token("Perplexity key", "pplx-", least=32, length=53),
    token("Replicate token", "r8_", least=30, length=40),
    token("Hugging Face token", "hf_", "api_org_", least=28, length=37),
    token("NVIDIA key", "nvapi-", least=40, body=WORD),
    token("Cerebras key", "csk-", least=32, length=52),
    token("LangSmith key", "lsv2_pt_", "lsv2_sk_", least=30, length=51, body="[a-f0-9_]"),
    token("Pinecone key", "pcsk_", least=30, body="[A-Za-z0-9_]"),
    token("Tavily key", "tvly-", least=20, body=WORD),
    token("ElevenLabs key", "sk_", least=48, length=51, body=HEX),
    token("Firecrawl key", "fc-", least=32, length=35, body=HEX),
    token("Fireworks key", "fw_", least=22, entropy=3.5),
)

CLOUDS = (
    token(
        "AWS access key id",
        *("AKIA", "ASIA", "ABIA", "ACCA"),
        least=16,
        length=20,
        body=UPPER,
        entropy=2.5,
    ),
    shaped(
        "AWS secret key",
        r"(?i)secret[\w.-]{0,12}key",
        r"(?i)(?:aws|amazon)?[\w.-]*secret[\w.-]{0,12}key[\w.-]{0,4}"
        rf"[\"'\\]{{0,3}}\s*(?:=>|:=|=|:)\s*[\"'\\]{{0,3}}({BASE64}{{40}})(?:[^A-Za-z0-9+/]|$)",
        "random",
        entropy=3.5,
    ),
    token("AWS Bedrock key", "ABSK", least=80, length=132, body="[A-Za-z0-9+/=]"),
    token("AWS Bedrock key", "bedrock-api-key-", least=30, body="[A-Za-z0-9+/=]"),
    token("Google API key", "AIza", least=30, length=39, body=WORD),
    token("Google OAuth secret", "GOCSPX-", least=20, length=35, body=WORD),
    token("Google OAuth token", "ya29.", least=20, body="[A-Za-z0-9_.-]"),
    shaped("Google refresh token", "1//0[A-Za-z0-9_-]", rf"{LEFT}(1//0{WORD}{{30,}})"),
    shaped(
        "Google service-account key id",
        "private_key_id",
        rf"private_key_id[\"'\\]{{1,3}}\s*:\s*[\"'\\]{{1,3}}({HEX}{{30,}})",
    ),
    shaped(
        "Firebase server key", "AAAA[A-Za-z0-9_-]{7}:", rf"{LEFT}(AAAA{WORD}{{7}}:{WORD}{{120,}})"
    ),
    shaped(
        "Azure storage key", "(?i)AccountKey", rf"(?i)AccountKey\s*=\s*({BASE64}{{40,}}={{0,2}})"
    ),
    shaped(
        "Azure access key",
        "(?i)SharedAccessKey",
        rf"(?i)SharedAccessKey\s*=\s*({BASE64}{{30,}}={{0,2}})",
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
        rf"{LEFT}([A-Za-z0-9_~.-]{{3}}[0-9]Q~[A-Za-z0-9_~.-]{{31,34}})",
        entropy=3.5,
    ),
    shaped("Azure DevOps token", "AZDO", rf"({ALNUM}+AZDO{ALNUM}{{4}})\b", least=80),
    shaped(
        "Azure service key",
        "AzFu|AzSe|AStA|ACDb|AIoT|APIM|ACRg",
        rf"(?:^|[^A-Za-z0-9+/_-])({WORD}+(?:AzFu|AzSe|AStA|ACDb|AIoT|APIM|ACRg|JQQJ99){BASE64}{{4,}}={{0,2}})",
        least=44,
    ),
    token("DigitalOcean token", "dop_v1_", "doo_v1_", "dor_v1_", least=40, length=71, body=HEX),
    token("Heroku key", "HRKU-", least=20, body=WORD),
    shaped("Cloudflare origin key", r"v1\.0-[a-f0-9]", rf"(v1\.0-{HEX}{{20,24}}-{HEX}{{60,}})"),
    token("Databricks token", "dapi", least=30, length=36, body=HEX),
    token(
        "Fly token", "FlyV1 fm1_", "FlyV1 fm2_", "fm1r_", "fm2_", least=40, body="[A-Za-z0-9+/=,_]"
    ),
    token("Netlify token", "nfp_", least=32, length=40),
    token("Render key", "rnd_", least=24, entropy=3.5),
    token("Supabase key", "sbp_", least=32, length=44, body=HEX),
    token("Supabase key", "sb_secret_", least=20, body=WORD),
    token(
        "PlanetScale token",
        "pscale_tkn_",
        "pscale_pw_",
        "pscale_oauth_",
        least=24,
        body="[A-Za-z0-9_.-]",
    ),
    token("Neon password", "npg_", least=12, length=16, entropy=2.5),
    token("Alibaba key id", "LTAI", least=16, length=24, entropy=3.0),
    token("Tencent secret id", "AKID", least=28, length=36),
    token("Yandex token", "AQVN", "y0_Ag", "t1.9eu", least=32, body=WORD),
    token("Vault token", "hvs.", "hvb.", "hvr.", least=20, body=WORD),
    token(
        "Doppler token",
        "dp.pt.",
        "dp.st.",
        "dp.ct.",
        "dp.sa.",
        "dp.scim.",
        "dp.audit.",
        least=30,
        body="[A-Za-z0-9._-]",
    ),
    token("1Password token", "ops_eyJ", least=60, body="[A-Za-z0-9+/=_-]"),
    token("Tailscale key", "tskey-", least=20, body=WORD),
)
