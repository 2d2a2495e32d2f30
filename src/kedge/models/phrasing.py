"""A request in words, for models that take nothing else; and what others say in return."""

from __future__ import annotations

import os

import msgspec

from kedge.model import Ask


def prompt_of(ask: Ask) -> str:
    """The prompt, with the shape of the reply behind it."""
    if ask.schema is None:
        return ask.prompt
    schema = msgspec.json.encode(ask.schema).decode()
    demand = f"Reply with one JSON object of this JSON Schema, and nothing else:\n{schema}"
    return f"{ask.prompt}\n\n{demand}" if ask.prompt else demand


def words_of(ask: Ask) -> str:
    """All that a model is told, where it has one input."""
    return "\n\n".join(part for part in (ask.system, prompt_of(ask)) if part) + "\n"


def repeatable(said: str) -> str:
    """What a program or a provider said, as a message may repeat it: they know the secrets of this
    environment, and some complain with them."""
    from kedge.redaction import Redactor, secrets_in

    return Redactor(secrets_in(os.environ)).clean(said)
