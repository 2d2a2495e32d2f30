"""Compacts the conversation with kedgeline; where that fails, as Hermes does by itself."""

import json
import subprocess

from agent.context_compressor import ContextCompressor

KEDGELINE = ["kedgeline"]
SECONDS = 30
ROOM = 0


class Kedgeline(ContextCompressor):
    """Hermes' own compressor: when it is asked, what it counts and what it does where kedgeline
    gives no answer stay as they are."""

    name = "kedgeline"
    session = ""

    def on_session_start(self, session_id, **more):
        if more.get("boundary_reason") != "compression":  # it goes on under another name
            self.session = session_id
        super().on_session_start(session_id, **more)

    def compress(
        self,
        messages,
        current_tokens=None,
        focus_topic=None,
        force=False,
        memory_context="",
    ):
        asked = {
            "messages": messages,
            "session": self.session or getattr(self, "_session_id", ""),
            "trigger": "manual" if force else "auto",
            "instructions": "\n".join(filter(None, (focus_topic, memory_context))),
            "tokens": current_tokens or 0,
            "room": ROOM,
        }
        try:
            ran = subprocess.run(
                [*KEDGELINE, "host-compact", "hermes"],
                input=json.dumps(asked, default=str).encode(),
                capture_output=True,
                timeout=SECONDS,
                check=True,
            )
            found = json.loads(ran.stdout)["messages"]
            if not found or not all(one["role"] for one in found):
                raise ValueError("no messages")
        except Exception:  # whatever it is, the context must not grow past its window
            return super().compress(
                messages,
                current_tokens=current_tokens,
                focus_topic=focus_topic,
                force=force,
                memory_context=memory_context,
            )
        self.compression_count += 1
        self._ineffective_compression_count = 0
        self._last_compress_aborted = False
        self._last_summary_error = None
        self._last_summary_fallback_used = False
        self._last_compression_made_progress = True
        return found


def register(ctx):
    ctx.register_context_engine(
        Kedgeline(model="", config_context_length=200_000, quiet_mode=True)
    )
