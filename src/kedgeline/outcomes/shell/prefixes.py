"""Programs that run the rest of their words as a command, and which options have a value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from posixpath import join, normpath
from typing import Literal, NamedTuple

from kedgeline.model import Value

# Here-documents taken out of a shell line before it is parsed.

LONGEST_LINE = 1 << 20
"""Characters of a line looked at for here-documents; the rest of a longer one is left off."""

MARK = re.compile(r"kedgeline-here-document-(\d{1,6})-")
"""What stands for a here-document; a name no file has."""

_SIGN = re.compile(
    r"""\\. | ['"()\n] | \$\(\( | \$\( | \$' | <<< | <<-?[ \t]*(?=[\w'"\\.]) | (?<![^\s;&|(])\#""",
    re.VERBOSE | re.DOTALL,
)
"""All that can open or close something outside double quotes."""
_QUOTED_SIGN = re.compile(r"""\\.|"|\$\(\(|\$\(""", re.DOTALL)
"""The same inside them."""
_DELIMITER = re.compile(r"""(?:'[^'\n]*'|"[^"\n]*"|\\.|[^\s;&|<>()'"\\])+""")
_QUOTES = str.maketrans("", "", "'\"\\")


class Heredoc(NamedTuple):
    opening: str
    """As written: `<<'EOF'`."""
    body: str


class Stripped(NamedTuple):
    line: str
    """With a mark in the place of every here-document."""
    heredocs: tuple[Heredoc, ...]
    whole: bool
    """False when the end was left off."""


def without_heredocs(line: str) -> Stripped:
    whole = len(line) <= LONGEST_LINE
    line = line[:LONGEST_LINE]
    if "<<" not in line:
        return Stripped(line, (), whole)
    scan = _Scan(line)
    scan.run()
    return Stripped("".join(scan.kept), tuple(scan.heredocs), whole)


class _Scan:
    """One pass over a line. What is open stands on a stack: `"` a string, `(` a parenthesis or a
    command substitution, `#` an arithmetic expression, in which `<<` shifts."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.position = 0
        self.copied = 0
        self.kept: list[str] = []
        self.open: list[str] = []
        self.awaited: list[tuple[str, str]] = []
        """Opening and delimiter of the here-documents whose bodies begin on the next line."""
        self.heredocs: list[Heredoc] = []

    def run(self) -> None:
        while self.position < len(self.line):
            inside = bool(self.open) and self.open[-1] == '"'
            found = (_QUOTED_SIGN if inside else _SIGN).search(self.line, self.position)
            if found is None:
                break
            self.position = found.end()
            self._take(found[0], found.start())
        self._keep(len(self.line))

    def _take(self, sign: str, start: int) -> None:
        if sign in _OPENS:
            self.open.append(_OPENS[sign])
        elif sign == '"':
            self._close_or_open('"')
        elif sign == ")":
            self._close()
        elif sign == "'":
            self._skip_to("'")
        elif sign == "$'":
            self._skip_escaped()
        elif sign == "#":
            self._skip_to("\n", keep=True)
        elif sign == "\n" and self.awaited:
            self._bodies()
        elif sign.startswith("<<") and sign != "<<<" and "#" not in self.open:
            self._await(start)

    def _close_or_open(self, sign: str) -> None:
        if self.open and self.open[-1] == sign:
            self.open.pop()
        else:
            self.open.append(sign)

    def _close(self) -> None:
        if not self.open or self.open[-1] == '"':
            return
        if self.open.pop() == "#" and self.line.startswith(")", self.position):
            self.position += 1

    def _skip_to(self, sign: str, *, keep: bool = False) -> None:
        end = self.line.find(sign, self.position)
        after = end if keep else end + 1
        self.position = after if end >= 0 else len(self.line)

    def _skip_escaped(self) -> None:
        end = _ESCAPED_END.match(self.line, self.position)
        self.position = end.end() if end else len(self.line)

    def _await(self, start: int) -> None:
        found = _DELIMITER.match(self.line, self.position)
        if found is None:
            return
        self._keep(start)
        self.copied = self.position = found.end()
        number = len(self.heredocs) + len(self.awaited)
        self.kept.append(f"< kedgeline-here-document-{number}-")
        self.awaited.append((self.line[start : found.end()], found[0].translate(_QUOTES)))

    def _bodies(self) -> None:
        """The bodies that begin here, one behind the other."""
        self._keep(self.position)
        for place, (opening, delimiter) in enumerate(self.awaited):
            if place and self.line.startswith("\n", self.position):
                self.position += 1
            tabs = r"\t*" if opening.startswith("<<-") else ""
            last = re.compile(rf"^{tabs}{re.escape(delimiter)}(?:$|(?=\)))", re.MULTILINE)
            end = last.search(self.line, self.position)
            stop = end.start() if end else len(self.line)
            body = self.line[self.position : stop]
            if tabs:
                body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
            self.heredocs.append(Heredoc(opening, body))
            self.position = end.end() if end else stop
        self.awaited.clear()
        self.copied = self.position

    def _keep(self, end: int) -> None:
        self.kept.append(self.line[self.copied : end])
        self.copied = end


_OPENS = {"(": "(", "$(": "(", "$((": "#"}
_ESCAPED_END = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)


class Prefix(NamedTuple):
    words: str
    """The program, and the words of its own that must follow."""
    skips: int = 0
    """Words of its own behind these, before the command begins."""
    remote: bool = False
    """The command runs in a container or elsewhere: its files are not those of this machine."""
    dashes: bool = False
    """What stands before `--`, if there is one, is its own."""
    becomes: str = ""
    """The program that reads the rest, where the prefix swallows its name."""


_PLAIN = (
    *("sudo", "doas", "env", "time", "nice", "ionice", "nohup", "setsid", "stdbuf", "caffeinate"),
    *("command", "builtin", "exec", "xargs", "xvfb-run", "dotenv", "npx", "bunx", "uvx"),
    *("pnpm dlx", "pnpm exec", "yarn dlx", "yarn exec", "npm x", "bun x", "uv run", "uv tool run"),
    *("pipx run", "poetry run", "pipenv run", "hatch run", "pdm run", "rye run", "conda run"),
    "bundle exec",
)
_CONTAINERS = (
    *("docker exec", "docker compose exec", "docker compose run", "docker-compose exec"),
    *("docker-compose run", "podman exec"),
)
PREFIXES: tuple[Prefix, ...] = (
    *(Prefix(words) for words in _PLAIN),
    *(Prefix(words, skips=1) for words in ("timeout", "gtimeout", "direnv exec")),
    *(Prefix(words, skips=1, remote=True) for words in _CONTAINERS),
    *(Prefix(words, dashes=True) for words in ("npm exec", "mise exec", "mise x", "op run")),
    Prefix("doppler run", dashes=True),
    Prefix("yarn workspace", skips=1, becomes="yarn"),
    Prefix("coverage run", becomes="python"),
    Prefix("kubectl exec", skips=1, remote=True, dashes=True),
)

VALUED: dict[str, frozenset[str]] = {
    program: frozenset(options.split())
    for program, options in {
        "sudo": "-u --user -g --group -h --host -p --prompt -C -D --chdir -R -T",
        "env": "-u --unset -C --chdir -S",
        "nice": "-n --adjustment",
        "ionice": "-c -n -p",
        "stdbuf": "-i -o -e",
        "timeout": "-k --kill-after -s --signal",
        "time": "-f --format -o --output",
        "exec": "-a",
        "xargs": "-I -n -P -L -d -a -s -E --max-args --max-procs --delimiter --arg-file",
        "xvfb-run": "-s --server-args -n --server-num -e --error-file",
        "dotenv": "-f -e",
        "npx": "-p --package --call -c",
        "uvx": "--from --with -p --python",
        "uv": "--with --group --extra --package -p --python --directory --project --env-file --from"
        " --no-group --only-group --with-requirements --with-editable",
        "conda": "-n --name -p --prefix",
        "poetry": "-C --directory -P --project -G --group -E --extras",
        "hatch": "-e --env",
        "pdm": "-p --project -G --group",
        "coverage": "--source --omit --include --rcfile --context --data-file",
        "mise": "-C --cd -j --jobs -t --tool",
        "docker": "-e --env -w --workdir -u --user -f --file -p --project-name -c --context -H"
        " --env-file --profile --project-directory -t --tag --target --platform --build-arg -v"
        " --volume --name --network",
        "kubectl": "-n --namespace -c --container --context --kubeconfig -f --filename -l -k",
        "helm": "-n --namespace -f --values --set --kube-context --version",
        "git": "-C -c --git-dir --work-tree --namespace -m -F --message --file --author --date"
        " -u -o -s --strategy -X --onto --push-option",
        "gh": "-R --repo -t --title -b --body -F --body-file -B --base -H --head -l --label -a"
        " --assignee -r --reviewer -n --notes --notes-file --target",
        "glab": "-R --repo -t --title -d --description -b --target-branch -s --source-branch",
        "make": "-C --directory -f --file --makefile -I -o -W",
        "npm": "--prefix -w --workspace --registry --tag -C --loglevel",
        "pnpm": "--filter -F -C --dir --reporter --loglevel",
        "yarn": "--cwd --network-timeout",
        "bun": "--cwd --filter -F",
        "python": "-X -W",
        "pip": "-r -c -e -i -t --requirement --constraint --target --python --prefix",
        "node": "-r --require --import --loader --env-file --max-old-space-size",
        "go": "-C",
        "cargo": "--manifest-path -p --package --features -F --target --target-dir --color -j"
        " --jobs --profile --config -Z --bin --example",
        "mvn": "-f --file -pl --projects -P --activate-profiles -s --settings -T --threads -rf",
        "gradle": "-p --project-dir -b -c -x --exclude-task -I --init-script -g --tests",
        "dotnet": "-c --configuration -f --framework -o --output --project -v --verbosity",
        "just": "-f --justfile -d --working-directory --set",
        "task": "-d --dir -t --taskfile -o --output -C",
        "rake": "-f --rakefile -C --directory -I -r",
        "composer": "-d --working-dir",
        "deno": "-c --config",
        "tox": "-e -c --workdir",
        "nox": "-s -f -e --session --noxfile",
        "swift": "--package-path -c --configuration",
        "cmake": "--build -S -B -G --target --config --preset -j --parallel",
        "psql": "-h -p -U -d -c -f -v --host --port --username --dbname --file --command",
        "turbo": "--filter -F --cwd",
        "nx": "-t -p --projects -c --configuration",
        "alembic": "-c --config -n --name -x",
        "terraform": "-chdir",
        "gcloud": "--project --region --zone",
    }.items()
}
"""Options whose value is the next word, per program. Only those that may stand before the words a
command is told by."""

ALIASES = {
    **dict.fromkeys(("python2", "python3", "pypy", "pypy3", "py"), "python"),
    **dict.fromkeys(("podman", "docker-compose"), "docker"),
    "pip3": "pip",
    "gradlew": "gradle",
    "mvnw": "mvn",
    "gmake": "make",
    "gtimeout": "timeout",
    "nodejs": "node",
    "batcat": "bat",
}
_VERSIONED = re.compile(r"(?:python|pip|pypy|node)\d*(?:\.\d+)+")
_ENDINGS = re.compile(r"\.(?:exe|cmd|bat)$", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
REMEMBERED = 512
"""Programs and commands kept plain: everyone who looks at a line asks for the same ones."""
MOST_PREFIXES = 6
"""More of them one before the other than anyone writes."""
_BY_PROGRAM: dict[str, list[Prefix]] = {}
for _prefix in sorted(PREFIXES, key=lambda prefix: -prefix.words.count(" ")):
    _BY_PROGRAM.setdefault(_prefix.words.partition(" ")[0], []).append(_prefix)


class Plain(NamedTuple):
    words: tuple[str, ...]
    """What is really run."""
    remote: bool


def without_prefixes(words: Sequence[str]) -> Plain:
    """A command without what merely runs it: `sudo timeout 60 npx jest` is `jest`."""
    return _without_prefixes(tuple(words))


@lru_cache(maxsize=REMEMBERED)
def _without_prefixes(plain: tuple[str, ...]) -> Plain:
    remote = False
    for _ in range(MOST_PREFIXES):
        inner = _inner(plain)
        if inner is None:
            break
        plain, remote = inner.words, remote or inner.remote
    return Plain(plain, remote)


@lru_cache(maxsize=REMEMBERED)
def program_of(word: str) -> str:
    """A program by its usual name: without folder, version and ending."""
    name = word.replace("\\", "/").rpartition("/")[2]
    name = _ENDINGS.sub("", name)
    if (found := _VERSIONED.fullmatch(name)) is not None:
        name = re.sub(r"[\d.]+$", "", found[0])
    return ALIASES.get(name, name)


def next_argument(words: Sequence[str], start: int, valued: frozenset[str]) -> int:
    """Place of the first word from `start` on that is neither an option nor an option's value."""
    place = start
    while place < len(words):
        word = words[place]
        if word == "--":
            return place + 1
        if not word.startswith(("-", "+")) or word == "-":
            return place
        place += 2 if word in valued else 1
    return place


def arguments(words: Sequence[str]) -> list[str]:
    """The words of a command behind its program, options and their values left out."""
    valued = VALUED.get(program_of(words[0]), frozenset())
    found = []
    place = next_argument(words, 1, valued)
    while place < len(words):
        found.append(words[place])
        place = next_argument(words, place + 1, valued)
    return found


def _inner(words: tuple[str, ...]) -> Plain | None:
    """The command behind the first prefix; None when there is none."""
    if not words:
        return None
    name = words[0].replace("\\", "/").rpartition("/")[2]
    for prefix in _BY_PROGRAM.get(name, ()):
        rest = _behind(prefix, words)
        if rest is not None:
            return Plain(rest, prefix.remote)
    return None


def _behind(prefix: Prefix, words: tuple[str, ...]) -> tuple[str, ...] | None:
    own = prefix.words.split()
    valued = VALUED.get(program_of(own[0]), frozenset())
    place = 1
    for word in own[1:]:
        place = next_argument(words, place, valued)
        if place >= len(words) or words[place] != word:
            return None
        place += 1
    if _module(words, place):
        return ("python", *words[place:])
    if prefix.dashes and "--" in words[place:]:
        place = words.index("--", place) + 1
    else:
        place = _command_start(words, place, prefix.skips, valued)
    rest = words[place:]
    if not rest:
        return None
    return (prefix.becomes, *rest) if prefix.becomes else rest


def _command_start(words: tuple[str, ...], place: int, skips: int, valued: frozenset[str]) -> int:
    place = next_argument(words, place, valued)
    for _ in range(skips):
        place = next_argument(words, place + 1, valued)
    while place < len(words) and _ASSIGNMENT.match(words[place]):
        place += 1
    return place + 1 if words[place : place + 1] == ("--",) else place


def _module(words: tuple[str, ...], place: int) -> bool:
    """`uv run -m pytest`, `coverage run -m pytest`: the module is Python's."""
    return place < len(words) and words[place] == "-m" and words[0] in ("uv", "coverage", "pdm")


# One simple command of a shell line.

Joint = Literal["", ";", "&", "&&", "||", "|"]


class Redirect(Value, frozen=True):
    operator: str
    """`>`, `>>`, `>|`, `&>`, `&>>`, `>&`, `<` or `<>`."""
    target: str


class Command(Value, frozen=True):
    words: tuple[str, ...] = ()
    """Program and arguments as the program gets them; empty for a mere redirection or
    assignment. What the shell would expand stands as written."""
    joint: Joint = ""
    """How it hangs on the command before it; empty for the first of a line or of a body."""
    decides: bool = False
    """The line can only have succeeded if this command did."""
    piped: bool = False
    """Its output goes into a pipe."""
    background: bool = False
    """Nobody waited for it."""
    inside: bool = False
    """It stands in a branch, a loop or a function: it may run several times, or never."""
    redirects: tuple[Redirect, ...] = ()
    heredoc: str = ""
    """What it gets as input from here-documents."""
    folder: str = ""
    """Where `cd` before it in the line led; empty for where the line began."""
    remote: bool = False
    """It runs in a container or on another machine."""

    @property
    def plain(self) -> tuple[str, ...]:
        """The words without `sudo`, `timeout 60`, `npx` and the like."""
        return without_prefixes(self.words).words

    @property
    def program(self) -> str:
        plain = self.plain
        return program_of(plain[0]) if plain else ""


def in_folder(folder: str, path: str) -> str:
    """A path as seen from where the line began."""
    if not folder or path.startswith(("/", "~")):
        return path
    whole = normpath(join(folder, path))
    return whole + "/" if path.endswith("/") and not whole.endswith("/") else whole
