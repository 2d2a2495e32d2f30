"""Calls that do something beside files: the shell, todos, sub-agents, the web, the user."""

from __future__ import annotations

import json
from typing import Any

from recorders.claude_code.journal import CHARACTERS_PER_TOKEN, Record
from recorders.claude_code.tools import Call, FileTools

TODOS_WRITTEN = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track"
    " your progress. Please proceed with the current tasks if applicable"
)
STATES = {" ": "pending", ">": "in_progress", "x": "completed"}
"""How a story marks the state of a todo."""
LONG_SECONDS = 7.7
"""Commands that run longer report progress."""
HELPER_MODEL = "claude-haiku-4-5-20251001"


class ActTools(FileTools):
    _todos: list[Record]
    _tasks: list[str]
    _task_states: dict[str, str]

    def bash(
        self, command: str, out: str = "", about: str = "", *, code: int = 0, seconds: float = 0.4
    ) -> Call:
        given = {"command": command, **({"description": about} if about else {})}
        made = self.call("Bash", given, out)
        made.milliseconds = int(seconds * 1000)
        if code:
            self._wrong(made, f"Exit code {code}\n{out}")
        else:
            made.extra = {"stdout": out, "stderr": "", "interrupted": False, "isImage": False}
            made.is_error = False
        if seconds > LONG_SECONDS:
            made.progress = _ticks(out, seconds)
        return made

    def background(self, command: str, about: str, task: str, output_file: str) -> Call:
        """A command that goes on while the agent does something else."""
        said = (
            f"Command running in background with ID: {task}. Output is being written to:"
            f" {output_file}"
        )
        made = self.bash(command, "", about)
        made.input["run_in_background"] = True
        made.output = said
        made.extra = {**made.extra, "backgroundTaskId": task}
        return made

    def todo(self, *items: str) -> Call:
        """The whole list; each item as `x done`, `> under way` or `  open`."""
        before = self._todos
        self._todos = [
            {"content": item[2:], "status": STATES[item[0]], "activeForm": _doing(item[2:])}
            for item in items
        ]
        kept = {"oldTodos": before, "newTodos": self._todos}
        return self.call("TodoWrite", {"todos": self._todos}, TODOS_WRITTEN, kept)

    def task_create(self, subject: str, description: str) -> Call:
        self._tasks.append(subject)
        number = str(len(self._tasks))
        self._task_states[number] = "pending"
        return self.call(
            "TaskCreate",
            {"subject": subject, "description": description, "activeForm": _doing(subject)},
            f"Task #{number} created successfully: {subject}",
            {"task": {"id": number, "subject": subject}},
        )

    def task_update(self, number: str, status: str) -> Call:
        before, self._task_states[number] = self._task_states[number], status
        change = {"from": before, "to": status}
        kept = {"success": True, "taskId": number, "updatedFields": ["status"]}
        return self.call(
            "TaskUpdate",
            {"taskId": number, "status": status},
            f"Updated task #{number} status",
            kept | {"statusChange": change},
        )

    def task_list(self) -> Call:
        rows = [
            {"id": str(number), "subject": subject, "status": self._task_states[str(number)]}
            for number, subject in enumerate(self._tasks, start=1)
        ]
        said = "\n".join(f"#{row['id']} [{row['status']}] {row['subject']}" for row in rows)
        return self.call("TaskList", {}, said, {"tasks": [row | {"blockedBy": []} for row in rows]})

    def ask(self, *questions: tuple[str, str, list[tuple[str, str]], str]) -> Call:
        """Questions to the user: header, question, options with descriptions, the answer."""
        asked = [
            {
                "question": question,
                "header": header,
                "options": [{"label": name, "description": about} for name, about in options],
                "multiSelect": False,
            }
            for header, question, options, _ in questions
        ]
        answers = {question: answer for _, question, _, answer in questions}
        told = ", ".join(f'"{question}"="{answer}"' for question, answer in answers.items())
        said = (
            f"User has answered your questions: {told}. You can now continue with the user's"
            " answers in mind."
        )
        made = self.call("AskUserQuestion", {"questions": asked}, said)
        made.extra = {"questions": asked, "answers": answers}
        made.milliseconds = 41_000
        return made

    def web_search(self, query: str, links: list[tuple[str, str]], found: str) -> Call:
        listed = [{"title": title, "url": url} for title, url in links]
        said = f'Web search results for query: "{query}"\n\nLinks: {json.dumps(listed)}\n\n{found}'
        inner = self.ids.token("srvtoolu_01")
        kept = {"tool_use_id": inner, "content": listed}
        made = self.call("WebSearch", {"query": query}, said)
        made.extra = {"query": query, "results": [kept, found], "durationSeconds": 8.25}
        made.milliseconds = 8_250
        update = {"type": "query_update", "query": query}
        received = {"type": "search_results_received", "resultCount": len(links), "query": query}
        made.progress = [(update, "search-progress-1"), (received, inner)]
        return made

    def delegate(self, about: str, prompt: str, steps: list[Call], answer: str) -> Call:
        """A sub-agent, whose own calls stand in progress records."""
        agent = "a" + self.ids.hex(6)
        made = self.call(
            "Task", {"description": about, "prompt": prompt, "subagent_type": "Explore"}
        )
        made.milliseconds = 2_400
        worked = sum(len(step.heard()) for step in steps) // CHARACTERS_PER_TOKEN + 16_000
        duration = 9_000 + 3_100 * len(steps)
        closing = (
            f"agentId: {agent} (for resuming to continue this agent's work if needed)\n<usage>"
            f"total_tokens: {worked}\ntool_uses: {len(steps)}\nduration_ms: {duration}</usage>"
        )
        made.output = [{"type": "text", "text": answer}, {"type": "text", "text": closing}]
        made.extra = {
            "status": "completed",
            "prompt": prompt,
            "agentId": agent,
            "content": [{"type": "text", "text": answer}],
            "totalDurationMs": duration,
            "totalTokens": worked,
            "totalToolUseCount": len(steps),
        }
        made.progress = self._worked(agent, prompt, steps)
        return made

    def _worked(self, agent: str, prompt: str, steps: list[Call]) -> list[tuple[Record, str]]:
        """What a sub-agent was told, said and saw, one progress record each."""
        own = self.ids.token("agent_msg_01")
        messages = [self._told({"type": "text", "text": prompt})]
        for step in steps:
            messages += [self._helper_said(step), self._told(_result(step))]
        shared = {"normalizedMessages": [], "type": "agent_progress", "prompt": prompt}
        return [({"message": message, **shared, "agentId": agent}, own) for message in messages]

    def _told(self, block: Record) -> Record:
        message = {"role": "user", "content": [block]}
        return {"type": "user", "message": message, "uuid": self.ids.uuid()}

    def _helper_said(self, step: Call) -> Record:
        use = {"type": "tool_use", "id": step.id, "name": step.tool, "input": step.input}
        message = {
            "model": HELPER_MODEL,
            "id": self.ids.token("msg_01"),
            "type": "message",
            "role": "assistant",
            "content": [use],
            "stop_reason": None,
            "stop_sequence": None,
        }
        request = self.ids.token("req_011C", 20)
        return {
            "type": "assistant",
            "message": message,
            "requestId": request,
            "uuid": self.ids.uuid(),
        }


def _result(step: Call) -> Record:
    block: dict[str, Any] = {"tool_use_id": step.id, "type": "tool_result", "content": step.output}
    return block if step.is_error is None else block | {"is_error": step.is_error}


DOUBLED = ("Run", "Let", "Put", "Set", "Fit")
"""Verbs whose last letter doubles."""


def _doing(subject: str) -> str:
    """The form shown while it is under way."""
    verb, _, rest = subject.partition(" ")
    stem = verb + verb[-1] if verb in DOUBLED else verb.removesuffix("e")
    return f"{stem}ing {rest}"


def _ticks(out: str, seconds: float) -> list[tuple[Record, str]]:
    """What a long command had printed after each few seconds."""
    lines = out.split("\n")
    count = min(4, int(seconds) // 3)
    found: list[tuple[Record, str]] = []
    for tick in range(1, count + 1):
        shown = lines[: len(lines) * tick // (count + 1)]
        data = {
            "type": "bash_progress",
            "output": "\n".join(shown[-5:]),
            "fullOutput": "\n".join(shown),
            "elapsedTimeSeconds": 2 + tick * 3,
            "totalLines": len(shown),
            "timeoutMs": 120_000,
        }
        found.append((data, f"bash-progress-{tick - 1}"))
    return found
