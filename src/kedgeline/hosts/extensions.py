"""Hosts that run a plugin or an extension of ours: one file each would hold little more than its
imports."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps, loads
from typing import Any

from kedgeline.hosts.shared import (
    BY_NAME,
    HOOK,
    HOOK_SECONDS,
    HOST,
    MCP,
    NAME,
    PACKAGE,
    REPLACE,
    REPLACE_SECONDS,
    SERVER,
    SUMMARY_ROOM,
    Host,
    InstallPlace,
    Launch,
    Message,
    OwnFile,
    Piece,
    SettingsFile,
    Shape,
    as_given,
    blocks_of,
    by_launch,
    in_words,
    json_text,
    manifest,
    server_member,
    text_named,
    texts_of,
)

# OpenCode: TypeScript that calls kedgeline and names its server; skill and commands as files.


class _OpenCode(Host):
    def is_replacing(self, seam: str) -> bool:
        return "REPLACING: string[] = []" not in seam

    def constants(self, place: InstallPlace) -> dict[str, Any]:
        launch, replaces = place.launch, place.replacing is not False
        return {
            "KEDGELINE": launch.argv(HOOK, f"{HOST}{self.name}"),
            "REPLACING": launch.argv(REPLACE, self.name) if replaces else [],
            "SERVER": launch.argv(MCP),
            "ROOM": place.room or 0,
            "MILLISECONDS": HOOK_SECONDS * 1_000,
            "REPLACE_MILLISECONDS": REPLACE_SECONDS * 1_000,
        }


OPENCODE = _OpenCode(
    name="opencode",
    title="OpenCode",
    in_project=".opencode",
    variable="XDG_CONFIG_HOME",
    usual=(".config",),
    below="opencode",
    files=((f"plugins/{NAME}.ts", "opencode.ts"),),
    shape=Shape("openai-chat", list, in_words, SUMMARY_ROOM),
    next="start OpenCode again: it reads plugins when it starts",
)


# pi: TypeScript in its folder of extensions.


def from_pi(messages: Sequence[Message]) -> list[Message]:
    """Blocks in messages, calls among them, results as messages of their own: as messages of
    OpenAI's chat."""
    found: list[Message] = []
    for message in messages:
        text = "\n\n".join(texts_of(message))
        if message.get("role") == "toolResult":
            result = {"role": "tool", "tool_call_id": message.get("toolCallId"), "content": text}
            found.append(result)
            continue
        calls = [
            {
                "id": block.get("id"),
                "type": "function",
                "function": {
                    "name": block.get("name"),
                    "arguments": dumps(block.get("arguments") or {}),
                },
            }
            for block in blocks_of(message)
            if block.get("type") == "toolCall"
        ]
        if message.get("role") == "assistant" and (text or calls):
            called = {"tool_calls": calls} if calls else {}
            found.append({"role": "assistant", "content": text, **called})
        elif text:
            found.append({"role": "user", "content": text})
    return found


def to_pi(found: Sequence[Message], rows: Sequence[Message]) -> dict[str, Any]:
    """Messages of OpenAI's chat as pi's."""

    def fresh(message: Message, alike: Message) -> Message:
        blocks = [{"type": "text", "text": text} for text in texts_of(message)]
        for call in message.get("tool_calls") or ():
            given = loads(call["function"]["arguments"])
            named = {"id": call["id"], "name": call["function"]["name"], "arguments": given}
            blocks.append({"type": "toolCall", **named})
        if message["role"] == "tool":
            called = {"role": "toolResult", "toolCallId": message["tool_call_id"]}
            return {**alike, **called, "content": blocks}
        return {"timestamp": 0, **alike, "role": message["role"], "content": blocks}

    return {"messages": as_given(found, rows, from_pi, fresh)}


PI = Host(
    name="pi",
    advises=False,
    title="pi",
    in_project=".pi",
    variable="PI_CODING_AGENT_DIR",
    usual=(".pi", "agent"),
    files=((f"extensions/{NAME}.ts", "pi.ts"),),
    shape=Shape("openai-chat", from_pi, in_words, SUMMARY_ROOM),
    next="start pi again: it reads extensions when it starts",
)


# OpenClaw: a context engine in its folder of extensions.


OPENCLAW = Host(
    name="openclaw",
    advises=False,
    title="OpenClaw",
    in_project=".openclaw",
    variable="OPENCLAW_STATE_DIR",
    usual=(".openclaw",),
    files=(
        (f"extensions/{NAME}/view.js", "view.js"),
        (f"extensions/{NAME}/index.js", "openclaw.js"),
    ),
    described={
        f"extensions/{NAME}/openclaw.plugin.json": {
            "id": NAME,
            "name": NAME,
            "kind": "context-engine",
            "configSchema": {"type": "object", "additionalProperties": False, "properties": {}},
        },
        f"extensions/{NAME}/package.json": {
            **PACKAGE,
            "openclaw": {"extensions": ["./index.js"]},
        },
    },
    shape=Shape("openai-chat", from_pi, to_pi),
    next=(
        f"run `openclaw config set plugins.slots.contextEngine {NAME}` and `openclaw config set "
        f"plugins.entries.{NAME}.enabled true`, then start its gateway again; `openclaw config "
        "set plugins.slots.contextEngine legacy` switches it off"
    ),
)


# Hermes: a context engine in a folder of its own.


def _as_hermes(found: Sequence[Message], _: Sequence[Message]) -> dict[str, Any]:
    """Messages of the user with one text in the place of several, which Hermes gives back."""

    def plain(message: Message) -> Message:
        if isinstance(message.get("content"), str) or message.get("role") != "user":
            return message
        return {**message, "content": "\n\n".join(texts_of(message))}

    return {"messages": [plain(one) for one in found]}


HERMES = Host(
    name="hermes",
    advises=False,
    title="Hermes",
    in_project=".hermes",
    variable="HERMES_HOME",
    usual=(".hermes",),
    files=(
        (f"plugins/{NAME}/__init__.py", "hermes.txt"),
        (f"plugins/{NAME}/plugin.yaml", "hermes.yaml"),
    ),
    shape=Shape("openai-chat", list, _as_hermes),
    next=(
        f"run `hermes plugins enable {NAME}` and `hermes config set context.engine {NAME}`; "
        "`hermes config set context.engine compressor` switches it off"
    ),
)


# Cline: a plugin that builds the messages of each request. Its conversation is as Anthropic's, but
# for the outputs of calls, which are what each tool makes of them.


def _output(content: Any) -> str:
    if isinstance(content, str):
        return content
    told = (one.get("text") or one.get("result") or one for one in content or ())
    return "\n".join(one if isinstance(one, str) else dumps(one) for one in told)


def from_cline(messages: Sequence[Message]) -> list[Message]:
    """Without what only Cline knows of a message, and without thoughts."""
    found = []
    for message in messages:
        blocks: list[Message] = []
        for block in blocks_of(message):
            kept = {key: block[key] for key in KEPT.get(block.get("type", ""), ()) if key in block}
            if block.get("type") == "tool_result":
                kept["content"] = _output(block.get("content"))
            blocks += [kept] if kept else []
        if blocks:
            found.append({"role": message.get("role"), "content": blocks})
    return found


KEPT = {
    "text": ("type", "text"),
    "tool_use": ("type", "id", "name", "input"),
    "tool_result": ("type", "tool_use_id", "is_error"),
}


def _as_cline(found: Sequence[Message], rows: Sequence[Message]) -> dict[str, Any]:
    def fresh(message: Message, alike: Message) -> Message:
        known = {one["tool_use_id"]: one for one in blocks_of(alike) if "tool_use_id" in one}
        blocks = [{**known.get(one.get("tool_use_id"), {}), **one} for one in blocks_of(message)]
        return {**alike, **message, "content": blocks}

    return {"messages": as_given(found, rows, from_cline, fresh)}


CLINE = Host(
    name="cline",
    advises=False,
    title="Cline",
    in_project=".cline",
    variable="CLINE_DIR",
    usual=(".cline",),
    files=((f"plugins/{NAME}/view.js", "view.js"), (f"plugins/{NAME}/index.js", "cline.js")),
    described={
        f"plugins/{NAME}/package.json": {
            **PACKAGE,
            "cline": {"plugins": [{"paths": ["./index.js"], "capabilities": ["messageBuilders"]}]},
        }
    },
    shape=Shape("anthropic", from_cline, _as_cline),
    next="start Cline again: it reads plugins when it starts",
)


# Gemini CLI: an extension for the user; settings.json and files in a project, which can have no
# extension of its own.

CONTEXT = "KEDGELINE.md"
INSTALLED = ".gemini-extension-install.json"
"""What Gemini CLI puts into extensions that it installed itself."""


class _GeminiCli(Host):
    def pieces(self, place: InstallPlace) -> tuple[Piece, ...]:
        root, launch = self.root(place), place.launch
        hooks = self.hooks(launch)
        if place.project:
            server = server_member(launch.program(MCP))
            settings = SettingsFile(root / "settings.json", hooks=hooks, members=(server,))
            return (settings, *self.own_files(root, place))
        below = root / "extensions" / NAME
        words = by_launch(text_named("context.md"), launch)
        extension = OwnFile(
            below / "gemini-extension.json",
            _extension(launch),
            comment='  "written": "by',  # Gemini CLI reads over keys that it does not know
            ending='",',
            opening="{\n",
            rival=(below / INSTALLED, f"gemini extensions uninstall {NAME}"),
        )
        return (
            extension,
            OwnFile(below / CONTEXT, words, comment="<!--", ending=" -->"),
            SettingsFile(below / "hooks" / "hooks.json", hooks=hooks),
            *self.own_files(below, place),
        )

    def plugin(self) -> dict[str, str]:
        return {
            "gemini-extension.json": _extension(BY_NAME),
            CONTEXT: text_named("context.md"),
            "hooks/hooks.json": json_text({"hooks": self.plugin_hooks()}),
            **super().plugin(),
        }


def _extension(launch: Launch) -> str:
    servers = {"mcpServers": {SERVER: launch.program(MCP)}}
    return json_text({**manifest(), "contextFileName": CONTEXT, **servers})


GEMINI_CLI = _GeminiCli(
    name="gemini-cli",
    title="Gemini CLI",
    in_project=".gemini",
    variable="GEMINI_CLI_HOME",
    below=".gemini",
    # After a compression nothing is called: what is lost is put back with the next prompt, or with
    # the next tool while the agent works on. PreCompress is left alone: it is called, and waited
    # for, before every request, and what it answers reaches no summariser. So is SessionStart: what
    # it answers is forgotten when the session is taken up again, and the transcript that it names
    # is not the one of a session that is taken up again.
    events=("BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"),
    second=1_000,
    labels={"name": NAME},  # `/hooks` shows it
    toml_commands=True,
    next="start Gemini CLI again: it reads hooks and extensions when it starts",
    trust="runs the hooks",
)
