"""What a command is run for."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from kedgeline.outcomes.evidence import Purpose
from kedgeline.outcomes.shell.prefixes import arguments, program_of, without_prefixes

# What commands are run for: one data table.

RULES: dict[Purpose, tuple[str, ...]] = {
    "test": (
        "pytest|py.test|unittest|nosetests|behave|robot|tox|nox",
        "manage.py|setup.py|hatch|meson|artisan|mix|forge|playwright|deno|xcodebuild|molecule test",
        "go test",
        "gotestsum|ginkgo",
        "cargo test|t|nextest|llvm-cov",
        "npm test|t|tst|install-test|it",
        "pnpm|yarn|bun test|t",
        "jest|vitest|mocha|ava|jasmine|karma|tap|cypress|c8|nyc|cucumber|cucumber-js",
        "node --test",
        "ng|react-scripts|vue-cli-service test|test:*",
        "mvn test|verify|integration-test|surefire:*|failsafe:*",
        "rspec|minitest|phpunit|pest|paratest|ctest|bats|busted|prove",
        "rails test|test:*|spec",
        "dotnet test|vstest",
        "ninja test|check",
        "bazel|bazelisk|buck2|pants|hardhat|anchor test",
        "swift|sbt|lein|stack|cabal|zig|dune|rebar3|gleam|dart|flutter|crystal test|spec",
    ),
    "build": (
        "go build|generate",
        "cargo build|b|check|c|doc",
        "tsc|vue-tsc|tsup|esbuild|rollup|webpack|parcel|swc|babel|msbuild|xcodebuild|hugo|build",
        "vite|astro|next|nuxt|remix|gatsby|ng|storybook|expo|react-scripts|vue-cli-service build",
        "turbo|nx|lerna|wasm-pack|tauri|maturin|bun|docker|bazel|bazelisk|buck2|nix|gem build",
        "hatch|poetry|uv|flit|pdm|packer|jekyll|mkdocs build",
        "deno compile|bundle|check",
        "mvn package|compile|test-compile|install|site",
        "docker buildx|compose|image build|bake",
        "cmake --build",
        "ninja|meson|scons|sphinx-build|nix-build",
        "meson compile|setup",
        "gcc|g++|clang|clang++|cc|c++|rustc|javac|kotlinc|ghc",
        "dotnet build|publish|pack|msbuild",
        "swift|sbt|zig|stack|cabal|dune|mix|lein|gleam|elm|crystal|forge build|compile|make",
        "hardhat|anchor|flutter|dart build|compile",
        "setup.py build|build_ext|sdist|bdist_wheel",
        "rails assets:precompile",
    ),
    "lint": (
        "ruff|flake8|pylint|mypy|pyright|basedpyright|black|isort|bandit|pyflakes|autopep8|yapf|ty",
        "eslint|oxlint|standard|stylelint|knip|svelte-check|prettier|biome|dprint",
        "next|ng|nx|turbo lint|format",
        "golangci-lint|staticcheck|gofmt|gofumpt|goimports|govulncheck|gosec",
        "go vet|fmt",
        "cargo clippy|fmt|audit|deny",
        "rustfmt|ktlint|detekt|checkstyle|scalafmt|rubocop|standardrb|brakeman|phpstan|phpcs|psalm",
        "deno lint|fmt",
        "mvn checkstyle:*|spotless:*|pmd:*|spotbugs:*",
        "php-cs-fixer|pint|swiftlint|swiftformat|clang-format|clang-tidy|cppcheck|stylua|luacheck",
        "dotnet format",
        "mix format|credo|dialyzer",
        "shellcheck|shfmt|hadolint|yamllint|actionlint|markdownlint|markdownlint-cli2|vale",
        "buf|helm lint|format",
        "terraform|tofu fmt|validate",
        "tflint|checkov|semgrep|trivy|sqlfluff|codespell|typos|commitlint|taplo|ansible-lint",
        "pre-commit|lefthook run",
        "pre-commit|lint-staged",
    ),
    "install": (
        "npm install|i|in|ci|add|clean-install|update|up|init|create|link|dedupe|rebuild",
        "pnpm|yarn|bun install|i|add|update|up|upgrade|init|create|link",
        "deno install|add|init",
        "pip install|sync|download",
        "pip-sync|pip-compile|ensurepip|venv|virtualenv",
        "uv sync|add|lock|init|venv",
        "uv pip|tool|python install|sync|upgrade|compile",
        "poetry|pipenv|pdm|rye|pixi install|add|update|lock|sync|init|new",
        "pipx install|inject|upgrade",
        "conda|mamba|micromamba install|create|update",
        "conda|mamba|micromamba env create|update",
        "setup.py install|develop",
        "cargo add|install|fetch|update|new|init|binstall|vendor",
        "rustup install|update|default",
        "rustup component|target|toolchain add|install",
        "go get|install",
        "go mod download|tidy|init|vendor",
        "go work init|use|sync",
        "apt|apt-get|dnf|yum|zypper|brew|choco|winget|scoop install|update|upgrade",
        "snap|flatpak|nuget|vcpkg|conan install|restore",
        "apk add",
        "pacman -S",
        "gem|pod install|update",
        "bundle install|update|add|init",
        "bundle",
        "composer install|update|require|create-project|init",
        "dotnet add|restore|new",
        "dotnet tool install|restore|update",
        "mix deps.get|deps.update|local.hex|new|phx.new",
        "mvn dependency:*|archetype:generate",
        "swift package resolve|update|init",
        "flutter|dart pub get|add|upgrade",
        "git init",
        "git submodule update|add",
        "rails new",
        "django-admin|manage.py startproject|startapp",
        "playwright install|install-deps",
        "mise|asdf|nvm|fnm|volta|pyenv|rbenv|sdk install|i",
        "corepack enable|prepare",
        "shadcn add|init",
        "create-*|degit|cookiecutter|copier",
        "helm repo add|update",
        "terraform|tofu init",
    ),
    "deploy": (
        "kubectl apply|replace|rollout",
        "helm upgrade|install|rollback",
        "terraform|tofu|terragrunt apply|destroy",
        "pulumi|cdk up|deploy|destroy",
        "sam|serverless|sls|sst|anchor|pm2 deploy",
        "vercel --prod",
        "vercel|netlify|wrangler|firebase|fly|flyctl|railway deploy|up",
        "surge|gh-pages|ansible-playbook|semantic-release|release-it|goreleaser",
        "wrangler publish",
        "wrangler pages deploy|publish",
        "gcloud run|app|functions deploy",
        "gcloud builds submit",
        "aws s3|cloudformation|lambda|ecs sync|deploy|update-function-code|update-service",
        "az webapp|functionapp|deployment up|deploy|create",
        "heroku container:release|container:push",
        "docker push",
        "docker image|stack push|deploy",
        "docker compose up|push",
        "skaffold|tilt|kamal run|up|deploy",
        "npm|pnpm|yarn|bun|deno|lerna|changeset|jsr|vsce publish",
        "yarn npm publish",
        "twine upload",
        "uv|poetry|hatch|flit|pdm|maturin publish",
        "cargo publish|release",
        "gem|nuget push",
        "mvn deploy|release:*",
        "dotnet nuget push",
        "forge script|create --broadcast",
        "mix hex.publish|release",
    ),
    "migration": (
        "alembic upgrade|downgrade|stamp",
        "manage.py|django-admin|phinx|sea-orm-cli migrate",
        "flask db upgrade|downgrade|migrate",
        "rails|rake db:migrate*|db:schema:load|db:setup|db:prepare|db:rollback|db:reset",
        "prisma migrate dev|deploy|reset",
        "prisma|supabase db push|reset",
        "knex migrate:*",
        "sequelize|sequelize-cli db:migrate*",
        "typeorm migration:run|migration:revert",
        "drizzle-kit push|migrate|up",
        "flyway|liquibase migrate|update",
        "mvn flyway:migrate|liquibase:update",
        "goose|dbmate|migrate|atlas|tern|sql-migrate up|migrate",
        "atlas schema|migrate apply",
        "sqlx|diesel migrate|migration run|redo",
        "artisan migrate*",
        "mix ecto.migrate|ecto.setup|ecto.reset|ecto.rollback",
        "dotnet ef database update",
        "supabase migration up",
        "wrangler d1 migrations apply",
        "console doctrine:migrations:migrate",
    ),
    "commit": ("git commit", "jj commit|describe", "hg commit", "svn commit"),
    "push": ("git push", "jj git push", "hg push", "gt submit"),
    "pull_request": ("gh pr create|new", "glab mr create", "hub pull-request"),
    "merge": ("git merge", "gh pr merge", "glab mr merge", "hg merge"),
    "tag": ("git tag", "gh release create", "glab release create"),
    "other": (
        "bundle show|list|outdated|config|info|open|exec",
        "cypress|vitest|jest|playwright open|list|show-report|show-trace|codegen",
        "terraform plan|show|output|state",
        "webpack|parcel serve|dev",
        "next|vite|astro|nuxt|remix|gatsby|ng|expo|hugo dev|start|serve|preview|server",
        "ruff|biome|golangci-lint init|version|rule|config|clean|linter|linters|help|server",
        "pre-commit install|autoupdate|clean|uninstall|gc",
        "kubectl rollout status|history",
        "tox|nox list|config|l|c",
    ),
}

ANY = "*"
"""In the place of a program: all of them."""

NOTHING: dict[str, frozenset[str]] = {
    program: frozenset(options.split())
    for program, options in {
        ANY: "--help --version --dry-run --usage --dryrun --just-print --collect-only --co --list"
        " --list-tests --listTests --showConfig --show-config --print-config --fixtures --markers"
        " --syntax-check --list-tasks --list-hosts --show-only --show-settings --show-files"
        " --env-info",
        "git push": "-n --delete -d",
        "git merge": "--abort --quit",
        "git tag": "-l --list -d --delete -v --verify -n --contains --points-at"
        " --merged --no-merged",
        "go test": "-c -list",
        "cargo test": "--no-run",
        "cargo nextest": "--no-run",
        "make": "-n -p -q --recon",
        "gradle": "-m",
        "ctest": "-N",
        "dotnet test": "-t",
        "ansible-playbook": "--check -C",
        "tsc": "--init --showConfig -v",
    }.items()
}
"""Options with which a command only tells of itself, or of what it would do, by program or by
program and first argument."""


# Targets of make files and scripts of packages: what they are for, by their names.

TARGETS: dict[Purpose, str] = {
    "test": "test tests testing check checks spec specs e2e unit verify pytest jest vitest coverage"
    " integration smoke regression",
    "build": "build builds compile all dist bundle assemble package prebuild tsc image images jar",
    "lint": "lint linting fmt format formatting style prettier eslint ruff mypy typecheck types"
    " typing vet clippy tidy spotless ktlint detekt checkstyle rubocop",
    "install": "install setup bootstrap deps dependencies requirements",
    "deploy": "deploy release publish ship",
    "migration": "migrate migration migrations",
    "other": "clean dev start serve server run watch stop logs help docs generate gen list init"
    " version bench benchmark",
}
"""What the target of a make file or a script of a package is for, by the words of its name: the
first that is known here decides, so `test:unit`, `unit-test` and `testDebugUnitTest` are tests."""

TARGETS_TOGETHER: dict[Purpose, str] = {
    "lint": "check types,check type,check format,check fmt,check lint,check style,type check"
    ",style check",
    "install": "test deps,build deps",
}
"""Names whose first two words say something else than the first alone."""

WEIGHTIEST: tuple[Purpose, ...] = ("deploy", "migration", "test", "build", "install", "lint")
"""Which of several targets one command is named after."""


class Wrapper(NamedTuple):
    """A program that runs what a file of the project names."""

    words: tuple[str, ...] = ()
    """Words before the name."""
    needed: bool = False
    """Without one of them no name follows."""
    several: bool = False
    """More than one name may follow."""
    alone: Purpose = "other"
    """What it is for without a name."""


_SEVERAL = ("just", "task", "rake", "invoke", "inv", "gradle", "earthly")
_SCRIPTS = ("run", "run-script")
WRAPPERS: dict[str, Wrapper] = {
    "make": Wrapper(several=True, alone="build"),
    **dict.fromkeys(_SEVERAL, Wrapper(several=True)),
    **dict.fromkeys(("poe", "rush"), Wrapper()),
    **dict.fromkeys(("pnpm", "yarn", "composer", "nx"), Wrapper(_SCRIPTS)),
    **dict.fromkeys(("npm", "bun", "lerna"), Wrapper(_SCRIPTS, needed=True)),
    "deno": Wrapper(("task",), needed=True),
    "mise": Wrapper(("run", "r")),
    "cargo": Wrapper(("make", "xtask"), needed=True),
    "turbo": Wrapper(("run",), several=True),
}

_NAME_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_PURPOSES = {word: purpose for purpose, words in TARGETS.items() for word in words.split()}
_TOGETHER = {
    two: purpose for purpose, pairs in TARGETS_TOGETHER.items() for two in pairs.split(",")
}


def target_purpose(name: str) -> Purpose | None:
    """What a make target or a package's script is for, by its name."""
    parts = [part.casefold() for part in _NAME_PARTS.findall(name)]
    if together := _TOGETHER.get(" ".join(parts[:2])):
        return together
    return next((_PURPOSES[part] for part in parts if part in _PURPOSES), None)


def wrapped(program: str, given: list[str]) -> Purpose | None:
    """The purpose of a target or script that a command names."""
    wrapper = WRAPPERS.get(program)
    if wrapper is None:
        return None
    names = [name for name in given if "=" not in name and not name.isdigit()]
    if names and names[0] in wrapper.words:
        names = names[1:]
    elif wrapper.needed:
        return None
    if not names:
        return wrapper.alone
    wanted = {target_purpose(name) for name in (names if wrapper.several else names[:1])}
    return weightiest(wanted)


def weightiest(purposes: Collection[Purpose | None]) -> Purpose | None:
    """What a command with several targets is named after."""
    return next((purpose for purpose in WEIGHTIEST if purpose in purposes), None)


# What a command is run for, by its words.

REMEMBERED = 2_048
"""Commands whose purpose is kept; the same ones are run again and again."""
INTERPRETERS = {"python", "node", "php", "ruby", "perl"}
"""Programs whose first argument is the program that counts."""
SEVERAL_GOALS = {"mvn", "sbt", "lein"}
"""Programs that take goals one after the other: `mvn clean verify`."""
SCRIPT_RUNNERS = {"hatch", "pdm", "rye"}
"""What stands behind their `run` may be a script of the project."""
_SCRIPT_ENDINGS = re.compile(r"\.(?:[cm]?js|phar|rb)$")
_VERSION = re.compile(r"(?<=.)@[\w.^~-]+$")


class _Words(NamedTuple):
    """Alternatives for one word."""

    exact: frozenset[str]
    beginnings: tuple[str, ...]

    def fit(self, word: str) -> bool:
        return word in self.exact or (bool(self.beginnings) and word.startswith(self.beginnings))


class _Rule(NamedTuple):
    purpose: Purpose
    arguments: tuple[_Words, ...]
    options: frozenset[str]

    def fits(self, given: list[str], options: frozenset[str]) -> bool:
        return (
            len(given) >= len(self.arguments)
            and self.options <= options
            and all(words.fit(word) for words, word in zip(self.arguments, given, strict=False))
        )


@lru_cache(maxsize=REMEMBERED)
def purpose_of(words: tuple[str, ...]) -> Purpose:
    """What a command is for; `other` where the words do not tell."""
    plain = without_prefixes(words).words
    if not plain:
        return "other"
    found = _purpose(plain)
    if found is None and (script := _interpreted(plain)):
        plain = without_prefixes(script).words
        found = _purpose(plain) if plain else None
    if found is None and words[0] in SCRIPT_RUNNERS and words[1:2] == ("run",):
        found = target_purpose(plain[0])
    return found or "other"


def _purpose(plain: tuple[str, ...]) -> Purpose | None:
    program = _VERSION.sub("", program_of(plain[0]))
    given = arguments((program, *plain[1:]))
    options = frozenset(word.partition("=")[0] for word in plain[1:] if word.startswith("-"))
    if _only_tells(program, given, options, plain):
        return "other"
    if program in SEVERAL_GOALS:
        return weightiest({_ruled(program, [goal], options) for goal in given})
    return _ruled(program, given, options) or wrapped(program, given)


def _ruled(program: str, given: list[str], options: frozenset[str]) -> Purpose | None:
    beginning = program.partition("-")[0] + "-"
    for rule in _BY_PROGRAM.get(program) or _BY_BEGINNING.get(beginning) or []:
        if rule.fits(given, options):
            lists_tags = rule.purpose == "tag" and program == "git" and len(given) < 2
            return None if lists_tags else rule.purpose
    return None


def _only_tells(
    program: str, given: list[str], options: frozenset[str], plain: tuple[str, ...]
) -> bool:
    """Whether a command tells of itself, or of what it would do."""
    if plain[1:] in (("-h",), ("-V",), ("-v",), ("help",)):
        return True
    if "--dry-run=none" in plain:
        options -= {"--dry-run"}
    names = (ANY, program, f"{program} {given[0]}") if given else (ANY, program)
    return any(options & NOTHING.get(name, frozenset()) for name in names)


def _interpreted(plain: tuple[str, ...]) -> tuple[str, ...]:
    """What an interpreter runs: `python -m pytest -q` is `pytest -q`, `php artisan test` is
    `artisan test`. Nothing for code given as a word."""
    program = program_of(plain[0])
    if program not in INTERPRETERS:
        return ()
    for place, word in enumerate(plain[1:], start=1):
        if word == "-m" and program == "python":
            return plain[place + 1 :]
        if word in ("-c", "-e", "-"):
            return ()
        if not word.startswith("-") and plain[place - 1] not in ("-X", "-W", "-r", "--require"):
            return (_SCRIPT_ENDINGS.sub("", program_of(word)), *plain[place + 1 :])
    return ()


def _indexed() -> tuple[dict[str, list[_Rule]], dict[str, list[_Rule]]]:
    """The table by program, longer rows first; then what programs' names begin with."""
    exact: dict[str, list[_Rule]] = {}
    beginning: dict[str, list[_Rule]] = {}
    rows = [(row.split(), purpose) for purpose, rows in RULES.items() for row in rows]
    for words, purpose in sorted(rows, key=lambda row: -len(row[0])):
        options = frozenset(word for word in words[1:] if word.startswith("-"))
        fixed = tuple(_alternatives(word) for word in words[1:] if word not in options)
        rule = _Rule(purpose, fixed, options)
        programs = _alternatives(words[0])
        for name in programs.exact:
            exact.setdefault(name, []).append(rule)
        for name in programs.beginnings:
            beginning.setdefault(name, []).append(rule)
    return exact, beginning


def _alternatives(text: str) -> _Words:
    words = text.split("|")
    return _Words(
        frozenset(word for word in words if not word.endswith("*")),
        tuple(word[:-1] for word in words if word.endswith("*")),
    )


_BY_PROGRAM, _BY_BEGINNING = _indexed()
