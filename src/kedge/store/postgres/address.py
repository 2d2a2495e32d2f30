"""The address of a server: what is handed to the library, and what may be shown of it."""

from __future__ import annotations

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from kedge.errors import BadSettings

CONNECT_SECONDS = 10
"""How long a server may take to answer, where the address does not say."""
ALIVE = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""A connection that was cut without a word is given up after a minute, not after two hours."""
SCHEMES = ("postgresql://", "postgres://")


def arguments(place: str) -> dict[str, str | int]:
    """What to connect with."""
    parsed = _parsed(place)
    if parsed is None:
        raise BadSettings(
            "the address of the store",
            "it cannot be read; write postgresql://user@host:5432/name, and %-codes for what is "
            "neither letter nor digit in a password",
        )
    return {"connect_timeout": CONNECT_SECONDS, "application_name": "kedge", **ALIVE, **parsed}


def _parsed(place: str) -> dict[str, str | int] | None:
    """Nothing where it is no address. The library's own message may quote the password, so no
    error of ours may have it as its cause."""
    if not place.startswith(SCHEMES) or "\0" in place:
        return None
    try:
        return {name: value for name, value in conninfo_to_dict(place).items() if value is not None}
    except (ProgrammingError, UnicodeError):
        return None


def shown(given: dict[str, str | int]) -> str:
    """An address without passwords and without whatever else may hold one."""
    host, port = str(given.get("host", "")), given.get("port")
    folder = host.startswith("/")
    user = f"{given['user']}@" if "user" in given else ""
    server = ("" if folder else host) + (f":{port}" if port else "")
    return f"postgresql://{user}{server}/{given.get('dbname', '')}" + (
        f"?host={host}" if folder else ""
    )
