"""A model's prose held against the turns it is about: what they do not hold is not taken."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from kedge.asking import is_no_answer
from kedge.model import AnyFact, Dropped, Unfit
from kedge.redaction import REDACTOR
from kedge.sentences import cut, one_line
from kedge.wording.claims.bans import offends
from kedge.wording.claims.clauses import clauses_of, is_open
from kedge.wording.claims.contradictions import contradicts, is_known
from kedge.wording.claims.demands import weakens
from kedge.wording.claims.entries import entries_of
from kedge.wording.claims.form import is_labelled, is_marked_up
from kedge.wording.claims.held import unheld, unheld_count, unheld_number
from kedge.wording.claims.index import Held, Index
from kedge.wording.claims.instructions import copies_demand, instructs, is_due, orders
from kedge.wording.claims.outcomes import speaks_of_tests
from kedge.wording.claims.own import Own
from kedge.wording.claims.pieces import Apart, PieceKind, apart
from kedge.wording.claims.repeats import Told
from kedge.wording.claims.standing import Standing, standing_of
from kedge.wording.claims.units import About, Unit, units_of
from kedge.wording.claims.voices import speaks_for_user
from kedge.wording.claims.words import lowered, matter
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
WEAKENED = 1
"""Words that a step which takes away a check shares with what somebody said of taking it away."""
OFF_TOPIC: Unfit = "not about these turns"
_VOICED: frozenset[About] = frozenset({"intent", "next step", "question"})
"""What only the user's and the agent's own words hold: a page or a file may demand anything."""


class Claim(NamedTuple):
    """A unit as the checks see it."""

    unit: Unit
    lowered: str
    parts: Apart
    matter: frozenset[str]
    key: str
    """The file or the matter of the decision it is about, if any."""
    voiced: bool
    """Whether only the user's and the agent's own words may hold it."""


class Ground(NamedTuple):
    """What claims are held against."""

    held: Held
    standing: Standing
    told: Told
    own: Own
    at_home: bool = False
    """Whether the reply as a whole is about these turns."""

    def sources(self, claim: Claim) -> Index:
        return self.held.voiced if claim.voiced else self.held.all

    def names(self, claim: Claim) -> Index:
        """Of a step names and counts may be what a tool reported of the work."""
        return self.held.named if claim.voiced else self.held.all


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
    asked = frozenset(stem for claim in fit for stem in claim.matter)
    ground = Ground(
        Held(sources, asked),
        standing_of(facts),
        Told([*sources.known.splitlines(), *sources.reported.splitlines(), *known]),
        Own(packet, sources, facts, asked),
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
        tuple(entries_of(taken, packet, facts)),
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
    return "an error message or a refusal" if is_no_answer(claim.lowered) else None


def label(claim: Claim, ground: Ground) -> Unfit | None:
    return "markup or control characters" if is_labelled(claim.unit.text) else None


def for_the_user(claim: Claim, ground: Ground) -> Unfit | None:
    speaks = speaks_for_user(claim.unit.text, claim.lowered, claim.unit.about)
    return "speaks for the user" if speaks else None


def instruction(claim: Claim, ground: Ground) -> Unfit | None:
    held = ground.held
    if instructs(claim.lowered, claim.unit.about) or copies_demand(claim.lowered, held):
        return "gives an instruction"
    if held.echoes(claim.matter):
        return "gives an instruction"
    if claim.unit.about != "change" and weakens(claim.lowered) and not is_open(claim.lowered):
        asked = any(
            len(claim.matter & said) >= min(WEAKENED, len(claim.matter)) for said in held.weakened
        )
        return None if asked else "gives an instruction"
    return None


def _to_the_letter(kind: PieceKind) -> Check:
    def check(claim: Claim, ground: Ground) -> Unfit | None:
        pieces = [piece for piece in claim.parts.pieces if piece.kind == kind]
        for piece in pieces:
            named = kind in ("path", "name") and "://" not in piece.text
            index = ground.names(claim) if named else ground.sources(claim)
            if why := unheld(piece, index):
                return why
        return None

    return check


command, quote = _to_the_letter("command"), _to_the_letter("quote")
path, name = _to_the_letter("path"), _to_the_letter("name")


def number(claim: Claim, ground: Ground) -> Unfit | None:
    rest, sources = claim.parts.rest, ground.names(claim)
    known = (
        frozenset(map(str, ground.standing.counted.whole))
        if speaks_of_tests(claim.lowered)
        else frozenset()
    )
    return unheld_number(rest, sources, known) or unheld_count(rest, sources, known)


def contradiction(claim: Claim, ground: Ground) -> Unfit | None:
    path = claim.key if claim.unit.about == "change" else ""
    rest = lowered(claim.parts.rest)
    aims = claim.unit.about in _VOICED
    asks = claim.unit.about == "question" and claim.lowered.endswith(("?", "？"))
    bans = () if asks else ground.standing.bans  # whether it may be done is to be asked
    if contradicts(claim.lowered, rest, ground.standing, path) or any(
        offends(clause, bans, voiced=aims, orders=orders(clause))
        for clause in (*clauses_of(claim.lowered), claim.lowered)
    ):
        return "contradicts the facts"
    return None


def topic(claim: Claim, ground: Ground) -> Unfit | None:
    if not claim.matter:  # nothing in it could tell these turns from others
        plain = claim.unit.about in ("state", "next step") and is_known(
            claim.lowered, ground.standing
        )
        return None if plain else OFF_TOPIC
    if ground.own.is_others(claim.unit.about, claim.key, claim.matter):
        return OFF_TOPIC
    there, together = ground.sources(claim).share(claim.matter)
    least, closely = (
        (LEAST_AT_HOME, LEAST_TOGETHER_AT_HOME) if ground.at_home else (LEAST_SHARE, LEAST_TOGETHER)
    )
    return None if there >= least and together >= closely else OFF_TOPIC


def repeat(claim: Claim, ground: Ground) -> Unfit | None:
    return "said already" if ground.told.has(claim.unit.text) else None


CHECKS: tuple[Check, ...] = (
    refusal,
    label,
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
    key = ""
    if unit.about == "change":
        key = packet.files[unit.number - 1]
    elif unit.about == "rationale":
        key = packet.decisions[unit.number - 1].key
    text = lowered(unit.text)
    voiced = unit.about in _VOICED or is_due(text)
    return Claim(unit, text, apart(unit.text), frozenset(matter(unit.text)), key, voiced)


def share_about(claims: Sequence[Claim], ground: Ground) -> float:
    """How much of a reply is about these turns, whatever else is wrong with it. Of a few sentences
    it does not show: it may be as well as not."""
    if len(claims) < FEWEST_UNITS:
        return LEAST_ABOUT
    return sum(topic(claim, ground) is None for claim in claims) / len(claims)


def _reported(text: str) -> str:
    """As a report may show it."""
    return cut(one_line(REDACTOR.clean(_encodable(text[:SEARCHED]))), SHOWN)


def _encodable(text: str) -> str:
    """Without halves of characters, which no file takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
