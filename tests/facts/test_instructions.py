"""Standing rules: what is one, what is none, and that not a byte of it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

import kedgeline
from kedgeline.facts.extractor import Setting
from kedgeline.facts.rules import MOST_RULES, InstructionExtractor
from tests.facts.speaking import noted, queued, refused, told_by
from tests.turns import bash, turn


def rules_after_work(words: str) -> list[str]:
    """The rules in words that follow an answer of the agent's."""
    given = told_by(
        InstructionExtractor(Setting()), turn(0, user="start", says="Done."), turn(1, user=words)
    )
    assert all(fact.turn == 1 and fact.by == "user" and fact.source == "user" for fact in given)
    return [fact.text for fact in given]


RULES = (
    "never push to main",
    "Please never commit secrets.",
    "always run the linter before you commit",
    "pls dont use emojis",
    "oh, please don’t squash the branch - it breaks the release notes",
    "you must not change the public API",
    "We use tabs, not spaces.",
    "we use pnpm here",
    "use pytest not unittest",
    "omg use hex colours in the palette, no names!",
    "from now on, write commit messages in the imperative",
    "Remember: no new dependencies",
    "and remember to close the file",
    "make sure the tests pass before you commit",
    "keep in mind that the API is public",
    "Only change files under src/",
    "I'd prefer composition over inheritance",
    "stop adding docstrings everywhere",
    "I want all errors to be logged",
    "Answer in German please",
    "no comments!",
    "stick to the standard library",
    "avoid regular expressions, and avoid using eval",
    "whenever you change the schema, update the docs too",
    "ask me before pushing",
    "let's not use Docker for this",
    "leave the config file alone",
    "**Never** edit `vendor/`",
    "variable names MUST be in snake case",
    "our convention is one class per file",
    "under no circumstances delete the volume",
    "you can't use sudo here",
    "maximum one sentence per entry",
    "do it without changing the signature",
    "could you stop rewriting the whole file?",
    "make sure you run the linter",
    "never amend commits, ok?",
    "never amend commits, right?",
    "Always run the linter first, correct?",
    "From now on we squash, understood?",
    "You must never push to main, right?",
    "Don't touch the migrations!?",
    "NEVER use sudo here?!",
    "Please answer me in Danish",
    "keep your replies short",
    "British English please",
    "Please, metric units.",
    "short answers, please!",
    "In German please.",
    "Type hints in new code please",
    "Use 2 spaces",
    "I want docstrings everywhere",
    "use requests-mock from here on",
    "Write everything in Kotlin please",
    "Spelling mistakes only.",
    "List only the failing suites.",
    "make all the changes in the second config file",
    "can we colour the rows only using CSS",
    "please look at the log, make sure you read it to the end",
    "I'd rather have many small commits",
    "every handler has to close its file",
    "run the linter after each change",
    "before committing, run the formatter",
    "commit messages should mention the ticket",
    "Our convention is one class per file",
    "If the suite fails, don't push",
    "Use it in all replies.",
    "no, not tabs, use spaces",
    "the output must be the same as before",
    "Two things: no new package for dates, we have one",
)
OTHER_LANGUAGES = (
    "Bitte antworte mir auf Deutsch.",
    "Lösche niemals eine Tabelle.",
    "Verwende immer Tabs.",
    "Ändere nicht das Format.",
    "Ab jetzt schreibst du kürzer.",
    "Réponds en français.",
    "Ne supprime pas les tables.",
    "Utilise toujours des espaces.",
    "Responde siempre en inglés.",
    "Nunca borres una tabla.",
    "Não apague as tabelas.",
    "A partir de agora, rode os testes.",
    "Rispondi in italiano.",
    "Non cancellare le tabelle.",
    "Gebruik altijd tabs.",
    "Никогда не удаляй таблицы.",
    "请用中文回答。",
    "不要删除表。",
    "日本語で答えてください。",
    "必ずテストを実行してください。",
    "한국어로 답해 주세요.",
    "절대 지우지 마세요.",
)


@pytest.mark.parametrize("words", [*RULES, *OTHER_LANGUAGES])
def test_a_rule_is_given_as_it_was_typed(words: str) -> None:
    assert rules_after_work(words) == [words]


NO_RULES = (
    "continue please",
    "the second one please",
    "next step please",
    "fix the formatting please",
    "sort imports please",
    "commit messages for these, please",
    "explain the style in English please",
    "add a test for the parser",
    "fix this",
    "commit this",
    "can you add a button?",
    "should I always run the tests?",
    "why does it always fail?",
    "it never worked before",
    "the error message is never shown",
    "I never saw that error",
    "I don't think so",
    "don't know",
    "I don't see any difference",
    "that should work now",
    "this should be enough",
    "the server must be down",
    "it must be the proxy",
    "there must be a bug in the parser",
    "I must have missed it",
    "can you explain why we use redux?",
    "how can I make sure it works?",
    "can you make sure the numbers are right?",
    "I just want to make sure we agree",
    "tell me where we should add it",
    "I wonder if we should use redis",
    "the only problem is the cache",
    "only the first test fails",
    "we don't have a test for that",
    "we need a new endpoint",
    "no problem",
    "no, that's fine",
    "they can stay, right?",
    "we don't go back to the first prompt, right?",
    "the cache only works upstream, right?",
    "can this create wrong branches!?",
    'the page says "never reload this page" at the top',
    "the flag `--never-retry` is set by the wrapper",
    "The simplest thing to do, in theory, is to use a queue",
    "tool.py: error: always give exactly one name: none was given",
    "7 | upload | (never retry) | 30 ms",
    "fix lib/a.go:3:4: naming: avoid stutter in names",
    "the parser should reject empty input",
    "if the token is empty, never log it",
    "if the input is short, keep it. but don't pad it.",
    "We don't need backwards compatibility",
    "it doesn't make sense to mock the database",
    "I didn't ask you to reformat the file",
    "When the worker restarts it overwrites the queue",
    "Ich habe das nie gesehen",
    "C'est toujours cassé",
    "Он всегда падает",
    "不要紧",
)


@pytest.mark.parametrize("words", NO_RULES)
def test_a_request_a_question_or_a_report_is_no_rule(words: str) -> None:
    assert rules_after_work(words) == []


def test_a_rule_in_a_long_message_is_found() -> None:
    words = "The parser was written last year. " * 20 + "Never change its output."
    assert rules_after_work(words) == ["Never change its output."]


def test_a_sentence_that_points_back_brings_the_one_before() -> None:
    words = "The cache lives in memory. It must never be written to disk. Add a test."
    assert rules_after_work(words) == [
        "The cache lives in memory. It must never be written to disk."
    ]
    words = "Which colour has the footer? should never be bright"
    assert rules_after_work(words) == [words]


def test_what_is_to_be_remembered_brings_all_that_was_said() -> None:
    words = "Ids change on import. Only the key is stable. Should we note this so you remember it?"
    assert rules_after_work(words) == [words]


def test_the_reason_behind_a_rule_stays_with_it() -> None:
    words = "Never delete a row. Otherwise the audit breaks. Now rename the column."
    assert rules_after_work(words) == ["Never delete a row. Otherwise the audit breaks."]


def test_rules_one_after_the_other_are_one_and_items_of_a_list_are_several() -> None:
    assert rules_after_work("No logs! Never print. Add a test.") == ["No logs! Never print."]
    listed = "Some things:\n- never print\n- always log\n- rename the class\n"
    assert rules_after_work(listed) == ["never print", "always log"]


def test_below_a_heading_that_says_so_every_item_is_a_rule() -> None:
    """The constraints of a long plan stood in its middle, and without a cue of their own."""
    plan = (
        f"# Plan\n{'It goes on. ' * 900}\n## Hard constraints\n- Python 3.9\n- one file\n\nGo on."
    )
    assert rules_after_work(plan) == ["Python 3.9", "one file"]
    assert rules_after_work("Steps:\n- Python 3.9\n- one file\n") == []


def test_a_rule_keeps_the_list_or_example_it_introduces() -> None:
    words = "Please never touch these:\n- one.txt\n- two.txt\n\nNow fix the build."
    assert rules_after_work(words) == ["Please never touch these:\n- one.txt\n- two.txt"]
    code = "Always call it like this:\n```\nrun --dry\n```\nthen stop"
    assert rules_after_work(code) == ["Always call it like this:\n```\nrun --dry\n```"]


def test_a_rule_beside_what_is_pasted_is_found() -> None:
    log = "\n".join(f"2024-05-01T10:00:{second:02} never mind" for second in range(40))
    words = f"it crashed, that must never happen\n\n{log}\n\nand don't retry"
    assert rules_after_work(words) == ["it crashed, that must never happen", "and don't retry"]


def test_in_a_very_long_message_the_user_speaks_at_the_ends() -> None:
    middle = "The agent said that one must never do that. " * 400
    words = f"Never trust this text.\n\n{middle}\n\nAlways check it."
    assert rules_after_work(words)[0] == "Never trust this text."
    assert rules_after_work(words)[-1].endswith("Always check it.")
    assert len(rules_after_work(words)) <= MOST_RULES


def test_queued_words_reasons_and_words_behind_a_command_are_the_users() -> None:
    extractor = InstructionExtractor(Setting())
    command = "<command-name>/review</command-name><command-args>never mind style, only report bugs"
    given = told_by(
        extractor,
        turn(0, user="start", says="Done."),
        queued(1, "please don't amend"),
        turn(2, refused(reason="use spaces, not tabs"), user="go on"),
        noted(3, "command", f"{command}</command-args>"),
    )
    assert [(fact.turn, fact.text) for fact in given] == [
        (1, "please don't amend"),
        (2, "use spaces, not tabs"),
        (3, "never mind style, only report bugs"),
    ]


@pytest.mark.parametrize("kind", ["injected", "hook", "demonstration", "plan", "summary", "shell"])
def test_notes_make_no_rule(kind: str) -> None:
    assert told_by(InstructionExtractor(Setting()), noted(0, kind, "ALWAYS do this.")) == []


def test_tools_the_model_and_whoever_starts_a_sub_agent_make_no_rule() -> None:
    rule = "Never do that again."
    given = told_by(
        InstructionExtractor(Setting()),
        turn(0, bash("cat rules", rule), says=rule, thinking=rule),
        turn(1, user=rule, agent="explorer"),
        noted(2, "instructions", f"- {rule}", agent="explorer"),
        turn(3, user=f"Implement the following plan:\n\n# Plan\n\n{rule}"),
    )
    assert given == []


FILE = """/srv/app/CLAUDE.md
# The app

The app is a web service.

- **Always** run `make check` before a commit
- Handlers live in `web/`
- Never log a token; use the mask helper.

```
never --in-code
```
"""


def test_a_rules_file_gives_its_lines_with_a_cue_once() -> None:
    extractor = InstructionExtractor(Setting())
    first, again = noted(0, "instructions", FILE), noted(1, "instructions", FILE)
    given = told_by(extractor, first, again)
    assert [(fact.turn, fact.source, fact.by) for fact in given] == [(0, "CLAUDE.md", "user")] * 2
    assert [fact.text for fact in given] == [
        "**Always** run `make check` before a commit",
        "Never log a token; use the mask helper.",
    ]


def test_every_rule_of_real_sessions_stands_in_the_users_words(corpus: Path) -> None:
    found = 0
    for path in sorted((corpus / "claude-code").glob("*.jsonl"))[:12]:
        extractor = InstructionExtractor(Setting())
        for one in kedgeline.read(path, counter=None).turns:
            words = (*one.user_words(), *(note.text for note in one.notes))
            for fact in told_by(extractor, one):
                assert any(fact.text in text for text in words)
                found += 1
    assert found


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("compact", []),
        ("clear", []),
        ("rename", []),
        ("review", ["Always keep the SQL."]),
    ],
)
def test_what_is_typed_behind_a_command_of_the_client_is_no_rule(
    command: str, rules: list[str]
) -> None:
    words = "Always keep the SQL."
    tags = f"<command-name>/{command}</command-name><command-args>{words}</command-args>"
    for given in (noted(0, "command", tags), turn(0, user=f"/{command} {words}")):
        found = told_by(InstructionExtractor(Setting()), given)
        assert [fact.text for fact in found] == rules


# Orders of one task: no standing rules, unless they forbid something or say that they last.

ONE_OFF = (
    "can we use the logger instead of print?",
    "add tests for the cache. ensure it is empty afterwards.",
    "make sure the header is used as well",
    "I think we should also keep the old lines",
    "Use the spinner instead of the dots",
    "implement the second handler, follow the same pattern as the first",
    "I want this command to print one line",
    "I want you to write that list yourself",
    "in theory the dates should match",
    "review the parser. you can start several agents",
    "it fails, and we give up on the whole file",
)


@pytest.mark.parametrize("words", ONE_OFF)
def test_what_must_come_of_one_request_is_no_rule(words: str) -> None:
    assert rules_after_work(words) == []


def test_what_forbids_or_lasts_is_a_rule_beside_a_request_too() -> None:
    words = "Write the plan down. Never commit it. no emojis! Answer in German."
    assert rules_after_work(words) == ["Never commit it. no emojis! Answer in German."]
    words = "Every error has to name its line. Fix the importer."
    assert rules_after_work(words) == ["Every error has to name its line."]


def test_in_a_rules_file_all_that_must_be_so_is_a_rule() -> None:
    file = "# Rules\n\n- Ensure that settings are validated\n"
    (rule,) = told_by(InstructionExtractor(Setting()), noted(0, "instructions", file))
    assert rule.text == "Ensure that settings are validated"
    assert rules_after_work("Ensure that settings are validated") == []
