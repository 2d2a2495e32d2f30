"""A model's prose held against the turns it is about: what they do not hold is not taken."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from kedge.model import AnyFact, Decided, Dropped, FileChanged, Unfit, Worded
from kedge.redaction import REDACTOR
from kedge.sentences import cut, one_line
from kedge.wording.claims.contradictions import contradicts
from kedge.wording.claims.form import is_marked_up
from kedge.wording.claims.held import unheld, unheld_count, unheld_number
from kedge.wording.claims.index import Held, Index
from kedge.wording.claims.instructions import copies_demand, instructs
from kedge.wording.claims.pieces import Apart, PieceKind, apart
from kedge.wording.claims.repeats import Told
from kedge.wording.claims.standing import Standing, standing_of
from kedge.wording.claims.units import About, Unit, units_of
from kedge.wording.claims.voices import refuses, speaks_for_user
from kedge.wording.claims.words import folded, matter
from kedge.wording.shape import Checked, Packet, Prose, Sources

SHOWN = 120
"""Characters of what was dropped that a report shows."""
SEARCHED = 2_000
"""Characters of it that are searched for secrets: one may reach beyond what is shown."""
LEAST_SHARE = 0.6
"""Share of the words of a sentence that stand in the turns. With the next one it keeps eight in
ten sentences that agents wrote about their own turns, three in ten about other sessions of the same
project and one in fourteen about other projects; the other checks drop most of these."""
LEAST_TOGETHER = 0.5
"""Share of them that stands in one passage: words of others are found there too, but scattered."""
FEWEST_UNITS = 4
"""Sentences from which it shows whether a reply is about these turns."""
LEAST_ABOUT = 0.5
"""Share of them that must be, or none is taken: the others are held by chance."""
AT_HOME = 0.6
"""Share of them from which on the reply is about these turns, and the others need less."""
LEAST_AT_HOME = 0.5
LEAST_TOGETHER_AT_HOME = 0.3
"""The same shares of a sentence in such a reply: who tells true things in words of their own has
other words too."""
OFF_TOPIC: Unfit = "not about these turns"
_VOICED: frozenset[About] = frozenset({"intent", "next step", "question"})
"""What only the user's and the agent's own words hold: a page or a file may demand anything."""


class Claim(NamedTuple):
    """A unit as the checks see it."""

    unit: Unit
    folded: str
    parts: Apart
    matter: frozenset[str]
    path: str
    """The file it is about, if any."""


class Ground(NamedTuple):
    """What claims are held against."""

    held: Held
    standing: Standing
    told: Told
    at_home: bool = False
    """Whether the reply as a whole is about these turns."""

    def sources(self, claim: Claim) -> Index:
        return self.held.voiced if claim.unit.about in _VOICED else self.held.all


Check = Callable[[Claim, Ground], Unfit | None]


def checked(
    prose: Prose,
    packet: Packet,
    sources: Sources,
    facts: Sequence[AnyFact],
    *,
    known: Collection[str] = (),
) -> Checked:
    """What of a reply becomes part of the summary, and what does not. `facts` are those of the
    packet's turns and before; `known` is what was taken already.

    Words are taken as they are written or not at all."""
    units = [unit for unit in units_of(prose, packet) if unit.text.strip()]
    fit, dropped = [], []
    for unit in units:
        why = misshapen(unit)
        if why is None:
            fit.append(_claim(unit, packet))
        dropped += [(unit, why)] if why else []
    ground = Ground(
        Held(sources, (stem for claim in fit for stem in claim.matter)),
        standing_of(facts),
        Told([*sources.known.splitlines(), *known]),
    )
    about = share_about(fit, ground)
    ground = ground._replace(at_home=about >= AT_HOME)
    verdicts = [(claim.unit, verdict(claim, ground)) for claim in fit]
    if about < LEAST_ABOUT:
        verdicts = [(unit, why or OFF_TOPIC) for unit, why in verdicts]
    dropped += [(unit, why) for unit, why in verdicts if why]
    taken = [unit for unit, why in verdicts if why is None]
    order = {id(unit): place for place, unit in enumerate(units)}
    dropped.sort(key=lambda one: order[id(one[0])])
    return Checked(
        tuple(_worded(taken, packet, facts)),
        tuple(Dropped(text=_reported(unit.text), why=why) for unit, why in dropped),
    )


def misshapen(unit: Unit) -> Unfit | None:
    """What is wrong with a unit whatever the turns hold. It must come first: nothing else looks at
    text of any length."""
    if unit.beyond or len(unit.text) > unit.most:
        return "too long"
    if is_marked_up(unit.text):
        return "markup or control characters"
    if REDACTOR.found(unit.text):
        return "a secret"
    return None if unit.listed else "about nothing that was listed"


def verdict(claim: Claim, ground: Ground) -> Unfit | None:
    """Why a unit is not taken; what comes first is the reason."""
    for check in CHECKS:
        if why := check(claim, ground):
            return why
    ground.told.add(claim.unit.text)
    return None


def refusal(claim: Claim, ground: Ground) -> Unfit | None:
    return "an error message or a refusal" if refuses(claim.folded) else None


def for_the_user(claim: Claim, ground: Ground) -> Unfit | None:
    return "speaks for the user" if speaks_for_user(claim.folded, claim.unit.about) else None


def instruction(claim: Claim, ground: Ground) -> Unfit | None:
    if instructs(claim.folded, claim.unit.about) or copies_demand(claim.folded, ground.held):
        return "gives an instruction"
    return None


def _to_the_letter(kind: PieceKind) -> Check:
    def check(claim: Claim, ground: Ground) -> Unfit | None:
        index = ground.sources(claim)
        pieces = (piece for piece in claim.parts.pieces if piece.kind == kind)
        return next((why for piece in pieces if (why := unheld(piece, index))), None)

    return check


command, quote = _to_the_letter("command"), _to_the_letter("quote")
path, name = _to_the_letter("path"), _to_the_letter("name")


def number(claim: Claim, ground: Ground) -> Unfit | None:
    rest, sources = claim.parts.rest, ground.sources(claim)
    return unheld_number(rest, sources) or unheld_count(rest, sources)


def contradiction(claim: Claim, ground: Ground) -> Unfit | None:
    found = contradicts(claim.folded, folded(claim.parts.rest), ground.standing, claim.path)
    return "contradicts the facts" if found else None


def topic(claim: Claim, ground: Ground) -> Unfit | None:
    if not claim.matter:  # nothing in it could tell these turns from others
        plain = ground.at_home and claim.unit.about == "state"
        return None if plain else OFF_TOPIC
    there, together = ground.sources(claim).share(claim.matter)
    least, closely = (
        (LEAST_AT_HOME, LEAST_TOGETHER_AT_HOME) if ground.at_home else (LEAST_SHARE, LEAST_TOGETHER)
    )
    return None if there >= least and together >= closely else OFF_TOPIC


def repeat(claim: Claim, ground: Ground) -> Unfit | None:
    return "said already" if ground.told.has(claim.unit.text) else None


CHECKS: tuple[Check, ...] = (
    refusal,
    for_the_user,
    instruction,
    command,
    quote,
    path,
    name,
    number,
    contradiction,
    topic,
    repeat,
)


def _claim(unit: Unit, packet: Packet) -> Claim:
    about = packet.files[unit.number - 1] if unit.about == "change" else ""
    parts = apart(unit.text)
    return Claim(unit, folded(unit.text), parts, frozenset(matter(unit.text)), about)


def share_about(claims: Sequence[Claim], ground: Ground) -> float:
    """How much of a reply is about these turns, whatever else is wrong with it. Of a few sentences
    it does not show: it may be as well as not."""
    if len(claims) < FEWEST_UNITS:
        return LEAST_ABOUT
    return sum(topic(claim, ground) is None for claim in claims) / len(claims)


def _worded(taken: Sequence[Unit], packet: Packet, facts: Sequence[AnyFact]) -> Iterable[Worded]:
    """Sentences of one text become one entry: a newer one takes its place as a whole."""
    abouts: tuple[About, ...] = ("intent", "change", "rationale", "state", "next step", "question")
    for about in abouts:
        units = [unit for unit in taken if unit.about == about]
        texts = [one_line(unit.text) for unit in units]
        if about in ("intent", "state"):
            texts = [" ".join(texts)] if texts else []
        for unit, text in zip(units, texts, strict=False):
            key, first, turn = _matter(unit, packet, facts)
            yield Worded(turn=turn, about=about, text=text, key=key, first=first)


def _matter(unit: Unit, packet: Packet, facts: Sequence[AnyFact]) -> tuple[str, int, int]:
    """The file or decision a unit is about, and the first and the last turn with a fact about it;
    of all else the turns of the packet."""
    turns: list[int] = []
    key = ""
    if unit.about == "change":
        key = packet.files[unit.number - 1]
        turns = [f.turn for f in facts if isinstance(f, FileChanged) and f.path == key]
    elif unit.about == "rationale":
        decision = packet.decisions[unit.number - 1]
        key = decision.key
        turns = [f.turn for f in facts if isinstance(f, Decided) and f.key == key]
        turns.append(decision.turn)
    within = [turn for turn in turns if packet.first <= turn <= packet.last]
    return key, min(within, default=packet.first), max(within, default=packet.last)


def _reported(text: str) -> str:
    """As a report may show it."""
    return cut(one_line(REDACTOR.clean(_encodable(text[:SEARCHED]))), SHOWN)


def _encodable(text: str) -> str:
    """Without halves of characters, which no file takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
