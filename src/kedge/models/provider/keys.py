"""Which variable of the environment holds a provider's key."""

from __future__ import annotations

KEY = "KEDGE_MODEL_KEY"
"""The key for an address of one's own. The key of a provider is for the provider: it never goes
anywhere else."""
_VARIABLES = {
    "azure": "AZURE_OPENAI_API_KEY",
    "azure-responses": "AZURE_OPENAI_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
    "bedrock-mantle": "AWS_BEARER_TOKEN_BEDROCK",
    "cohere": "CO_API_KEY",
    "google-cloud": "GOOGLE_API_KEY",
    "heroku": "HEROKU_INFERENCE_KEY",
    "huggingface": "HF_TOKEN",
    "openai-chat": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "snowflake": "SNOWFLAKE_TOKEN",
    "vercel": "VERCEL_AI_GATEWAY_API_KEY",
}
"""Of those that do not call it by their own name."""


def key_variable(provider: str, *, own_address: bool) -> str:
    if own_address:
        return KEY
    return _VARIABLES.get(provider, f"{provider.upper().replace('-', '_')}_API_KEY")
