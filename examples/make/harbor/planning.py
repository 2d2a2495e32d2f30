"""The plan: asked for, looked into, sent back once, approved."""

from __future__ import annotations

import stored

from harbor.material import PLAN_FILE, Session, out

APPROVED = (
    "User has approved your plan. You can now start coding. Start with updating your todo list if"
    " applicable\n\nYour plan has been saved to: {path}\nYou can refer back to it if needed during"
    " implementation.\n\n## Approved Plan:\n{plan}"
)


def play(s: Session) -> None:
    s.command("/model", "opus", "Set model to Opus 4.5")
    _ask(s)
    _look(s)
    _propose(s)


def _ask(s: Session) -> None:
    s.mode = "plan"
    s.prompt(
        "Good summary. Now plan the whole thing. From Tomas (harbour master):\n\n- people wait per"
        " category, first come first served\n- when a berth becomes free, the first one it fits"
        " gets an offer by mail and the berth is held for them\n- who does not answer in time"
        " loses the offer, the next one gets it\n- staff want to see bookings in their own"
        " calendars, one calendar per category\n\nPlan first, no code yet.",
        after=1560,
    )
    s.journal.slug = "steady-mooring-heron"
    steps = [
        s.grep("mailer.send", "*.py"),
        s.read("src/harbor/worker.py"),
        s.grep(r"import requests|requests\.", "*.py"),
        s.read("tests/test_worker.py"),
        s.read("scripts/e2e.sh"),
    ]
    s.turn(
        "While I think about the data model I'll have someone look at jobs and mail.",
        s.delegate(
            "Survey of jobs and mail",
            "In /home/ines/code/harbor find out (1) where mail is sent and what happens when the"
            " gateway is down, (2) how jobs of the worker are registered, run and tested, (3)"
            " whether anything runs two jobs at the same time. Read only. Answer with file and"
            " line for every claim.",
            steps,
            out("survey"),
        ),
        think="Waiting list: entry per boat, category and dates. Offer has an expiry. The worker"
        " needs a new job. Mail failures are swallowed: is that acceptable for offers? Delegate"
        " the survey of the worker and mail code, and meanwhile think about iCal.",
    )


def _look(s: Session) -> None:
    s.turn(
        "",
        s.web_search(
            "RFC 5545 all-day VEVENT DTEND exclusive date value line folding 75 octets",
            [
                (
                    "RFC 5545: Internet Calendaring and Scheduling Core Object Specification",
                    "https://www.rfc-editor.org/rfc/rfc5545",
                ),
                ("All-day events in iCalendar", "https://calendars.example.com/all-day-events"),
                ("Folding content lines", "https://calendars.example.com/folding"),
            ],
            out("search-ical"),
        ),
    )
    s.turn("", s.read("src/harbor/pricing.py"), s.read("src/harbor/routes/berths.py"))
    s.turn(
        "Two things I cannot decide from the code.",
        s.ask(
            (
                "Held berths",
                "May a berth that is on offer still be booked by somebody else?",
                [
                    ("No, it is held", "Nobody else can book it until the offer ends"),
                    ("Yes, first to pay", "The offer is only a hint"),
                ],
                "No, it is held",
            ),
            (
                "Fit",
                "What if the first in line does not fit into the berth that became free?",
                [
                    ("Skip them", "The next one who fits gets it; they keep their place"),
                    ("Wait", "The berth stays empty until one that fits them is free"),
                ],
                "Skip them",
            ),
        ),
    )


def _propose(s: Session) -> None:
    plan = out("plan") + "\n"
    s.turn("I have what I need; writing the plan down.", s.write(PLAN_FILE, plan))
    first = s.call("ExitPlanMode", {"plan": plan})
    s.turn(
        "",
        s.refused(
            first,
            "Two changes: no new dependency for iCal, we write it ourselves, it is six properties."
            " And the time an offer stands must be a setting (HARBOR_OFFER_HOURS, default 24), not"
            " a constant.",
        ),
    )
    old, new = stored.text("harbor", "plan-old-part"), stored.text("harbor", "plan-new-part")
    s.turn("Both make sense. Changing the plan.", s.edit(PLAN_FILE, old, new))
    final = s.workspace.files[PLAN_FILE]
    approved = s.call("ExitPlanMode", {"plan": final}, APPROVED.format(path=PLAN_FILE, plan=final))
    approved.extra = {"plan": final, "isAgent": False, "filePath": PLAN_FILE}
    approved.milliseconds = 74_000
    s.turn("", approved)
    s.mode = "acceptEdits"
