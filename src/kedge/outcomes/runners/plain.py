"""Hand-written scripts that count tests, in the words that people use."""

from __future__ import annotations

from kedge.outcomes.runners.row import row

PLAIN = "plain"
"""Any other runner is believed before this one."""

_TOOK = r"[\d.]{1,12} ?(?:ms|s|m|h|secs?|seconds)"
_MARK = r"(?:[=*#~-]{2,120} ?|[✓✔✅✗✘✖❌🎉🟢🔴]\ufe0f? {1,2})?"
_HEAD = (
    r"(?:(?:(?:final |overall )?(?:test )?(?:results?|summary)|tests?|total|fail(?:ed|ures?)?"
    r"|pass(?:ed)?|success|ok|done|errors?)(?:[:!.]| -| \|)? {1,4})?"
)
_TESTS = r"(?:unit |integration )?(?:tests?|specs?|test cases?|assertions?) "
_CLAUSE = (
    rf"<n> (?:{_TESTS})?(?:have |has )?(?:passed|failed|succeeded|skipped|ignored|errors?|pending"
    r"|todo|total)"
)
_ABOUT_TESTS = rf"(?=.*passed|.*{_TESTS}(?:failed|succeeded))"
_WHOLE = r"(?:<n> tests?(?: run| total)?[,:;] )?"
_CLAUSES = rf"(?P<counted>{_WHOLE}{_CLAUSE}(?:(?:[,;]| [|/]|,? and) {_CLAUSE}){{0,5}})"
_SCORE = r"(?:tests? )?(?:passed|failed|skipped|errors|total|total tests): {0,8}<n>"
_SCORES = rf"(?P<counted>{_SCORE}(?:(?:[,;]| [|/]|) +{_SCORE}){{0,5}})"
_OF = r"(?: ?/ ?| of | out of )"
_END = rf"(?: successfully)?(?: \([^()]{{1,60}}\)| in {_TOOK})?[.!]{{0,3}}(?: ?[=*#~-]{{2,120}})?"

PLAIN_ROW = row(
    PLAIN,
    "assed||ailed||kipped: ||otal: ||tests: ||ucceeded||PASSED||FAILED",
    rf"(?i:{_MARK}{_HEAD}(?P<sure>)(?:all )?<passed>{_OF}<total> (?:{_TESTS})?passed{_END})",
    rf"(?i:{_MARK}(?P<sure>)all tests passed \(<passed>(?: tests?)?\)[.!]{{0,3}})",
    rf"(?i:{_MARK}{_HEAD}(?P<sure>)<failed>{_OF}<total> (?:{_TESTS})?failed{_END})",
    rf"(?i:{_MARK}(?P<sure>)(?:tests )?passed: {{0,8}}<passed>/<total>{_END})",
    rf"(?i:{_ABOUT_TESTS}{_MARK}{_HEAD}(?P<sure>)(?:all )?{_CLAUSES}{_END})",
    rf"(?i:(?=.*failed){_MARK}{_HEAD}{_CLAUSES}{_END})",
    rf"(?i:(?=.*passed){_MARK}(?P<sure>){_SCORES}{_END})",
    rf"(?i:{_MARK}{_SCORES}{_END})",
    nested=True,
)
"""Nested, since the same is often said twice: in figures and in a sentence."""
