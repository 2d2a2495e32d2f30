"""What commands are run for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.shell.calls import purpose_of, target_purpose
from kedgeline.shell.parsing import commands_in

PURPOSES: dict[str, tuple[str, ...]] = {
    "test": (
        "python3.12 -W error -m pytest; .venv/bin/python -m unittest discover",
        "python manage.py test app; coverage run -m pytest; uv run -m pytest",
        "go -C sub test ./...; cargo +nightly nextest run; npm test",
        "npm run test:unit -- --watch=false; npm --prefix web run test",
        "pnpm --filter web test:unit; yarn workspace app test; npx jest@29 --ci",
        "./node_modules/.bin/vitest run; node node_modules/.bin/mocha; node --test test/",
        "./mvnw -q -pl core clean verify; ./gradlew :app:testDebugUnitTest",
        "bundle exec rspec spec/a_spec.rb; rake test; vendor/bin/phpunit; php artisan test",
        "deno test -A; tox -e py311; npx playwright test; make -C src -j 4 check",
        "make lint test; just test-all; mise run test:ci; hatch run test; deno task test",
        "turbo run build test",
    ),
    "build": (
        "cargo check; pnpm build; npx tsc --noEmit; make; make -j8",
        "mvn clean package -DskipTests; docker build -t app .; cmake --build build",
        "webpack --mode production; python -m build",
    ),
    "lint": (
        "ruff check --fix .; uvx ruff check; python -m mypy src",
        "cargo clippy -- -D warnings; npm run format:check; npm run check-types",
        "pre-commit run --all-files",
    ),
    "install": (
        "npm ci; npm i -D vitest; npx create-next-app@latest .",
        "yarn install --frozen-lockfile; pip3 install -r requirements.txt",
        "python -m pip install -e .; uv pip install x; go mod download",
        "sudo apt-get install -y jq; git init; python -m venv .venv",
    ),
    "deploy": (
        "kubectl -n web apply -f app.yml; helm upgrade --install app ./chart",
        "terraform apply -auto-approve; vercel --prod; netlify deploy --prod",
        "gcloud run deploy app; docker compose -f prod.yml up -d",
        "python -m twine upload dist/*; make release; ansible-playbook site.yml",
    ),
    "migration": (
        "alembic upgrade head; python manage.py migrate; bin/rails db:migrate",
        "bundle exec rake db:migrate; npx prisma migrate deploy; npx knex migrate:latest",
        "npm run migrate:latest; sqlx migrate run; php artisan migrate --force",
    ),
    "commit": ("git commit -m x; git -C sub commit -am x; git commit --amend --no-edit",),
    "push": ("git push; git push -u origin main; git push --force-with-lease",),
    "pull_request": ("gh pr create --fill; glab mr create",),
    "merge": ("git merge feature; gh -R a/b pr merge 3 --squash",),
    "tag": ("git tag v1.0; git tag -a v1 -m text; gh release create v1",),
    "other": (
        "npm install --help; git commit --dry-run; git push --dry-run",
        "git push origin --delete old; git merge --abort; git tag; git tag -l 'v*'",
        "git tag -d v1; kubectl apply --dry-run=client -f x; make -n test; make clean",
        "pytest --collect-only; cargo test --no-run; cat test.log; grep pytest setup.cfg",
        """which npm; echo "npm install"; node server.js; python -c 'import pytest'""",
        "bash run.sh; test -f x; terraform plan; git log --grep=commit; sudo; npx",
    ),
}
WRAPPED = (
    *("sudo -u x", "env -u B A=1", "time", "nice -n 5", "nohup", "timeout -k 5 60"),
    *("timeout 10m", "command", "exec", "xvfb-run -a", "npx --yes", "bunx", "pnpm dlx", "uvx"),
    *("uv run --with x", "poetry run", "pipenv run", "hatch run", "pdm run", "rye run"),
    *("bundle exec", "npm exec --", "mise exec --", "mise x node@20 --"),
    *("docker exec -it -w /app web", "docker compose -f a.yml exec -T web"),
    *("docker compose run --rm web", "conda run -n env", "kubectl exec -it pod --"),
    "sudo env A=1 timeout 60",
)


def purposes(line: str) -> list[str]:
    return [purpose_of(command.words) for command in commands_in(line)]


@pytest.mark.parametrize(
    ("line", "purpose"), [(line, purpose) for purpose, each in PURPOSES.items() for line in each]
)
def test_what_a_command_is_for(line: str, purpose: str) -> None:
    assert purposes(line) == [purpose] * len(commands_in(line))


def test_words_before_a_command_do_not_hide_it() -> None:
    found = {prefix: purposes(f"{prefix} jest --ci") for prefix in WRAPPED}
    assert found == {prefix: ["test"] for prefix in WRAPPED}


def test_each_command_of_a_line_has_its_own() -> None:
    line = "cd web && npm ci && npm run build; bash -c 'npm test' || git push"
    assert purposes(line) == ["other", "install", "build", "test", "push"]


@pytest.mark.parametrize(
    ("name", "purpose"),
    [
        ("test:unit", "test"),
        ("unit-tests", "test"),
        ("connectedAndroidTest", "test"),
        (":app:assembleDebug", "build"),
        ("docker-build", "build"),
        ("check-format", "lint"),
        ("db:migrate", "migration"),
        ("clean-test", "other"),
        ("latest", None),
        ("contest", None),
    ],
)
def test_targets_are_told_by_whole_words(name: str, purpose: str | None) -> None:
    assert target_purpose(name) == purpose


@given(st.lists(st.sampled_from(sorted({word for prefix in WRAPPED for word in prefix.split()}))))
def test_any_prefixes_have_a_purpose(words: list[str]) -> None:
    assert purpose_of(tuple(words)) in PURPOSES
