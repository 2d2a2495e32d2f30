"""Random message lists that the providers would take, for tests of reading and writing."""

from tests.strategies.anthropic import anthropic
from tests.strategies.gemini import gemini
from tests.strategies.openai_chat import openai_chat
from tests.strategies.openai_responses import openai_responses

PROVIDERS = {
    "anthropic": anthropic(),
    "openai-chat": openai_chat(),
    "openai-responses": openai_responses(),
    "gemini": gemini(),
}
