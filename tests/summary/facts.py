"""Random facts."""

from __future__ import annotations

from hypothesis import strategies as st

from kedgeline.model import (
    Asked,
    CommandRun,
    Committed,
    DeadEnd,
    Decided,
    ErrorResolved,
    ErrorSeen,
    FileChanged,
    FileRead,
    InstructionGiven,
    Requested,
    SessionNoted,
    Stated,
    TodoSet,
)

words = st.text(st.sampled_from("ab cé漢|`[]#\n-.:\"'"), min_size=1, max_size=40).filter(
    lambda text: bool(text.strip())
)
paths = st.sampled_from(("a.py", "src/b.py", "src/deep/c.go", "d e.md", "src/b_test.py"))
keys = st.sampled_from(("k1", "k2", "k3"))
names = st.sampled_from(("Berth", "find_free", "--force", "HARBOR_URL", "0a1b2c3", "4711"))
actions = st.sampled_from(("created", "modified", "deleted"))
turns = st.integers(0, 30)

fact = st.one_of(
    st.builds(FileChanged, turn=turns, path=paths, action=actions, what=st.just("adds `f`")),
    st.builds(FileRead, turn=turns, path=paths, why=words),
    st.builds(
        CommandRun,
        turn=turns,
        command=st.sampled_from(("make test", "make test 2>&1", "go build ./...")),
        key=keys,
        purpose=st.sampled_from(("test", "build", "other")),
        success=st.sampled_from((True, False, None)),
    ),
    st.builds(Committed, turn=turns, what=st.just("commit"), name=names, about=words),
    st.builds(ErrorSeen, turn=turns, key=keys, line=words),
    st.builds(ErrorResolved, turn=turns, key=keys, how=words),
    st.builds(DeadEnd, turn=turns, what=words),
    st.builds(
        TodoSet,
        turn=turns,
        key=keys,
        text=words,
        status=st.sampled_from(("pending", "in_progress", "completed", "dropped")),
    ),
    st.builds(InstructionGiven, turn=turns, by=st.just("user"), text=words),
    st.builds(
        Requested,
        turn=turns,
        by=st.just("user"),
        text=words,
        scope=st.sampled_from(("new", "same", "step")),
    ),
    st.builds(Decided, turn=turns, key=keys, decision=words, rationale=words),
    st.builds(Asked, turn=turns, key=keys, question=words, answer=st.sampled_from(("", "yes"))),
    st.builds(
        Stated,
        turn=turns,
        by=st.just("agent"),
        text=st.tuples(words, names, paths).map(" ".join),
        where=st.sampled_from(("answer", "narration", "report")),
        place=st.integers(0, 3),
    ),
    st.builds(SessionNoted, turn=turns, name=st.just("mode"), value=st.just("plan")),
)
facts = st.lists(fact, max_size=40).map(lambda found: sorted(found, key=lambda one: one.turn))
