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
        "pytest|py.test|pytest-3|unittest|nose2|nosetests|trial|behave|robot|tox|nox",
        "manage.py test",
        "setup.py test",
        "hatch test",
        "go test",
        "gotestsum|ginkgo|richgo|gotest",
        "cargo test|t|nextest|miri|llvm-cov|tarpaulin",
        "npm test|t|tst|install-test|it",
        "pnpm|yarn|bun test|t",
        "jest|vitest|mocha|ava|jasmine|karma|tap|cypress|wtr|web-test-runner|c8|nyc",
        "node --test",
        "deno test",
        "playwright test",
        "ng|react-scripts|craco|vue-cli-service test|test:*",
        "cucumber|cucumber-js|testcafe|nightwatch",
        "mvn test|verify|integration-test|surefire:*|failsafe:*",
        "rspec|minitest|cutest",
        "rails test|test:*|spec",
        "phpunit|pest|paratest|codecept|atoum",
        "artisan test",
        "dotnet test|vstest",
        "ctest|gtest-parallel|meson-test",
        "meson test",
        "ninja test|check",
        "bazel|bazelisk|buck|buck2|pants test",
        "mix test",
        "swift|sbt|lein|stack|cabal|zig|dune|rebar3|gleam|dart|flutter|crystal test|spec",
        "xcodebuild test",
        "bats|shellspec|busted|prove|kyua",
        "forge test",
        "hardhat|truffle|anchor test",
        "molecule test",
    ),
    "build": (
        "go build|generate",
        "cargo build|b|check|c|doc",
        "tsc|vue-tsc|tsup|esbuild|rollup|webpack|parcel|rspack|swc|babel|microbundle",
        "vite|astro|next|nuxt|nuxi|remix|gatsby|ng|svelte-kit|storybook|expo|eas build",
        "react-scripts|craco|vue-cli-service|turbo|nx|lerna build",
        "wasm-pack|trunk|tauri|cross|maturin build",
        "bun build",
        "deno compile|bundle|check",
        "mvn package|compile|test-compile|install|site",
        "docker build",
        "docker buildx|compose|image build|bake",
        "buildah|nerdctl|kaniko|pack build|bud",
        "cmake --build",
        "ninja|meson|samu|scons|waf",
        "meson compile|setup",
        "gcc|g++|clang|clang++|cc|c++|rustc|javac|kotlinc|ghc",
        "dotnet build|publish|pack|msbuild",
        "msbuild",
        "swift|sbt|zig|stack|cabal|dune|mix|lein|gleam|elm|haxe|crystal|forge build|compile|make",
        "xcodebuild",
        "bazel|bazelisk|buck|buck2 build",
        "hatch|poetry|uv|flit|pdm|python-build build",
        "build",
        "setup.py build|build_ext|sdist|bdist_wheel",
        "packer|hugo|jekyll|mkdocs|sphinx-build|zola build",
        "hugo|sphinx-build",
        "nix-build",
        "nix build",
        "hardhat|truffle|anchor compile|build",
        "flutter|dart build|compile",
        "gem build",
        "rails assets:precompile",
    ),
    "lint": (
        "ruff|flake8|pylint|mypy|pyright|basedpyright|pyre|black|isort|bandit|vulture|pyflakes",
        "autopep8|yapf|pycodestyle|pydocstyle|ty|djlint|interrogate",
        "eslint|eslint_d|oxlint|tslint|standard|xo|stylelint|knip|depcheck|svelte-check",
        "prettier|biome|dprint|rome",
        "next|ng|nx|turbo lint|format",
        "golangci-lint|staticcheck|revive|gofmt|gofumpt|goimports|govulncheck|gosec",
        "go vet|fmt",
        "cargo clippy|fmt|audit|deny|machete|udeps|outdated",
        "rustfmt|clippy-driver",
        "deno lint|fmt",
        "mvn checkstyle:*|spotless:*|pmd:*|spotbugs:*",
        "ktlint|detekt|checkstyle|scalafmt|scalafix",
        "rubocop|standardrb|reek|brakeman|sorbet|erb_lint",
        "phpstan|phpcs|phpcbf|psalm|pint|php-cs-fixer|rector",
        "dotnet format",
        "mix format|credo|dialyzer",
        "swiftlint|swiftformat|swift-format",
        "clang-format|clang-tidy|cppcheck|cpplint",
        "shellcheck|shfmt|hadolint|yamllint|actionlint|markdownlint|markdownlint-cli2|vale|ansible-lint",
        "buf lint|format",
        "terraform|tofu fmt|validate",
        "helm lint",
        "tflint|checkov|semgrep|trivy|sqlfluff|codespell|typos|commitlint|taplo|stylua|luacheck",
        "pre-commit|lefthook|lint-staged|husky run",
        "pre-commit|lint-staged",
    ),
    "install": (
        "npm install|i|in|ci|add|clean-install|isntall|update|up|init|create|link|dedupe|rebuild",
        "pnpm install|i|add|update|up|init|create|link|import",
        "yarn install|add|up|upgrade|init|create|set|link",
        "bun install|i|add|update|init|create|link",
        "deno install|add|init",
        "pip install|sync|download",
        "pip-sync|pip-compile|ensurepip|venv|virtualenv",
        "uv sync|add|lock|init|venv",
        "uv pip|tool|python install|sync|upgrade|compile",
        "poetry install|add|update|lock|sync|init|new",
        "pipenv install|sync|update|lock",
        "pdm install|add|sync|update|lock|init",
        "rye sync|add|init|install",
        "pipx install|inject|upgrade",
        "conda|mamba|micromamba install|create|update",
        "conda|mamba|micromamba env create|update",
        "pixi install|add|init",
        "hatch env create",
        "hatch new",
        "setup.py install|develop",
        "cargo add|install|fetch|update|new|init|binstall|vendor",
        "rustup install|update|default",
        "rustup component|target|toolchain add|install",
        "go get|install",
        "go mod download|tidy|init|vendor",
        "go work init|use|sync",
        "apt|apt-get|aptitude|dnf|yum|zypper|pkg|brew install|update|upgrade",
        "port|choco|winget|scoop install|upgrade",
        "apk add",
        "pacman -S",
        "snap|flatpak install",
        "gem install|update",
        "bundle install|update|add|init",
        "bundle",
        "composer install|update|require|create-project|init",
        "dotnet add|restore|new",
        "dotnet tool install|restore|update",
        "nuget install|restore",
        "mix deps.get|deps.update|local.hex|new|phx.new",
        "mvn dependency:*|archetype:generate",
        "swift package resolve|update|init",
        "pod install|update",
        "flutter|dart pub get|add|upgrade",
        "git init",
        "git submodule update|add",
        "rails new",
        "django-admin startproject|startapp",
        "manage.py startapp",
        "playwright install|install-deps",
        "mise|asdf|nvm|fnm|volta|pyenv|rbenv|sdk install|i",
        "corepack enable|prepare",
        "shadcn|shadcn-ui add|init",
        "lerna bootstrap",
        "vcpkg|conan install",
        "code --install-extension",
        "create-*|degit|cookiecutter|copier",
        "helm repo add|update",
        "terraform|tofu init",
    ),
    "deploy": (
        "kubectl apply|replace|rollout",
        "helm upgrade|install|rollback",
        "kustomize apply",
        "terraform|tofu|terragrunt apply|destroy",
        "pulumi|cdk up|deploy|destroy",
        "sam|serverless|sls|copilot|amplify|architect|sst|chalice|zappa deploy",
        "vercel|now --prod",
        "vercel|netlify|wrangler|firebase|fly|flyctl|railway|render|surge|gh-pages deploy|up",
        "surge|gh-pages",
        "wrangler publish",
        "wrangler pages deploy|publish",
        "gcloud run|app|functions deploy",
        "gcloud builds submit",
        "aws s3|cloudformation|lambda|ecs sync|deploy|update-function-code|update-service",
        "az webapp|functionapp|deployment up|deploy|create",
        "heroku container:release|container:push",
        "docker push",
        "docker image push",
        "docker stack deploy",
        "docker compose up|push",
        "skaffold|tilt|werf|kamal|waypoint run|up|deploy|converge",
        "npm|pnpm|lerna|changeset|jsr publish",
        "yarn publish",
        "yarn npm publish",
        "bun|deno publish",
        "twine upload",
        "uv|poetry|hatch|flit|pdm|rye|maturin publish",
        "cargo publish|release",
        "gem push",
        "mvn deploy|release:*",
        "dotnet nuget push",
        "nuget push",
        "ansible-playbook",
        "semantic-release|release-it|goreleaser|standard-version",
        "forge script|create --broadcast",
        "anchor deploy",
        "pm2 deploy",
        "vsce|ovsx publish",
        "mix hex.publish|release",
    ),
    "migration": (
        "alembic upgrade|downgrade|stamp",
        "manage.py migrate",
        "django-admin migrate",
        "flask db upgrade|downgrade|migrate",
        "aerich upgrade|migrate",
        "rails|rake db:migrate*|db:schema:load|db:setup|db:prepare|db:rollback|db:reset",
        "prisma migrate dev|deploy|reset",
        "prisma db push",
        "knex migrate:*",
        "sequelize|sequelize-cli db:migrate*",
        "typeorm|typeorm-ts-node-commonjs|typeorm-ts-node-esm migration:run|migration:revert",
        "mikro-orm migration:up|migration:down",
        "drizzle-kit push|migrate|up",
        "flyway|liquibase migrate|update",
        "mvn flyway:migrate|liquibase:update",
        "goose|dbmate|migrate|atlas|tern|sql-migrate up|migrate",
        "atlas schema|migrate apply",
        "sqlx migrate run",
        "sqlx database setup|reset",
        "diesel migration run|redo",
        "diesel setup|database",
        "sea-orm-cli migrate",
        "artisan migrate*",
        "mix ecto.migrate|ecto.setup|ecto.reset|ecto.rollback",
        "dotnet ef database update",
        "supabase db push|reset",
        "supabase migration up",
        "wrangler d1 migrations apply",
        "console doctrine:migrations:migrate",
        "phinx migrate",
    ),
    "commit": ("git commit", "jj commit|describe", "hg commit", "svn commit"),
    "push": ("git push", "jj git push", "hg push", "gt submit"),
    "pull_request": (
        "gh pr create|new",
        "glab mr create",
        "hub pull-request",
        "az repos pr create",
    ),
    "merge": ("git merge", "gh pr merge", "glab mr merge", "hg merge"),
    "tag": ("git tag", "gh release create", "glab release create"),
    "other": (
        "bundle show|list|outdated|config|info|open|exec",
        "cypress|vitest|jest|playwright open|list|show-report|show-trace|codegen",
        "prisma studio|generate|format|validate",
        "terraform plan|show|output|state",
        "webpack|parcel serve|dev",
        "next|vite|astro|nuxt|remix|gatsby|ng|expo|hugo dev|start|serve|preview|server",
        "ruff version|rule|config|clean|linter|help|server",
        "biome|golangci-lint init|version|linters|explain",
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

TARGETS_TOGETHER: tuple[tuple[str, str, Purpose], ...] = (
    ("check", "types", "lint"),
    ("check", "type", "lint"),
    ("check", "format", "lint"),
    ("check", "fmt", "lint"),
    ("check", "lint", "lint"),
    ("check", "style", "lint"),
    ("type", "check", "lint"),
    ("style", "check", "lint"),
    ("test", "deps", "install"),
    ("build", "deps", "install"),
)
"""Names whose first two words say something else than the first alone."""

WEIGHTIEST: tuple[Purpose, ...] = ("deploy", "migration", "test", "build", "install", "lint")
"""Which of several targets one command is named after."""


class Wrapper(NamedTuple):
    """A program that runs what a file of the project names."""

    words: frozenset[str] = frozenset()
    """Words before the name."""
    needed: bool = False
    """Without one of them no name follows."""
    several: bool = False
    """More than one name may follow."""
    alone: Purpose = "other"
    """What it is for without a name."""


WRAPPERS: dict[str, Wrapper] = {
    "make": Wrapper(several=True, alone="build"),
    "just": Wrapper(several=True),
    "task": Wrapper(several=True),
    "rake": Wrapper(several=True),
    "invoke": Wrapper(several=True),
    "inv": Wrapper(several=True),
    "gradle": Wrapper(several=True),
    "earthly": Wrapper(several=True),
    "poe": Wrapper(),
    "npm": Wrapper(frozenset({"run", "run-script"}), needed=True),
    "pnpm": Wrapper(frozenset({"run", "run-script"})),
    "yarn": Wrapper(frozenset({"run"})),
    "bun": Wrapper(frozenset({"run"}), needed=True),
    "deno": Wrapper(frozenset({"task"}), needed=True),
    "composer": Wrapper(frozenset({"run", "run-script"})),
    "mise": Wrapper(frozenset({"run", "r"})),
    "cargo": Wrapper(frozenset({"make", "xtask"}), needed=True),
    "turbo": Wrapper(frozenset({"run"}), several=True),
    "nx": Wrapper(frozenset({"run"})),
    "lerna": Wrapper(frozenset({"run"}), needed=True),
    "rush": Wrapper(),
}

_NAME_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_PURPOSES = {word: purpose for purpose, words in TARGETS.items() for word in words.split()}


def target_purpose(name: str) -> Purpose | None:
    """What a make target or a package's script is for, by its name."""
    parts = [part.casefold() for part in _NAME_PARTS.findall(name)]
    for first, second, purpose in TARGETS_TOGETHER:
        if parts[:2] == [first, second]:
            return purpose
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
            return None if _names_nothing(rule, program, given) else rule.purpose
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


def _names_nothing(rule: _Rule, program: str, given: list[str]) -> bool:
    """`git tag` without a name lists tags."""
    return rule.purpose == "tag" and program == "git" and len(given) < 2


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
