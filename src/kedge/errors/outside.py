"""What is outside did not do its part: a model, or where the output goes."""

from __future__ import annotations

from kedge.errors.roots import KedgeError


class ModelFailed(KedgeError):
    def __init__(
        self,
        name: str,
        why: str,
        *,
        next_step: str,
        kind: str = "failed",
        wait: float | None = None,
    ) -> None:
        """`kind` is one of `kedge.model.Fallback`; `wait` how many seconds the provider asks for
        before the next try."""
        self.name, self.why, self.next_step = name, why, next_step
        self.kind, self.wait = kind, wait
        super().__init__(f"the model {name!r} gave no reply: {why}; {next_step}")

    @property
    def passes(self) -> bool:
        """Whether it may work a little later."""
        return self.kind in ("rate limited", "server error", "timed out", "disconnected")


class OutputUnwritable(KedgeError):
    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"cannot write the output: {why}; check where it goes")
