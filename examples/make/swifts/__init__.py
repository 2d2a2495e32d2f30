"""A small study over an API: sources, a drawing, a search, and a table at the end."""

from __future__ import annotations

import stored
from picture import bars, image_block
from recorders.anthropic import Record, Request

BRICK, DARK = (190, 110, 80), (90, 60, 50)
BIRD_SOCIETY = ("Nest boxes for swifts", "https://birds.example.com/swift-boxes", "3 months ago")
COUNTY = ("Leaflet: birds on buildings", "https://county.example.com/leaflet-12.pdf", "2 years ago")
JOINERY = ("Price list 2026", "https://joinery.example.com/prices", "2 weeks ago")


def record() -> Record:
    """The whole request."""
    text = {"type": "text", "text": stored.text("swifts", "system")}
    request = Request(seed="swifts", system=[text | {"cache_control": _CACHED}], tools=_tools())
    for scene in (_begin, _wall, _sources, _costs, _report):
        scene(request)
    return request.document()


_CACHED = {"type": "ephemeral"}


def _tools() -> list[Record]:
    reads = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    page = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
    note = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return [
        {"name": "list_documents", "description": "Documents of the council", "input_schema": note},
        {"name": "read_document", "description": "Text of a document", "input_schema": reads},
        {"name": "read_page", "description": "Text of a web page", "input_schema": page},
        {"name": "save_report", "description": "Keep a report", "input_schema": note},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
    ]


def _begin(r: Request) -> None:
    r.user(
        "We want to hang nest boxes for swifts at the old school. Find out whether that makes"
        " sense, where, how many, and what it costs. About eight boxes would be nice. Use our own"
        " survey first."
    )
    listed = "survey-2025.txt\nold-school-walls.png\nbudget-2026.ods"
    r.turn(
        "I'll see what the council has.",
        r.call("list_documents", {"text": "swifts"}, listed),
        think="Own documents first, as asked. Then requirements from outside, then prices.",
    )
    r.turn(
        "",
        r.call("read_document", {"name": "survey-2025.txt"}, stored.text("swifts", "survey")),
        r.call("read_document", {"name": "budget-2026.ods"}, "not a text document", failed=True),
    )
    r.turn(
        "There are swifts nearby: 14 nests in the village, the nearest about 180 m from the school,"
        " in Baker's lane. The budget is a spreadsheet that I cannot read. Can you send me a"
        " drawing of the walls, and tell me what you can spend?"
    )


def _wall(r: Request) -> None:
    windows = [(row, 2 * column + 1, 2 * column + 2, DARK) for row in (2, 4) for column in range(4)]
    r.user(
        "Here is the north-east wall, one square is a metre. We can spend 700 EUR. Never round"
        " amounts, the auditor is strict.",
        image_block(bars(10, 7, [(row, 0, 10, BRICK) for row in range(7)] + windows)),
    )


def _sources(r: Request) -> None:
    r.turn(
        "The wall is 10 m wide and 7 m high, with two rows of four windows. Above the upper row"
        " there is room. Now the requirements of the birds.",
        r.call("read_page", {"url": BIRD_SOCIETY[1]}, _BIRDS),
        r.call("read_page", {"url": COUNTY[1]}, _LEAFLET),
        think="Two independent sources: the bird society and the county.",
        searched=r.searched("swift nest box height wall direction spacing", BIRD_SOCIETY, COUNTY),
    )
    r.turn(
        "They agree on the height (5 m and more) and on walls that are not in the sun; they"
        " disagree about playing calls. I'll keep both opinions.",
        r.call("read_page", {"url": JOINERY[1]}, "Error: 404 Not Found", failed=True),
        searched=r.searched("nest box swift price joinery scaffold hire 2026", JOINERY),
    )


def _costs(r: Request) -> None:
    prices = "https://joinery.example.com/prices/2026"
    r.turn(
        "",
        r.call("read_page", {"url": prices}, _PRICES),
        think="The address in the search result is out of date; try the one with the year.",
    )
    r.turn(
        "Eight boxes and a scaffold for two days come to 594 EUR, which is within the 700 EUR."
        " Shall I write the report, and do you want a loudspeaker in it?"
    )
    r.user("Yes, without the loudspeaker, but mention that opinions differ.")


def _report(r: Request) -> None:
    report = stored.text("swifts", "report")
    r.turn("", r.call("save_report", {"text": report}, "saved as report-7"))
    r.turn(
        f"{report}\n\nOne thing is open: who hangs the boxes? The joinery only delivers. If nobody"
        " in the village can, I would have to ask for an offer."
    )


_BIRDS = (
    "Swifts need 5 metres of free air below the entrance, so hang boxes 5 metres high or more."
    " Walls that face north to east are best; in the afternoon sun boxes overheat. Hang several"
    " together, 30 centimetres apart. Playing calls in May and June helps birds to find new boxes."
)
_LEAFLET = (
    "Boxes for swifts: 5 metres or higher, no climbing plants below, not above a door. South and"
    " west walls are not suitable. Recorded calls have an effect only close to nests that exist"
    " already (some 50 metres). Boxes should hang before the end of April."
)
_PRICES = (
    "Swift box, larch: 38.00 each. Delivery in the county is free. Scaffold, up to 8 metres: 145.00"
    " a day. Lift with operator: 410.00 a day. Valid until 30 June 2026."
)
