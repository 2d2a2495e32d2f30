"""What a reply comes to: a value of the shape that was asked for, or why it is none."""

from __future__ import annotations

import json
import re
from typing import NamedTuple, TypeVar

import msgspec

from kedge.asking.no_answer import is_error, is_refusal
from kedge.model import Fallback, Reply

LARGEST_READ = 200_000
"""Characters of a reply that are looked at: several times the longest that is asked for."""
PROBLEM = 300
"""Characters of what is wrong with a reply: it is told to the model too."""

S = TypeVar("S", bound=msgspec.Struct)

_THOUGHTS = re.compile(r"\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
"""Reasoning that a server leaves in the text: before the reply, or all of it."""
_PAGE = re.compile(r"\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype|html)\b", re.IGNORECASE)


class Unusable(NamedTuple):
    kind: Fallback
    problem: str
    """In our words, for the report and for the model."""
    final: bool = False
    """The model would not say anything else if it was asked again."""


def read_reply(reply: Reply, shape: type[S], *, most_tokens: int) -> S | Unusable:
    """The value in a reply, or what is wrong with it. Words around the object do no harm."""
    if reply.ending == "refused":
        return Unusable("refusal", "the model refused", final=True)
    if len(reply.text) > LARGEST_READ:
        told = f"it has {len(reply.text):,} characters, and {LARGEST_READ:,} are read at the most"
        return Unusable("too large", told)
    text = _THOUGHTS.sub("", reply.text, count=1) if "<" in reply.text[:PROBLEM] else reply.text
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        found = _decoded(text[start : end + 1], shape)
        if not isinstance(found, Unusable):
            return found
    else:
        found = Unusable("not JSON", "it has no JSON object")
    return _ended(text, reply, most_tokens) or _said(text) or found


def _ended(text: str, reply: Reply, most_tokens: int) -> Unusable | None:
    """What a reply is whose end explains that there is no object in it."""
    if not text.strip() and (reply.reasoned or reply.text.strip()):
        return Unusable("reasoning only", "it has nothing but reasoning")
    if reply.ending == "cut off":
        told = f"it was cut off at its limit of {most_tokens:,} tokens: it must be much shorter"
        return Unusable("cut off", told)
    if reply.ending == "tool call":
        return Unusable("tool call", "it calls a tool, and there are none")
    return None if text.strip() else Unusable("empty", "it is empty")


def _said(text: str) -> Unusable | None:
    """What a reply is whose words say that it is none."""
    if _PAGE.match(text):
        return Unusable("not JSON", "it is a page of HTML")
    if is_refusal(text):
        return Unusable("refusal", "the model refused, in words", final=True)
    if is_error(text):
        return Unusable("error text", "it is the message of an error")
    return None


def _decoded(text: str, shape: type[S]) -> S | Unusable:
    data = text.encode(errors="replace")
    try:
        try:
            return msgspec.json.decode(data, type=shape)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            # Raw line breaks and halves of characters, which others let pass.
            read = json.dumps(json.loads(data, strict=False), ensure_ascii=False)
            return msgspec.json.decode(read.encode(errors="replace"), type=shape)
    except msgspec.ValidationError as error:
        return _misshapen(data, error)
    except (ValueError, RecursionError) as error:
        return Unusable("not JSON", f"its JSON cannot be read: {error}"[:PROBLEM])


def _misshapen(data: bytes, error: msgspec.ValidationError) -> Unusable:
    if re.match(rb'\{\s*"(?:error|type"\s*:\s*"error)"', data):
        return Unusable("error text", "it is the message of an error")
    return Unusable("another shape", f"its JSON has another shape: {error}"[:PROBLEM])
