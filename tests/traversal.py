"""Names that try to leave a folder, and a run of them under watch.

Run as a program it writes and reads a session file under every name and prints what became of each,
and every path that was opened, made or renamed on the way."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

ODD = [
    *(
        "",
        ".",
        "..",
        "...",
        "/",
        "//",
        "\\",
        "a/b",
        "a\\b",
        "a/../b",
        "./a",
        ".a",
        "-a",
        "_a",
        "a.",
    ),
    *("~", "~root", "$HOME", "${HOME}", "`id`", "$(id)", "a;b", "a|b", "a&b", "a*", "a?", "a:b"),
    *("{PRODUCT}", "{TASK_ID}", "{0.__class__}", "%s", "%(x)s", "a{TASK_ID}", "<a>", '"a"', "'a'"),
    *(
        "C:",
        "C:x",
        "C:\\x",
        "C:/x",
        "\\\\server\\share",
        "//server/share",
        "\\\\?\\C:\\x",
        "\\\\.\\C:",
    ),
    *(
        "file:///x",
        "http://x/y",
        "a\u2024b",
        "‥",
        "．．",
        "．．／x",
        "∕x",
        "a⁄b",
        "a／b",
        "a＼b",
        "%00",
    ),
    *(
        "é",
        "e\u0301",
        "ﬁ",
        "а",
        "１",
        "a\u200b",
        "a\u202eb",
        "\ufeffa",
        "a\u2028b",
        "a\ud800",
        "漢",
        "a\u00a0",
    ),
    *(
        "a" * 65,
        "a" * 256,
        "a" * 5_000,
        "a b",
        " a",
        "a ",
        "a\u3000",
        "İ",
        "ſ",
        "\u212a",
        "a%",
        "%2e",
        "%2E%2e",
    ),
]
DEVICES = [
    f"{name}{ending}"
    for device in ("con", "prn", "aux", "nul", "com0", "com1", "com9", "lpt0", "lpt1", "lpt9")
    for name in (device, device.upper(), device.title())
    for ending in ("", ".txt", ".tar.gz", ".")
]
CONTROLS = [
    name
    for code in (*range(0x20), *range(0x7F, 0xA0))
    for name in (f"a{chr(code)}", f"{chr(code)}a", f"a{chr(code)}b")
]
UPWARDS = [
    f"{start}{up * times}{end}"
    for start in ("", "a", "/", "T-1/")
    for up in (
        "../",
        "..\\",
        "..%2f",
        "%2e%2e/",
        "%2e%2e%2f",
        "..%5c",
        "..%c0%af",
        "%252e%252e%252f",
    )
    for times in (1, 2, 6)
    for end in ("", "x", "etc/passwd")
]
WRONG = list(dict.fromkeys([*ODD, *DEVICES, *CONTROLS, *UPWARDS]))
RIGHT = ["T-1", "0", "a", "v1.2_x", "a..b", "a" * 64, "CONtainer", "com10", "A.B-C_D", "nulled"]


def watched(root: Path) -> dict[str, Any]:
    """What became of every name, and every path that was touched."""
    from kedgeline.errors import KedgelineError
    from kedgeline.model import Summary
    from kedgeline.session.exports import read_session_file, write_session_file

    touched: list[str] = []
    outcomes: dict[str, list[str]] = {}
    opened = os.open

    def noting(path: Any, *arguments: Any, **options: Any) -> int:
        descriptor = opened(path, *arguments, **options)
        touched.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        return descriptor

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link"):
            names = [one for one in arguments if isinstance(one, (str, bytes, Path))][:2]
            away = (os.fsdecode(name) for name in names if "/" in os.fsdecode(name))
            touched.extend(name for name in away if not name.startswith("/proc/self/"))

    count = len  # loads nothing while it is watched
    write_session_file(root, "warm", "up", Summary(), count=count)
    read_session_file(root, "warm", "up")
    os.open = noting
    os.supports_dir_fd.add(noting)
    sys.addaudithook(hook)
    for name in (*WRONG, *RIGHT):
        found = outcomes.setdefault(name, [])
        for product, task in ((name, "T-1"), ("p", name), (name, name)):
            for act in ("write", "read"):
                try:
                    if act == "write":
                        write_session_file(root, product, task, Summary(), count=count)
                    else:
                        read_session_file(root, product, task)
                    found.append("done")
                except KedgelineError as error:
                    found.append(type(error).__name__)
    return {"outcomes": outcomes, "touched": sorted(set(touched))}


if __name__ == "__main__":
    json.dump(watched(Path(sys.argv[1])), sys.stdout)
