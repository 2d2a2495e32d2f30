"""Google's Agent Development Kit: a plugin, and a summarizer for its own compaction.

    App(name="app", root_agent=agent, plugins=[KedgelinePlugin()])
    EventsCompactionConfig(summarizer=KedgelineSummarizer(), token_threshold=…, …)

The plugin sees the requests of all agents and leaves the events of the session whole. The
summarizer makes the event that ADK puts in the place of a range of events."""

from __future__ import annotations

from typing import Any, Unpack

from kedgeline.adapters.runs import Adapter, AdapterOptions, Runs
from kedgeline.errors import MissingExtra
from kedgeline.pipeline.handoff import summarize
from kedgeline.pipeline.read import read
from kedgeline.pipeline.view import wrapped
from kedgeline.session.loop import Beside
from kedgeline.summary import handoff
from kedgeline.tokens import EXACT

try:
    from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
    from google.adk.events.event import Event
    from google.adk.events.event_actions import EventActions, EventCompaction
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai import types
except ImportError as error:
    raise MissingExtra("the adapter for Google ADK", "google-adk") from error


class KedgelinePlugin(Adapter, BasePlugin):
    def __init__(self, name: str = "kedgeline", **options: Unpack[AdapterOptions]) -> None:
        super().__init__(name=name)
        self._runs = Runs(**options)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        session = callback_context.session
        run = self._runs.of(f"adk-{session.id}-{callback_context.agent_name}")
        llm_request.contents = await run.astep(llm_request.contents, **_known(session, llm_request))


def _known(session: Any, request: Any) -> Beside:
    """The last report counts where it is of this agent's last request."""
    config = request.config
    beside = [
        str(getattr(config, "system_instruction", None) or ""),
        [(name, tool.description) for name, tool in request.tools_dict.items()],
    ]
    return {"beside": beside, "model_name": request.model or ""}


class KedgelineSummarizer(BaseEventsSummarizer):
    """Summarizes without a model. An earlier summary among the events is merged."""

    def __init__(self, *, tokens: int = 8_000) -> None:
        """`tokens` is how long a summary is at the most."""
        self._tokens = tokens

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        contents = [event.content for event in events if event.content and event.content.parts]
        if not contents:
            return None
        summary = summarize(read(contents, format="gemini"))
        text = wrapped(handoff(summary, self._tokens, EXACT.count))
        span = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=types.Content(role="user", parts=[types.Part(text=text)]),
        )
        actions = EventActions(compaction=span)
        return Event(author="user", actions=actions, invocation_id=Event.new_id())
