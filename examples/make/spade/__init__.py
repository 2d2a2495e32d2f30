"""A support agent at work: an order found, a faulty part, a refund that needs a colleague."""

from __future__ import annotations

import stored
from recorders.openai_chat import Record, Request, function

TOOLS = [
    function("find_order", "Look an order up", number="Order number", postcode="Postcode"),
    function("get_item", "Price and stock of an item", sku="Item number"),
    function("start_return", "Book a return", number="Order number", sku="Item", reason="Why"),
    function("send_replacement", "Send an item again", number="Order number", sku="Item"),
    function("refund", "Pay money back", number="Order number", amount="Amount in EUR"),
    function("hand_over", "Give the case to a colleague", number="Order number", note="For them"),
]
ORDER: Record = {
    "number": "SD-20417",
    "state": "delivered",
    "delivered": "2026-05-09",
    "postcode": "4021",
    "items": [
        {"sku": "BW-60", "name": "Wheelbarrow, 60 l", "quantity": 1, "price": "139.00"},
        {"sku": "RK-14", "name": "Rake, 14 teeth", "quantity": 2, "price": "24.50"},
        {"sku": "GL-M", "name": "Gloves, medium", "quantity": 3, "price": "11.90"},
    ],
    "total": "223.70",
}


def record() -> Record:
    """The whole request."""
    request = Request(seed="spade", model="gpt-4.1", tools=TOOLS)
    request.system(stored.text("spade", "policy"))
    for scene in (_who, _wheel, _gloves, _all_back):
        scene(request)
    return request.document()


def _who(r: Request) -> None:
    r.user("Hello, my wheelbarrow came with a cracked wheel. The order is SD-20417.")
    r.say("I am sorry to hear that. To find your order I need the postcode it was sent to.")
    r.user("4012")
    r.call(
        ("find_order", {"number": "SD-20417", "postcode": "4012"}, {"error": "no such order"}),
    )
    r.say("I find no order SD-20417 with the postcode 4012. Could you check both?")
    r.user("Sorry, 4021.")
    r.call(("find_order", {"number": "SD-20417", "postcode": "4021"}, ORDER))


def _wheel(r: Request) -> None:
    r.call(
        (
            "get_item",
            {"sku": "BW-60"},
            {"sku": "BW-60", "price": "139.00", "stock": 7, "parts": [{"sku": "BW-60-W"}]},
        ),
        (
            "get_item",
            {"sku": "BW-60-W"},
            {"sku": "BW-60-W", "name": "Wheel for BW-60", "price": "21.00", "stock": 12},
        ),
    )
    r.say(
        "Found it: a wheelbarrow BW-60, delivered on 9 May. We have the wheel alone in stock and"
        " can send you a new one, free of charge. It takes one bolt to change. Shall I?"
    )
    r.user("Yes please, send the wheel.")
    r.call(
        (
            "send_replacement",
            {"number": "SD-20417", "sku": "BW-60-W"},
            "Error: 503 warehouse service unavailable",
        ),
    )
    r.call(
        (
            "send_replacement",
            {"number": "SD-20417", "sku": "BW-60-W"},
            {"shipment": "SH-88310", "arrives": "2026-05-21"},
        ),
    )
    r.say("The wheel is on its way (shipment SH-88310) and should arrive on 21 May.")


def _gloves(r: Request) -> None:
    r.user(
        "Thanks. The gloves are too small as well, can I send all three pairs back? And please"
        " never ring me, only write."
    )
    r.say(
        "Noted, we only write to you. The gloves can go back until 8 June; since they are not"
        " faulty, return postage of 4.90 EUR is yours. We would pay back 35.70 EUR for the three"
        " pairs. Shall I book the return?"
    )
    r.user("Yes.")
    r.call(
        (
            "start_return",
            {"number": "SD-20417", "sku": "GL-M", "reason": "too small"},
            {"return": "RT-5520", "label": "https://spade.example.com/labels/RT-5520"},
        ),
        text="I book it.",
    )
    r.say(
        "Booked: return RT-5520. The label is at https://spade.example.com/labels/RT-5520. The"
        " 35.70 EUR are paid back when the gloves are here."
    )


def _all_back(r: Request) -> None:
    r.user(
        "Hm, thinking about it: can I not just have the whole order refunded? The wheelbarrow"
        " squeaks too."
    )
    r.call(
        (
            "hand_over",
            {
                "number": "SD-20417",
                "note": "Wants the whole order (223.70 EUR) refunded; wheelbarrow squeaks, wheel"
                " cracked. Replacement SH-88310 is on its way, return RT-5520 (gloves) is booked."
                " Only contact in writing.",
            },
            {"case": "C-1197", "answered_within": "1 working day"},
        ),
    )
    r.say(
        "A refund of that size needs a colleague, so I have handed your case over (C-1197) with"
        " everything we said. You hear from us in writing within one working day. The wheel and the"
        " return of the gloves go on as agreed."
    )
    r.user("Fine. If they say yes, do I send the new wheel back too?")
