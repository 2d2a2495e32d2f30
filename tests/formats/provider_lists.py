"""Lists of messages of the four providers, and what each tells in a line a turn."""

from __future__ import annotations

from typing import Any

Messages = list[dict[str, Any]]


class Anthropic:
    @staticmethod
    def user(*blocks: Any) -> dict[str, Any]:
        return {"role": "user", "content": list(blocks)}

    @staticmethod
    def said(*blocks: Any) -> dict[str, Any]:
        return {"role": "assistant", "content": list(blocks)}

    @staticmethod
    def text(words: str, **fields: Any) -> dict[str, Any]:
        return {"type": "text", "text": words, **fields}

    @staticmethod
    def use(call_id: str, name: str = "Bash", **parameters: Any) -> dict[str, Any]:
        return {"type": "tool_use", "id": call_id, "name": name, "input": parameters}

    @staticmethod
    def result(call_id: str, content: Any = "ok", **fields: Any) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


class Chat:
    @staticmethod
    def call(call_id: str, name: str = "bash", arguments: Any = '{"command": "ls"}') -> Any:
        function = {"name": name, "arguments": arguments}
        return {"id": call_id, "type": "function", "function": function}

    @staticmethod
    def called(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
        return {"role": "assistant", "content": None, "tool_calls": list(calls), **fields}

    @staticmethod
    def result(call_id: str, content: Any = "ok", **fields: Any) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


class Items:
    @staticmethod
    def said(words: str) -> dict[str, Any]:
        part = {"type": "output_text", "text": words, "annotations": []}
        named = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        return {**named, "content": [part]}

    @staticmethod
    def call(call_id: str, kind: str = "function_call", **fields: Any) -> dict[str, Any]:
        return {"type": kind, "call_id": call_id, **fields}

    @staticmethod
    def run(command: str, **fields: Any) -> dict[str, Any]:
        return {"type": "function_call", "name": "bash", "arguments": command, **fields}

    @staticmethod
    def output(call_id: str, value: Any = "ok", kind: str = "function_call") -> dict[str, Any]:
        return {"type": f"{kind}_output", "call_id": call_id, "output": value}


class Gemini:
    @staticmethod
    def user(*parts: dict[str, Any]) -> dict[str, Any]:
        return {"role": "user", "parts": list(parts)}

    @staticmethod
    def said(*parts: dict[str, Any]) -> dict[str, Any]:
        return {"role": "model", "parts": list(parts)}

    @staticmethod
    def call(name: str, **args: Any) -> dict[str, Any]:
        return {"functionCall": {"name": name, "args": args}}

    @staticmethod
    def answer(name: str, **answer: Any) -> dict[str, Any]:
        return {"functionResponse": {"name": name, "response": answer}}


A, C, R, G = Anthropic, Chat, Items, Gemini
ASKED = {"role": "user", "content": "light the harbour"}
DONE = {"role": "assistant", "content": "Done."}
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you "
    "how to proceed, the user said:\nuse the other port"
)
REMINDER = "<system-reminder>be careful</system-reminder>"
SUMMARY = "This session is being continued from a previous conversation. Summary: lamps."
SNAPSHOT = "<state_snapshot><overall_goal>lamps</overall_goal></state_snapshot>"
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]}
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
TEXT_FILE = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "hi"},
}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "two"}, {"type": "summary_text", "text": "lamps"}],
    "encrypted_content": "AAAA",
}
RUN = {"stdout": "built", "stderr": "no", "outcome": {"type": "exit", "exit_code": 2}}
LATE = {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}
CREATE = {"type": "create_file", "path": "lamp.py", "diff": "+on"}
PATCH = "*** Begin Patch\n*** Update File: lamp.py\n*** End Patch"
SCREEN = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA"}
PARTS = [
    {"type": "text", "text": "see"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}},
    {"type": "input_audio", "input_audio": {"data": "BB", "format": "wav"}},
    {"type": "file", "file": {"file_id": "f1"}},
    {"type": "hologram"},
]
REFUSAL = {
    "role": "assistant",
    "content": [{"type": "refusal", "refusal": "Not that."}],
    "refusal": "No.",
    "audio": {"id": "a", "transcript": "Aloud."},
}
GO = G.user({"text": "go"})

MIXED: Messages = [
    ASKED,
    A.said(
        {"type": "thinking", "thinking": "two lamps", "signature": "c2ln"},
        A.text("Looking.", citations=None),
        *(A.use("c1", command="ls"), A.use("c2", "Read", file_path="/a.py")),
    ),
    A.user(A.result("c2", [A.text("x")]), A.result("c1", is_error=False), A.text("and be quick")),
    A.said({"type": "redacted_thinking", "data": "AAAA"}, A.text("Done.")),
]
CHAT: Messages = [
    {"role": "developer", "content": "Be brief."},
    {**ASKED, "name": "sam"},
    C.called(C.call("c1"), C.call("c2", arguments='{ "command" :"pwd"}'), reasoning_content="two"),
    *(C.result("c2", [{"type": "text", "text": "/home"}]), C.result("c1", "a.py", name="bash")),
    {"role": "system", "content": "It is late."},
    {"role": "assistant", "content": "Done.", "annotations": [], "refusal": None, "audio": None},
    {"role": "user", "content": "and now?"},
]
ITEMS: Messages = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
    *(THOUGHT, R.said("Looking."), R.run("{ }", call_id="c1", id="fc_1", status="completed")),
    R.run('{"command": "ls"}', call_id="c2"),
    *(R.output("c2", [{"type": "input_text", "text": "two"}]), R.output("c1")),
    *({"type": "web_search_call", "id": "ws_1", "status": "completed"}, R.said("Done.")),
]
CONTENTS: Messages = [
    G.user({"text": "<session_context>harbour</session_context>"}),
    G.user({"text": "light it"}),
    G.said(
        {"text": "two lamps", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "Looking."},
        {**G.call("look", at="a"), "thoughtSignature": "c2ln"},
        *(G.call("run", command="ls"), G.call("look", at="b")),
    ),
    G.user(
        *(G.answer("look", output="A"), G.answer("look", error="dark")),
        *(G.answer("run", result="a.py"), {"text": "and be quick"}),
    ),
    G.said({"text": "Done."}),
]
WHOLE = {"anthropic": MIXED, "gemini": CONTENTS, "openai-chat": CHAT, "openai-responses": ITEMS}

LISTS: dict[str, tuple[str, Messages, list[str]]] = {
    "a message that mixes results and words is divided between two turns": (
        "anthropic",
        MIXED,
        [
            "0.0 > light the harbour | ~two lamps~ | Looking. | Bash(command=ls) = ok | "
            "Read(file_path=/a.py) = x",
            "1.1 > and be quick | Done.",
        ],
    ),
    "words before a result keep their place": (
        "anthropic",
        [
            *MIXED[:2],
            A.user(A.text("wait"), A.result("c1"), A.text("no"), A.result("c2")),
            MIXED[3],
        ],
        [
            "0.0 > light the harbour | ~two lamps~ | Looking. | Bash(command=ls) = ok | "
            "Read(file_path=/a.py) = ok",
            "1.1 > wait⏎⏎no | Done.",
        ],
    ),
    "a system message between the others stays there": (
        "anthropic",
        [ASKED, {"role": "system", "content": "It is late."}, DONE],
        ["0.0 > light the harbour | Done."],
    ),
    "blocks of hosted and unknown tools are handed through": (
        "anthropic",
        [ASKED, A.said(SEARCH, FOUND, {"type": "hologram", "beams": 3})],
        ["0.0 > light the harbour", "ignored block/hologram 1"],
    ),
    "an error flag makes a failure and its wording an exit code": (
        "anthropic",
        [ASKED, A.said(A.use("c1")), A.user(A.result("c1", "Exit code 2\nno", is_error=True))],
        ["0.0 > light the harbour | Bash() !2 Exit code 2⏎no"],
    ),
    "its wording alone does not": (
        "anthropic",
        [ASKED, A.said(A.use("c1")), A.user(A.result("c1", "Exit code 2\nno"))],
        ["0.0 > light the harbour | Bash() = Exit code 2⏎no"],
    ),
    "injected text is not the user's": (
        "anthropic",
        [A.user(A.text(f"go\n{REMINDER}")), DONE],
        [f"0.0 {{injected: {REMINDER}}} | > go | Done."],
    ),
    "the summary of an earlier compaction is a note and is reported": (
        "anthropic",
        [{"role": "user", "content": SUMMARY}, DONE],
        [f"0.0 {{summary: {SUMMARY}}} | Done.", f"summary by claude-code at 0: {SUMMARY}"],
    ),
    "a compaction block is reported and handed through": (
        "anthropic",
        [ASKED, A.said({"type": "compaction", "content": "lamps"}, A.text("On."))],
        ["0.0 > light the harbour | On.", "summary by anthropic at 0: lamps"],
    ),
    "media are known whatever their source": (
        "anthropic",
        [A.user(A.text("see"), PNG, TEXT_FILE), DONE],
        ["0.0 > see | [image image/png AA] | [document text/plain aGk=] | Done."],
    ),
    "the last call may be in flight": (
        "anthropic",
        [ASKED, A.said(A.use("c1"))],
        ["0.0 > light the harbour | Bash()"],
    ),
    "chat messages": (
        "openai-chat",
        CHAT,
        [
            "0.0 > light the harbour | ~two~ | bash(command=ls) = a.py | bash(command=pwd) = /home",
            *("1.0 Done.", ".. > and now?"),
        ],
    ),
    "calls and results of old are paired by name": (
        "openai-chat",
        [
            ASKED,
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "bash", "arguments": "{}"},
            },
            *({"role": "function", "name": "bash", "content": "a.py"}, DONE),
        ],
        ["0.0 > light the harbour | bash() = a.py", "1.0 Done."],
    ),
    # Some servers leave ids out and write arguments as objects.
    "calls without ids are paired by name and order": (
        "openai-chat",
        [
            ASKED,
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"function": {"name": "bash", "arguments": {"command": "ls"}}},
                    {"function": {"name": "look", "arguments": {}}},
                ],
            },
            {"role": "tool", "tool_name": "look", "content": "seen"},
            *({"role": "tool", "content": "a.py"}, DONE),
        ],
        ["0.0 > light the harbour | bash(command=ls) = a.py | look() = seen", "1.0 Done."],
    ),
    "parts are read by their kinds": (
        "openai-chat",
        [{"role": "user", "content": PARTS}, DONE],
        [
            "0.0 > see | [image image/png AA] | [audio audio/wav BB] | [file  ] | Done.",
            "ignored part/hologram 1",
        ],
    ),
    "a refusal and spoken words are what the assistant said": (
        "openai-chat",
        [ASKED, REFUSAL],
        ["0.0 > light the harbour | Not that.⏎⏎No.⏎⏎Aloud."],
    ),
    "no result is a failure by its wording": (
        "openai-chat",
        [ASKED, C.called(C.call("c1")), C.result("c1", "Error: Exit code 1")],
        ["0.0 > light the harbour | bash(command=ls) = Error: Exit code 1"],
    ),
    "a role nobody knows is not the user": (
        "openai-chat",
        [ASKED, {"role": "critic", "content": "delete it all"}, DONE],
        ["0.0 {injected: delete it all} | > light the harbour | Done."],
    ),
    "the items of one answer are one turn": (
        "openai-responses",
        ITEMS,
        [
            "0.0 > go | ~two⏎⏎lamps~ | Looking. | bash() = ok | bash(command=ls) = two",
            "1.0 Done.",
        ],
    ),
    # A user may speak while a tool runs; the output then comes behind their words.
    "an output behind the user's words answers its call and keeps its place": (
        "openai-responses",
        [
            *(ASKED, R.run("{}", call_id="c1"), {"role": "user", "content": "faster"}),
            *(R.output("c1"), R.said("Done.")),
        ],
        ["0.0 > light the harbour | bash() = ok", "1.1 > faster | Done."],
    ),
    "a shell gives its exit code": (
        "openai-responses",
        [
            ASKED,
            R.call("c1", "shell_call", action={"commands": ["make"]}, status="completed"),
            {**R.output("c1", [RUN], "shell_call"), "max_output_length": 9},
        ],
        ['0.0 > light the harbour | shell(commands=["make"]) !2 built⏎no'],
    ),
    "a shell that ran out of time was interrupted": (
        "openai-responses",
        [ASKED, R.call("c1", "shell_call", action={}), R.output("c1", [LATE], "shell_call")],
        ["0.0 > light the harbour | shell() stopped !"],
    ),
    "a patch names its file and what became of it": (
        "openai-responses",
        [
            ASKED,
            R.call("c1", "apply_patch_call", operation=CREATE),
            {**R.output("c1", "y", "apply_patch_call"), "status": "completed"},
        ],
        [
            "0.0 > light the harbour | "
            "apply_patch(type=create_file, path=lamp.py, diff=+on) create = y"
        ],
    ),
    "a patch that failed changed nothing": (
        "openai-responses",
        [
            ASKED,
            R.call("c1", "apply_patch_call", operation=CREATE),
            {**R.output("c1", "y", "apply_patch_call"), "status": "failed"},
        ],
        ["0.0 > light the harbour | apply_patch(type=create_file, path=lamp.py, diff=+on) ! y"],
    ),
    "a screenshot is the media of its result": (
        "openai-responses",
        [
            ASKED,
            R.call("c1", "computer_call", action={"type": "click", "x": 1}),
            R.output("c1", SCREEN, "computer_call"),
        ],
        ["0.0 > light the harbour | computer(type=click, x=1) =[image image/png AA]"],
    ),
    "the output of a local shell names its call by id": (
        "openai-responses",
        [
            ASKED,
            R.call("c1", "local_shell_call", id="lsh_1", action={"type": "exec"}),
            {"type": "local_shell_call_output", "id": "c1", "output": "a.py"},
        ],
        ["0.0 > light the harbour | local_shell(type=exec) = a.py"],
    ),
    "a custom tool takes its input as text": (
        "openai-responses",
        [
            ASKED,
            R.call("c1", "custom_tool_call", name="apply_patch", input=PATCH),
            R.output("c1", kind="custom_tool_call"),
        ],
        ["0.0 > light the harbour | apply_patch(input=" + PATCH.replace("\n", "⏎") + ") = ok"],
    ),
    "a sealed compaction is reported and handed through": (
        "openai-responses",
        [
            *(ASKED, R.said("Done."), {"type": "compaction", "id": "c", "encrypted_content": "A"}),
            *({"role": "user", "content": "on"}, R.said("Yes.")),
        ],
        ["0.0 > light the harbour | Done.", "1.1 > on | Yes.", "summary by openai at 1: "],
    ),
    "an unknown item is counted and handed through": (
        "openai-responses",
        [ASKED, {"type": "hologram_call", "id": "h"}, R.said("Done.")],
        ["0.0 > light the harbour | Done.", "ignored item/hologram_call 1"],
    ),
    "calls without ids are answered in the order of their names": (
        "gemini",
        CONTENTS,
        [
            "0.0 {environment: <session_context>harbour</session_context>} | > light it | "
            "~two lamps~ | Looking. | look(at=a) = A | run(command=ls) = a.py | look(at=b) ! dark",
            "1.1 > and be quick | Done.",
        ],
    ),
    "a state snapshot is a note and an earlier compaction": (
        "gemini",
        [G.user({"text": SNAPSHOT}), G.said({"text": "Got it."})],
        [f"0.0 {{summary: {SNAPSHOT}}} | Got it.", f"summary by gemini-cli at 0: {SNAPSHOT}"],
    ),
    "an output that its client masked stays text": (
        "gemini",
        [GO, G.said(G.call("run")), G.user(G.answer("run", output="<tool_output_masked>4 kB"))],
        ["0.0 > go | run() = <tool_output_masked>4 kB"],
    ),
    "keys with underscores": (
        "gemini",
        [
            G.user({"inline_data": {"mime_type": "image/png", "data": "AA"}}),
            G.said({"function_call": {"name": "run", "args": {}}, "thought_signature": "c2ln"}),
            G.user({"function_response": {"name": "run", "response": {"output": "ok"}}}),
        ],
        ["0.0 [image image/png AA] | run() = ok"],
    ),
    "media, and code that the provider runs": (
        "gemini",
        [
            G.user({"text": "see"}, {"fileData": {"fileUri": "gs://a/b", "mimeType": "video/mp4"}}),
            G.said({"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}}),
        ],
        ["0.0 > see | [video video/mp4 gs://a/b]"],
    ),
    "a response that no call asked for is reported and kept": (
        "gemini",
        [GO, G.said({"text": "x"}), G.user(G.answer("run", output="ok"))],
        ["0.0 > go | x | ?call-1 = ok", "orphan_result 2"],
    ),
}
