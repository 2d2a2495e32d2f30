"""Lists of Gemini's contents."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.strategies.shared import (
    PIXEL,
    Draw,
    Message,
    outputs,
    parameters,
    some,
    tools,
    unknown,
    user_words,
    words,
)

_user_part = st.one_of(
    st.builds(lambda t, u: {"text": t, **u}, user_words, unknown),
    st.sampled_from(
        (
            {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
            {"inline_data": {"mime_type": "image/png", "data": PIXEL}},
            {"fileData": {"fileUri": "gs://a/b", "mimeType": "application/pdf"}},
            {"madeUp": {"x": 1}},
        )
    ),
)
_model_part = st.one_of(
    words.map(lambda t: {"text": t}),
    words.map(lambda t: {"text": t, "thoughtSignature": "c2ln"}),
    st.just({"text": "hm", "thought": True, "thoughtSignature": "c2ln"}),
    st.just({"text": "hm", "thought": True}),
    st.just({"executableCode": {"language": "PYTHON", "code": "1"}}),
)
_responses = st.one_of(
    outputs.map(lambda t: {"output": t}),
    outputs.map(lambda t: {"error": t}),
    st.sampled_from(({"result": {"a": 1}}, {"a": 1, "b": [2]}, {})),
)


@st.composite
def gemini(draw: Draw) -> list[Message]:
    contents: list[Message] = []
    waiting: list[Message] = []
    with_ids = draw(st.booleans())
    snake = draw(st.booleans())
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        parts = [draw(_gemini_response(call, snake)) for call in _in_order_of_names(draw, waiting)]
        parts += some(draw, _user_part, least=0 if parts else 1)
        contents.append({"role": "user", "parts": parts, **draw(unknown)})
        parts = some(draw, _model_part, least=1)
        waiting = []
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            call = {"id": f"fc{number}"} if with_ids else {}
            waiting.append({**call, "name": draw(tools), "args": draw(parameters)})
            signed = draw(st.sampled_from(({}, {"thoughtSignature": "c2ln"})))
            parts.append({"function_call" if snake else "functionCall": waiting[-1], **signed})
        contents.append({"role": "model", "parts": parts})
    if draw(st.booleans()):
        role = draw(st.sampled_from(("user", "function")))
        parts = [draw(_gemini_response(call, snake)) for call in waiting]
        contents.append({"role": role, "parts": parts or [draw(_user_part)]})
    return contents


def _in_order_of_names(draw: Draw, calls: list[Message]) -> list[Message]:
    """Any order, but calls of one name in theirs: without ids it is all that tells them apart."""
    rest = list(calls)
    shuffled = draw(st.permutations([call["name"] for call in calls]))
    return [rest.pop(next(n for n, c in enumerate(rest) if c["name"] == name)) for name in shuffled]


@st.composite
def _gemini_response(draw: Draw, call: Message, snake: bool) -> Message:
    answer = {key: value for key, value in call.items() if key != "args"}
    key = "function_response" if snake else "functionResponse"
    return {key: {**answer, "response": draw(_responses)}}
