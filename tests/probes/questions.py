"""A small text, and questions with their answers."""

from __future__ import annotations

from kedgeline.model import Matter, Probe, ProbeType

TEXT = """## Files Modified
| File | Action | What Changed |
|---|---|---|
| src/app.py | created | login \\| logout [t3] |
| src/old.py | deleted | not used [t4] |

## Next Steps
1. write the tests [t5]
2. deploy [t6]"""


def probe(
    question: str, *expected: str, type: ProbeType = "artifact", matter: Matter = "created"
) -> Probe:
    return Probe(
        type=type, matter=matter, question=question, expected=expected, section="Index", turn=1
    )


CREATED = probe("What became of src/app.py?", "src/app.py", "created")
DELETED = probe("What became of src/old.py?", "src/old.py", "deleted", matter="deleted")
TASKS = [
    probe("What is still to be done?", text, type="continuation", matter="task")
    for text in ("write the tests", "deploy")
]
