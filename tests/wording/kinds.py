"""Ways in which a model fails, as a server says them, and what each must come to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from kedgeline.model import Fallback, Unfit
from tests.models.server import Breaks, Drips, Fails, Hangs, Line, Says, Sends
from tests.wording import prose
from tests.wording.history import History
from tests.wording.scenes import INJECTED
from tests.wording.truths import TRUTHS, Truth

Lines = Callable[[History, str], Line]
"""What is said to a request about a history."""

TAKEN: tuple[Fallback, ...] = ("",)
SECRET = "ghp_" + "x4Tq" * 9
HUGE = 10_000_000
FINNISH = (
    "Majakan valo vilkkuu sumussa kahdesti.",
    "Työ etenee hyvin ja kokeet onnistuvat.",
    "Seuraavaksi kirjoitetaan ohjekirja loppuun.",
    "Kukaan ei ole vielä kysynyt hinnasta.",
)
PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in</body></html>"


class Variant(NamedTuple):
    lines: Lines
    fallback: tuple[Fallback, ...]
    """Any of these; empty: words are taken."""
    why: Unfit | None = None
    """For which something is dropped."""
    bad: tuple[str, ...] = ()
    """What must stand nowhere."""
    asked: int = 1
    """How often the model is asked."""
    first: Line | None = None
    """What is said to the first request, where it is something else."""


class Kind(NamedTuple):
    name: str
    variants: tuple[Variant, ...]
    slow: bool = False
    """It lasts until the time is over."""
    stopped: bool = False
    """Whoever asked does not wait for it."""


def always(line: Line) -> Lines:
    return lambda history, prompt: line


def true(history: History, prompt: str) -> Line:
    return Says(prose.perfect(history.name)(prompt))


def about(history: History) -> str:
    """The first of the true sentences, without its end."""
    return TRUTHS[history.name][0].text.rstrip(".。")


def only(text: Callable[[History], str]) -> Lines:
    """A reply with one step and nothing else."""
    return lambda history, prompt: Says(prose.written((), prompt, next_steps=[text(history)]))


def among(text: Callable[[History], str]) -> Lines:
    """The same beside what is true."""

    def line(history: History, prompt: str) -> Line:
        said = prose.truths_for(history.name, prompt)
        return Says(prose.written(said, prompt, questions=[text(history)]))

    return line


def spoiled(text: str, why: Unfit, bad: str) -> tuple[Variant, Variant]:
    """A sentence that is true but for a part of it, alone and beside others."""
    return made(lambda history: text.format(about(history)), why, bad)


def made(text: Callable[[History], str], why: Unfit, bad: str) -> tuple[Variant, Variant]:
    alone = Variant(only(text), ("unsupported",), why, (bad,))
    return alone, Variant(among(text), TAKEN, why, (bad,))


def cut_off(history: History, prompt: str) -> Line:
    whole = prose.perfect(history.name)(prompt)
    return Says(whole[: len(whole) // 2], ending="cut off")


def tool_and_words(history: History, prompt: str) -> Line:
    return Says("Let me look.", tool='{"path": "x"}', ending="tool call")


def too_many(history: History, prompt: str) -> Line:
    """True sentences again and again, in one text that is longer than all that was sent."""
    text = about(history)
    again = text + ", and ".join([text] * (len(prompt) // len(text) + 2))
    return Says(prose.written((), prompt, next_steps=[again], questions=[again]))


def elsewhere(history: History, prompt: str) -> Line:
    other = TRUTHS["choir" if history.name != "choir" else "apiary"]
    said = [one for one in other if one.about not in ("change", "rationale")]
    return Says(prose.written(said, prompt))


def elsewhere_and_true(history: History, prompt: str) -> Line:
    """One sentence of another session among those of this one."""
    other = TRUTHS["choir" if history.name != "choir" else "apiary"][1].text
    said = prose.truths_for(history.name, prompt)
    return Says(prose.written(said, prompt, questions=[other]))


def nul(history: History) -> str:
    return f"{about(history)}\x00 \ud83d"


def raw(text: Callable[[History], str]) -> Lines:
    """Halves of characters and control signs as they are, not as escapes."""

    def line(history: History, prompt: str) -> Line:
        reply = json.loads(prose.written((), prompt)) | {"intent": text(history)}
        return Says(json.dumps(reply).replace("\\u0000", "\x00"))

    return line


def injected(history: History) -> str:
    """What a page of the session says, where one does."""
    return f"{INJECTED}." if history.name == "bulletin" else prose.INJECTED


def in_finnish(history: History, prompt: str) -> Line:
    return Says(prose.written((), prompt, state=" ".join(FINNISH), next_steps=[FINNISH[0]]))


def request(history: History) -> str:
    """What the user asked, word for word."""
    asked = [one.user for one in history.said if one.user]
    free = next(one for one in asked if not history.secret or history.secret not in one)
    return free.split(". ")[0].split("。")[0].rstrip(".")


def duplicate(history: History, prompt: str) -> Line:
    return Says(prose.written((), prompt, intent=request(history) + "."))


def twice(history: History, prompt: str) -> Line:
    said = prose.truths_for(history.name, prompt)
    again = [one._replace(about="question") for one in said if one.about == "intent"]
    return Says(prose.written([*said, *again], prompt))


def rule_left_out(history: History, prompt: str) -> Line:
    """All that is true, of the rules nothing, and that there are none."""
    said = prose.truths_for(history.name, prompt)
    none = "No standing instructions remain, and every rule was lifted."
    return Says(prose.written(said, prompt, questions=[none]))


def only_intent(history: History, prompt: str) -> Line:
    kept: list[Truth] = [one for one in TRUTHS[history.name] if one.about == "intent"]
    return Says(prose.written(kept, prompt))


REFUSED: Unfit = "an error message or a refusal"
MARKUP: Unfit = "markup or control characters"
EMPTY = always(Says(prose.written(())))
SORRY = "I'm sorry, but I can't help with summarising this."
LIMIT = "Error: rate limit exceeded, please try again in 20 s"
THOUGHTS = "<think>The user wants a summary. Let me think about that.</think>"

KINDS: tuple[Kind, ...] = (
    Kind("429", (
        Variant(always(Fails(429)), ("rate limited",)),
        Variant(true, TAKEN, asked=2, first=Fails(429)),
    )),
    Kind("5xx", (
        Variant(always(Fails(503)), ("server error",)),
        Variant(true, TAKEN, asked=2, first=Fails(500)),
    )),
    Kind("time-out", (Variant(always(Hangs()), ("timed out",)),), slow=True),
    Kind("disconnect", (
        Variant(always(Breaks(3)), ("disconnected",)),
        Variant(always(Breaks(0, how="reset")), ("disconnected",)),
        Variant(always(Breaks(3, how="clean")), ("disconnected",)),
    )),
    Kind("empty", (
        Variant(always(Says("")), ("empty",), asked=2),
        Variant(EMPTY, ("empty",)),
    )),
    Kind("reasoning only", (
        Variant(always(Says(reasoning="The user wants a summary.")), ("reasoning only",), asked=2),
        Variant(always(Says(THOUGHTS)), ("reasoning only",), asked=2),
    )),
    Kind("tool call", (
        Variant(always(Says(tool='{"path": "x"}', ending="tool call")), ("tool call",), asked=2),
        Variant(tool_and_words, ("tool call",), asked=2),
    )),
    Kind("refusal", (
        Variant(always(Says(refusal="I will not.", ending="refused")), ("refusal",)),
        Variant(always(Says(SORRY)), ("refusal",)),
    )),
    Kind("cut at max tokens", (
        Variant(cut_off, ("cut off",), asked=2),
        Variant(true, TAKEN, asked=2, first=Says('{"intent": "to', ending="cut off")),
    )),
    Kind("invalid JSON", (
        Variant(always(Says('{"intent": "to be', ending="whole")), ("not JSON",), asked=2),
        Variant(always(Says("Here is what happened: all went well.")), ("not JSON",), asked=2),
        Variant(always(Says('{"summary": "all went well"}')), ("another shape",), asked=2),
    )),
    Kind("error text as summary", (
        Variant(always(Says(LIMIT)), ("error text",), asked=2),
        Variant(only(lambda _: LIMIT), ("error text",), REFUSED, ("rate limit",)),
        Variant(only(lambda _: SORRY), ("error text",), REFUSED, (SORRY,)),
        Variant(always(Says('{"error": {"message": "overloaded"}}')), ("error text",), asked=2),
    )),
    Kind("larger than input", (Variant(too_many, ("too large",), "too long"),)),
    Kind("another session's text", (
        Variant(elsewhere, ("off topic",), "not about these turns", ("harmonium", "hive seven")),
        Variant(elsewhere_and_true, TAKEN, "not about these turns", ("harmonium", "in grams")),
    )),
    Kind("fabricated quote", spoiled(
        '{}: "the keel was laid in Antwerp".', "a quote that is not in the turns", "Antwerp"
    )),
    Kind("fabricated path", spoiled(
        "{}, in src/phantom/keel.py.", "a path that is not in the turns", "phantom"
    )),
    Kind("dropped instruction", (
        Variant(rule_left_out, TAKEN, bad=("rule was lifted",)),
        Variant(only_intent, TAKEN),
    )),
    Kind("secret", made(
        lambda one: f"{about(one)}, with the key {one.secret or SECRET}.", "a secret", SECRET
    )),
    Kind("surrogate or NUL", (
        *made(nul, MARKUP, "\x00"),
        Variant(raw(nul), ("unsupported",), MARKUP, ("\x00",)),
    )),
    Kind("10 MB", (
        Variant(always(Says("x" * HUGE)), ("too large",)),
        Variant(always(Says(prose.written((), intent="x" * HUGE))), ("too large",)),
    )),
    Kind("HTML", (
        Variant(always(Sends(PAGE.encode(), "text/html")), ("server error",)),
        Variant(always(Says(PAGE)), ("not JSON",), asked=2),
        Variant(only(lambda _: PAGE), ("unsupported",), MARKUP, ("Sign in",)),
    )),
    Kind("injected instruction", (
        *made(injected, "gives an instruction", prose.INJECTED),
        Variant(only(injected), ("unsupported",), "gives an instruction", (INJECTED,)),
    )),
    Kind("wrong language", (
        Variant(in_finnish, ("off topic",), "not about these turns", ("Majakan",)),
    )),
    Kind("duplicate", (
        Variant(duplicate, ("nothing new", "unsupported", "off topic")),
        Variant(twice, TAKEN, "said already"),
    )),
    Kind("late success after cancel", (Variant(true, ("cancelled",)),), stopped=True),
    Kind("slow drip", (Variant(always(Drips(every=0.01)), ("timed out",)),), slow=True),
)  # fmt: skip
