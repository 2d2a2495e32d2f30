"""Codex: rollout files (JSON Lines)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from glob import escape
from typing import Any, NamedTuple

from msgspec.structs import replace

from kedgeline.formats import pieces
from kedgeline.formats.log import Line, Log
from kedgeline.formats.pieces import said_by_user
from kedgeline.formats.records import Record, mapping, mappings, maybe_whole, string
from kedgeline.formats.registry import FileHead
from kedgeline.formats.session import LinesFormat, SessionReader
from kedgeline.formats.turns import Piece
from kedgeline.model import Media, Note, Text, Thinking, ToolCall, ToolResult, Usage

TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
KNOWN_EVENTS = (
    *("agent_message", "agent_reasoning_section_break", "collab_agent_interaction_end"),
    *("collab_close_end", "collab_resume_end", "collab_waiting_end", "context_compacted"),
    *("dynamic_tool_call_request", "dynamic_tool_call_response", "entered_review_mode"),
    *("exited_review_mode", "guardian_assessment", "image_generation_end", "task_complete"),
    *("task_started", "turn_complete", "turn_started", "user_message", "view_image_tool_call"),
    *("web_search_end",),
)
"""Events that only repeat what items say."""

# What became of a call: exit codes, refusals, interruptions, and what the tools reported.

_REFUSED = re.compile(
    r"\s*(?:(?:exec command |patch )?rejected by user\b"
    r"|This action was rejected due to unacceptable risk"
    r'|exec_command failed\b[^\n]{0,4000}\bRejected\("(?i:rejected by user))'
)
"""How the client words a call that was not allowed to run; the output is these words and nothing of
the tool's."""
_SERVER_REFUSED = "user rejected MCP tool call"
_INTERRUPTED = re.compile(r"\s*aborted(?:\s*\Z| by user\b)")
_FAILED = (
    *("apply_patch verification failed", "exec_command failed", "execution error: "),
    *("failed in sandbox", "failed to parse function arguments", "unsupported call: "),
    *("failed to parse exec_command arguments", "unsupported custom tool call: "),
    "write_stdin failed",
)
"""How the client words a call that it could not carry out. It writes no flag beside the words; the
output of a command never stands there bare, but behind a header or inside an object."""
_HEADER_STARTS = ("Exit code: ", "Chunk ID: ", "Wall time: ")
_EXIT_CODE = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d{1,10})\s*$", re.MULTILINE)
_CHANGES: dict[str, pieces.Change] = {"add": "create", "update": "update", "delete": "delete"}


class _Outcome(NamedTuple):
    """What an event said of a call before its output came."""

    failed: bool = False
    exit_code: int | None = None
    refused: bool = False
    change: pieces.Change = ""


def _outcome_of(event: Record) -> _Outcome:
    """An event that tells how a call ended, such as `patch_apply_end`."""
    returned, failed = mapping(event.get("result")), event.get("success") is False
    if returned:
        failed = "Err" in returned or bool(mapping(returned.get("Ok")).get("isError"))
    changes = list(mapping(event.get("changes")).values())
    kind = string(mapping(changes[0]).get("type")) if len(changes) == 1 else ""
    code, declined = maybe_whole(event.get("exit_code")), event.get("status") == "declined"
    return _Outcome(failed, code, declined, _CHANGES.get(kind, ""))


def _result_of(payload: Record, call: ToolCall | None, outcome: _Outcome) -> ToolResult:
    """The result that an output item gives. The output of a server's tool is its own, and could
    imitate the client's words."""
    output, flag = payload.get("output"), payload.get("success")
    if isinstance(output, dict) and output.keys() & {"content", "success"}:
        flag = output.get("success", flag)
        output = output.get("content", output.get("content_items"))
    text, media = pieces.text_and_media(output)
    server = call is not None and "__" in call.tool
    words, code, bare = (text, None, False) if server else _unwrapped(text)
    code = outcome.exit_code if code is None else code
    refused = outcome.refused or (server and text.strip() == _SERVER_REFUSED)
    refused = refused or (bare and _REFUSED.match(text) is not None)
    return pieces.result(
        payload.get("call_id"),
        words,
        failed=flag is False or outcome.failed or (bare and text.startswith(_FAILED)),
        exit_code=None if refused else code,
        refused=refused,
        interrupted=bare and _INTERRUPTED.match(text) is not None,
        change=outcome.change,
        media=media,
    )


def _unwrapped(text: str) -> tuple[str, int | None, bool]:
    """The output without the object or the header lines that carry its exit code, the code, and
    whether the text may be the client's own: it stands behind no header and in no object."""
    if text.startswith("{"):
        inner = pieces.object_in(text)
        if isinstance(inner.get("metadata"), dict) and "output" in inner:
            code = maybe_whole(inner["metadata"].get("exit_code"))
            return string(inner["output"]), code, False
    if text.startswith(_HEADER_STARTS):
        head, found, body = text.partition("\nOutput:\n")
        if exited := _EXIT_CODE.search(head):
            return body if found else "", int(exited[1]), False
        return text, None, False
    return text, None, True


# Items.

IDE_OPENING = "# Context from my IDE setup:"
"""How the editor extension begins a prompt: with the open files, then the request."""
IDE_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)
"""The last such heading is the extension's: a selection in an open file may have one too."""
_IMAGE_TAG = re.compile(r"\s*</?image\b[^>]*>\s*")
"""What the client writes around an image that the user attached."""


def _heard(content: Any) -> Iterator[Piece]:
    """What a message under the user's role holds: words, notes, images."""
    for block in [{"text": content}] if isinstance(content, str) else mappings(content):
        text = block.get("text")
        if not isinstance(text, str):
            yield from filter(None, [pieces.media_of(block)])
        elif _IMAGE_TAG.fullmatch(text):
            yield Note(kind="injected", text=text)
        elif text.lstrip().startswith(IDE_OPENING):
            *_, request = (None, *IDE_REQUEST.finditer(text))
            end = request.start() if request else len(text)
            yield Note(kind="environment", text=text[:end].rstrip())
            yield from pieces.heard(text[request.end() :].strip() if request else "")
        elif text.strip():
            yield from said_by_user(text)


def _call_of(payload: Record, line: Line) -> ToolCall:
    """The call an item makes; one without an id gets one from its place in the file."""
    kind, space = str(payload.get("type")), string(payload.get("namespace"))
    call_id = string(payload.get("call_id")) or string(payload.get("id")) or f"line-{line.number}"
    # The tools of a server stand behind its name; the client's own groups say nothing.
    tool = (space if space.endswith("__") else "") + string(payload.get("name"))
    if kind == "function_call":
        return pieces.call(call_id, tool, payload.get("arguments"))
    if kind == "custom_tool_call":
        return pieces.call(call_id, tool, {"input": payload.get("input")})
    if kind == "tool_search_call":
        return pieces.call(call_id, "tool_search", payload.get("arguments"))
    action = mapping(payload.get("action"))
    parameters = {key: value for key, value in action.items() if key != "type"}
    if prompt := string(payload.get("revised_prompt")):  # of an image that was generated
        parameters = {"prompt": prompt}
    return pieces.call(call_id, kind.removesuffix("_call"), parameters)


def _result_inside(payload: Record, call: ToolCall) -> ToolResult:
    """The result of a call that the provider ran itself and that no output item follows."""
    image = string(payload.get("result"))
    media = [Media(kind="image", mime="image/png", data=image)] if image else []
    failed = payload.get("status") in ("failed", "incomplete")
    return pieces.result(call.id, "", failed=failed, media=media)


class _Item(NamedTuple):
    line: Line
    piece: Piece
    time: Any


class _Answer:
    """One answer of the model, held until something else comes."""

    def __init__(self) -> None:
        self.items: list[_Item] = []
        self.results: list[tuple[Line, ToolResult]] = []
        """Of calls that were carried out inside it."""
        self.reasoning: list[_Item] = []
        """Readable reasoning told by events; items may repeat it."""
        self.usage: Usage | None = None
        self._total: Any = None
        """Tokens of the whole session, as counted last."""

    def counted(self, info: Any) -> None:
        """A token count; clients repeat the last one whenever a rate limit changes."""
        total = mapping(info).get("total_token_usage")
        counts = mapping(mapping(info).get("last_token_usage"))
        if counts and (total is None or total != self._total):
            self._total = total
            names = ("input_tokens", "output_tokens", "cached_input_tokens")
            self.usage = pieces.usage_in(counts, *names, within=True) or self.usage

    def take_summary(self, message: str) -> Usage | None:
        """Codex writes what its summariser says as an answer, and then again as the compaction:
        take it out of the answer; what it took, where nothing else was said."""
        last = self.items[-1].piece if self.items else None
        said = last.text.strip() if isinstance(last, Text) else ""
        if not said or not message.strip().endswith(said):
            return None
        self.items.pop()
        if self.items or self.results:
            return None
        usage, self.usage = self.usage, None
        return usage

    def taken(self) -> tuple[list[_Item], list[tuple[Line, ToolResult]], Usage | None]:
        """All of it. A count whose items have not come waits."""
        items, results, usage = self._with_reasoning(), self.results, self.usage
        self.items, self.reasoning, self.results = [], [], []
        self.usage = None if items else usage
        return items, results, usage

    def _with_reasoning(self) -> list[_Item]:
        """The items, with reasoning that only events told: in a sealed item, or before all."""
        thoughts = [item.piece for item in self.items if isinstance(item.piece, Thinking)]
        known = "\n".join(thought.text for thought in thoughts)
        missing = [item for item in self.reasoning if item.piece.text not in known]  # type: ignore[union-attr]
        sealed = next((thought for thought in thoughts if not thought.text), None)
        if not missing or sealed is None:
            return [*missing, *self.items]
        text = "\n\n".join(item.piece.text for item in missing)  # type: ignore[union-attr]
        readable = replace(sealed, text=text)
        return [
            item._replace(piece=readable) if item.piece is sealed else item for item in self.items
        ]


# Rollouts.

SPAWN = "spawn_agent"
DAY = timedelta(days=1)
_TIME_DIGITS = 12
"""Digits of an id that say when it was made, in milliseconds."""
REQUESTS_KEPT = 4_096
"""The user's requests whose place is remembered; rolling back goes a few of them at most."""


class _Rollout(SessionReader):
    """A sub-agent has a rollout of its own, which the call that spawned it names."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._answer = _Answer()
        self._outcomes: dict[str, _Outcome] = {}
        """Of calls whose output has not come."""
        self._requests: deque[str] = deque(maxlen=REQUESTS_KEPT)
        """Places before the user's requests, oldest first."""
        self._interrupted = False
        """An interruption was noted last; the client tells of it by an event and by a message."""
        self._started = False

    def take(self, line: Line, record: Record) -> None:
        kind, payload, time = record.get("type"), record.get("payload"), record.get("timestamp")
        if kind not in TYPES:
            self.unknown(kind)
        elif not isinstance(payload, dict):
            self.log.broken("shape", line, f"a {kind} record without a payload")
        elif kind == "response_item":
            self._item(line, payload, time)
        elif kind == "event_msg":
            self._event(line, payload, time)
        elif kind == "session_meta":
            self._session(line, payload)
        elif kind == "turn_context":
            self.close()
            sandbox = mapping(payload.get("sandbox_policy"))
            mode = payload.get("approval_policy") or sandbox.get("mode") or sandbox.get("type")
            self.facts(root=payload.get("cwd"), model=payload.get("model"), mode=mode)
        else:
            summary = string(payload.get("message"))
            usage = self._answer.take_summary(summary)
            self.close()
            self.main.compacted(line, by="codex", summary=summary, usage=usage)

    def close(self) -> None:
        """The answer is complete: what comes now is not part of it."""
        items, results, usage = self._answer.taken()
        for item in items:
            about: Record = {"model": self.log.latest("model"), "usage": usage, "joins": True}
            self.answer(item.line, [item.piece], time=item.time, **about)
        for line, result in results:
            self.main.results(line, [result])

    def _say(self, line: Line, said: Iterable[Piece], time: Any) -> None:
        self._answer.items += [_Item(line, piece, time) for piece in said]

    def _item(self, line: Line, payload: Record, time: Any) -> None:
        kind = payload.get("type")
        self.check(line, kind, payload.get("content"), payload.get("summary"))
        self._interrupted = self._interrupted and kind == "message"
        if kind == "message":
            self._message(line, payload, time)
        elif kind == "reasoning":
            self._say(line, pieces.reasoning(payload), time)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call"):
            self._say(line, [_call_of(payload, line)], time)
        elif kind in ("web_search_call", "image_generation_call"):
            call = _call_of(payload, line)
            self._say(line, [call], time)
            self._answer.results.append((line, _result_inside(payload, call)))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._returned(line, payload)
        elif kind == "tool_search_output":
            self.close()
            tools, failed = payload.get("tools"), payload.get("status") == "failed"
            found = pieces.as_json(tools) if isinstance(tools, list) else ""
            self.main.results(line, [pieces.result(payload.get("call_id"), found, failed=failed)])
        elif kind != "ghost_snapshot":
            self.unknown("response_item", kind)

    def _returned(self, line: Line, payload: Record) -> None:
        self.close()
        call_id = string(payload.get("call_id"))
        call = self.main.call(call_id)
        result = _result_of(payload, call, self._outcomes.pop(call_id, _Outcome()))
        if call is not None and call.verb == "delegate":
            self._link(call_id, pieces.object_in(result.output).get("agent_id"))
        self.main.results(line, [result])

    def _link(self, call: Any, agent: Any) -> None:
        if string(agent) and string(call):
            self.log.links.told(agent, call)

    def _message(self, line: Line, payload: Record, time: Any) -> None:
        role, content = payload.get("role"), payload.get("content")
        if role == "assistant":
            self._say(line, pieces.texts(content), time)
            self._interrupted = False
        elif role == "user":
            self._heard(line, list(_heard(content)), time)
        elif role in ("developer", "system"):
            self.close()
            self.system(line, content)
        else:
            self.unknown("message", role)

    def _heard(self, line: Line, said: list[Piece], time: Any) -> None:
        interruption = any(isinstance(p, Note) and p.kind == "interruption" for p in said)
        if not said or (interruption and self._interrupted):
            return
        self.close()
        if any(isinstance(piece, Text) for piece in said):
            self._requests.append(f"line {line.number}")
            self.remember(self._requests[-1])
        self.user(line, said, time=time)
        self._interrupted = interruption

    def _event(self, line: Line, payload: Record, time: Any) -> None:
        kind = payload.get("type")
        if kind in ("agent_reasoning", "agent_reasoning_raw_content"):
            if (text := string(payload.get("text"))).strip():
                self._answer.reasoning.append(_Item(line, Thinking(text=text), time))
        elif kind == "token_count":
            self._answer.counted(payload.get("info"))
        elif kind in ("patch_apply_end", "exec_command_end", "mcp_tool_call_end"):
            self._outcomes[string(payload.get("call_id"))] = _outcome_of(payload)
        else:
            self._client_event(line, kind, payload, time)

    def _client_event(self, line: Line, kind: Any, payload: Record, time: Any) -> None:
        if kind == "turn_aborted":
            text = string(payload.get("reason")) or "aborted"
            self._heard(line, [Note(kind="interruption", text=text)], time)
        elif kind == "thread_rolled_back":
            self._roll_back(maybe_whole(payload.get("num_turns")) or 0)
        elif kind == "thread_name_updated":
            self.facts(title=payload.get("thread_name"))
        elif kind == "collab_agent_spawn_end":
            self._link(payload.get("call_id"), payload.get("new_thread_id"))
        elif kind == "item_completed":
            item = mapping(payload.get("item"))
            threads = item.get("receiver_thread_ids")
            if item.get("tool") == SPAWN and isinstance(threads, list) and threads:
                self._link(item.get("id"), threads[0])
        elif kind in ("error", "stream_error"):
            if text := string(payload.get("message")):
                self._heard(line, [Note(kind="failure", text=text)], time)
        elif kind not in KNOWN_EVENTS:
            self.unknown("event_msg", kind)

    def _roll_back(self, requests: int) -> None:
        """The user took back their last requests and all that came of them."""
        if requests < 1 or not self._requests:
            return
        self.close()
        for _ in range(min(requests, len(self._requests))):
            place = self._requests.pop()
        self.go_back(place)

    def _session(self, line: Line, payload: Record) -> None:
        """Who and where; a forked session repeats the record of the one it comes from."""
        if self._started:
            return
        self._started = True
        spawned = "subagent" in mapping(payload.get("source"))
        if spawned or payload.get("thread_source") == "subagent":
            self.main.agent = string(payload.get("id"))
        version = string(payload.get("cli_version"))
        self.facts(
            id=payload.get("id"),
            root=payload.get("cwd"),
            branch=mapping(payload.get("git")).get("branch"),
            client=version and f"codex {version}",
        )
        self.system(line, mapping(payload.get("base_instructions")).get("text"))
        self.note(line, "instructions", payload.get("instructions"))


class _Codex(LinesFormat):
    name, reader = "codex", _Rollout

    def beside(self, stem: str, log: Log) -> Iterator[str]:
        """Where the rollouts of sub-agents may lie: in the folder of their session, or in that of
        the day on which they were spawned, which is told in the time of the machine."""
        for agent in log.delegated_by:
            name = f"rollout-*-{escape(agent)}.jsonl"
            yield name
            digits = agent.replace("-", "")[:_TIME_DIGITS]
            try:
                made = datetime.fromtimestamp(int(digits, 16) / 1_000, UTC)
            except (ValueError, OverflowError, OSError):
                continue
            for day in (made - DAY, made, made + DAY):
                yield f"../../../{day:%Y/%m/%d}/{name}"

    def sniff(self, head: FileHead) -> int:
        return 3 if any(map(self.known, head.records)) else 0

    def grows(self, head: FileHead) -> bool:
        return any(map(self.known, head.lines))

    def known(self, record: Record) -> bool:
        return record.get("type") in TYPES and isinstance(record.get("payload"), dict)


FORMAT = _Codex()
