"""A SWE-agent trajectory: tides below the datum are lost."""

from __future__ import annotations

import stored
from recorders.swe_agent import Record, Trajectory
from workspace import Workspace

CODE, SCRIPT = "tidetable/parsing.py", "reproduce.py"
REPRODUCE = (
    "from tidetable import parse\n\n"
    'for minus in ("-", "\\u2212"):\n    print(parse(f"05:48  {minus}0.3 m  low"))'
)
OLD_LINE = r'LINE = re.compile(r"(\d\d):(\d\d)\s+(\d+(?:\.\d+)?) m\s+(high|low)")'
NEW_LINE = r'LINE = re.compile(r"(\d\d):(\d\d)\s+([-\u2212]?\d+(?:\.\d+)?) m\s+(high|low)")'
OLD_RETURN = "    return Tide(int(hour), int(minute), float(metres), kind)"


def record() -> Record:
    """The whole trajectory."""
    trajectory = Trajectory(
        seed="tides",
        workspace=Workspace("/repo", stored.project("tides")),
        system=stored.text("tides", "system"),
        task=stored.text("tides", "task"),
    )
    for scene in (_reproduced, _sign, _minus, _submitted):
        scene(trajectory)
    return trajectory.document()


def _reproduced(t: Trajectory) -> None:
    t.create("I begin with a script that shows the issue.", SCRIPT)
    t.insert("It tries both kinds of minus.", SCRIPT, REPRODUCE)
    t.bash("Let me see what it prints.", f"python {SCRIPT}", "[]\n[]")
    t.find("Both lines are lost, as the issue says. Where are lines read?", "parsing.py")
    t.open("The pattern must be in there.", CODE)


def _sign(t: Trajectory) -> None:
    t.edit_refused(
        "The pattern allows digits only. I let a sign stand before them.",
        OLD_LINE,
        NEW_LINE.replace('low)")', 'low"'),
        stored.text("tides", "syntax-error"),
    )
    t.edit("I dropped the closing bracket. Once more, complete:", CODE, OLD_LINE, NEW_LINE)
    t.bash("Does the script find both tides now?", f"python {SCRIPT}", stored.text("tides", "half"))


def _minus(t: Trajectory) -> None:
    t.edit(
        "The hyphen works, but `float` does not know the typographic minus. I turn it into a hyphen"
        " first.",
        CODE,
        OLD_RETURN,
        '    metres = float(metres.replace("\\u2212", "-"))\n'
        "    return Tide(int(hour), int(minute), metres, kind)",
    )
    t.bash(
        "The script and the tests, together.",
        f"python {SCRIPT} && python -m pytest -q",
        stored.text("tides", "green"),
    )


def _submitted(t: Trajectory) -> None:
    t.bash("Both come out with their sign and the tests pass. The script can go.", f"rm {SCRIPT}")
    del t.workspace.files[SCRIPT]
    t.submit("The issue is resolved, so I submit.", stored.text("tides", "patch"))
