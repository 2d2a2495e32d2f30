"""The hosts that kedge knows, by name."""

from __future__ import annotations

from kedge.errors import UnknownName
from kedge.integrations.hosts.claude_code import HOST as CLAUDE_CODE
from kedge.integrations.hosts.codex import HOST as CODEX
from kedge.integrations.hosts.gemini_cli import HOST as GEMINI_CLI
from kedge.integrations.hosts.opencode import HOST as OPENCODE
from kedge.integrations.hosts.pieces import Host

HOSTS: tuple[Host, ...] = (CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE)


def host_named(name: str) -> Host:
    for host in HOSTS:
        if host.name == name:
            return host
    raise UnknownName("host", name, known=tuple(host.name for host in HOSTS))
