"""A session whose every field tries to become part of the page."""

from __future__ import annotations

from pathlib import Path

from tests.claude import Records

MARKS = (
    "<script>window.ran=1</script>",
    "<img src=x onerror=window.ran=2>",
    "<svg onload=window.ran=3><a xlink:href='javascript:window.ran=4'>x</a></svg>",
    "</script><script>window.ran=5</script><!--",
    "javascript:window.ran=6",
    "\u202egnp.exe\u2066 \u200f",
    "\x1b[31mred\x1b]8;;http://198.51.100.7/\x07link\x1b[2J",
    "<link rel=stylesheet href=http://198.51.100.7/a.css><iframe src=http://198.51.100.7/>",
    "{{constructor.constructor('window.ran=7')()}} ${window.ran=8} `</code>`<b>**<i>**",
    '" onmouseover="window.ran=9" x="',
)
ALL = " ".join(MARKS)
SVG = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0id2luZG93LnJhbj0xIi8+"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def picture(mime: str, data: str) -> dict[str, object]:
    source = {"type": "base64", "media_type": mime, "data": data}
    return {"type": "image", "source": source}


def call(id: str, name: str, **given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def write(path: Path, turns: int = 12) -> Path:
    """The session, each of whose texts is a mark or all of them."""
    made = Records()
    for number in range(turns):
        mark = MARKS[number % len(MARKS)]
        made.user(
            [
                {"type": "text", "text": f"{mark} must always be so. {ALL}"},
                picture("image/svg+xml", SVG),
                picture("image/png", PIXEL),
                picture('image/png" onerror="window.ran=1', PIXEL),
            ],
            cwd=f"/home/{MARKS[0]}",
            gitBranch=ALL,
        )
        made.assistant(
            f"m{number}",
            {"type": "thinking", "thinking": ALL, "signature": ALL},
            {
                "type": "text",
                "text": f"{ALL}\n```html\n{ALL}\n```\n# {mark}\nWe decided on {mark}.",
            },
            call(f"a{number}", "Bash", command=f"pytest {mark}", description=ALL),
            call(f"b{number}", "Edit", file_path=f"/x/{mark}.py", old_string=ALL, new_string=mark),
            call(f"c{number}", mark, **{mark: {mark: [mark]}}),
        )
        made.result(f"a{number}", f"1 failed\n{ALL}", is_error=True)
        made.result(f"b{number}", ALL)
        made.result(f"c{number}", [{"type": "text", "text": ALL}, picture("image/gif", ALL)])
        made.user(f"<system-reminder>{ALL}</system-reminder>")
    made.raw({"type": "summary", "summary": ALL, "leafUuid": "u1"})
    made.raw({"type": "ai-title", "aiTitle": ALL, "sessionId": "s1"})
    path.write_bytes(b"".join(made.lines))
    return path
