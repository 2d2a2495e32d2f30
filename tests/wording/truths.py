"""True sentences about the ten histories and the sample sessions, written by hand."""

from __future__ import annotations

from typing import NamedTuple

from kedge.wording.claims.units import About


class Truth(NamedTuple):
    """A sentence that is true of all turns from one on that says its cue."""

    about: About
    text: str
    cue: str
    of: str = ""
    """The file of a change; words of the decision that a reason is for."""
    until: str = ""
    """Words of a turn from which on it is true no more."""


T = Truth

TRUTHS: dict[str, tuple[Truth, ...]] = {
    "lantern": (
        T("intent", "The harbour lantern should blink twice in fog.", "blink twice"),
        T("change", "It adds the pause that was missing between both blinks.", "pause between", of="src/lantern.py"),
        T("state", "The lantern blinks twice in fog now.", "twice in fog now"),
        T("state", "The pattern table had one entry only.", "pattern table"),
        T("state", "The blink test failed at first, and 5 tests pass now.", "5 passed"),
    ),
    "kiln": (
        T("intent", "The kiln gets a cooling ramp, as glazed bowls crack while they cool.", "cracks glazed"),
        T("change", "The controller cools slowly and no longer just switches off at cone 6.", "cone 6", of="kiln/ramp.py"),
        T("change", "Holds the ramp as a table that potters can edit.", "instead of a formula", of="kiln/table.toml"),
        T("change", "A damper retry bridges gaps of the thermocouple.", "damper retry", of="kiln/probe.py"),
        T("rationale", "Potters edit the ramp, and a table is easier for them than a formula.", "potters", of="ramp as a table"),
        T("state", "The cooling ramp is written, and the kiln tests pass.", "All kiln tests"),
        T("state", "The thermocouple drops out above 1200 degrees.", "1200"),
        T("next step", "Log the temperature of the cone.", "Two items"),
        T("question", "Should the cone temperature go into the same table?", "same table"),
    ),
    "observatory": (
        T("intent", "It is to be found out why the telescope points beside double stars.", "double stars"),
        T("change", "The pointing code no longer takes hours for degrees.", "hours for degrees", of="dome/pointing.py"),
        T("state", "A helper found 412 doubles in the star catalogue, in hours.", "412 doubles"),
        T("state", "The encoder is fine, as another helper found.", "encoder is fine"),
        T("state", "The pointing test passes.", "pointing test passes"),
        T("next step", "Calibrate the finder scope.", "finder scope"),
    ),
    "ferry": (
        T("intent", "The ferry timetable should no longer skip the evening crossing.", "evening crossing"),
        T("change", "The loop went one crossing too short and now has the last one.", "too early", of="ferry/timetable.ts"),
        T("change", "The type of a pier is optional, as it may be missing at low tide.", "low tide", of="ferry/pier.ts"),
        T("state", "The type check is clean after a complaint about the pier.", "check is clean"),
        T("next step", "Deploy it to the staging quay.", "staging quay"),
    ),
    "library": (
        T("intent", "The library is sorted by shelf mark, and overdue letters greet the right reader.", "overdue letters"),
        T("change", "Overdue letters greet the reader of the book, and no longer the previous one.", "previous reader", of="books/letters.rb"),
        T("state", "One letter spec fails, as the envelope has no postcode.", "no postcode"),
        T("next step", "Leave the postcode of the envelope for later.", "Leave the envelope"),
    ),
    "apiary": (
        T("intent", "The hives are to be weighed every night.", "Weigh the hives"),
        T("change", "Weights are kept in grams, where the driver rounded to kilograms.", "in grams", of="hives/scale.go"),
        T("change", "The dashboard client posts the weights once a night.", "once a night", of="hives/dashboard.go"),
        T("state", "The dashboard needs a token first.", "token first"),
        T("state", "The scale of hive seven has not answered since the rain.", "since the rain"),
    ),
    "teahouse": (
        T("intent", "茶室の予約システムの二重予約を直します。", "二重予約"),
        T("change", "空席の確認と保存の間に排他制御を入れました。", "排他制御", of="teahouse/booking.py"),
        T("change", "保存の前に席を仮押さえします。", "仮押さえ", of="teahouse/seats.py"),
        T("state", "予約の試験は一つ失敗しましたが、今は全部通ります。", "全部通りました"),
        T("next step", "抹茶の在庫を表示します。", "抹茶の在庫"),
    ),
    "bulletin": (
        T("intent", "The swell of the weather page belongs into the bulletin.", "weather page"),
        T("change", "The parser takes the swell from the first line of the page.", "parser takes", of="bulletin/swell.py"),
        T("state", "The bulletin tests pass, and the swell is parsed.", "bulletin tests pass"),
        T("next step", "Read the visibility from the same page.", "visibility from"),
    ),
    "vault": (
        T("intent", "The vault moves to the new bucket.", "new bucket"),
        T("change", "The vault reads its key from the environment.", "from the environment", of="vault/client.py"),
        T("change", "The copy of the bucket verifies checksums.", "verifies checksums", of="vault/copying.py"),
        T("state", "480 objects were copied, and the copy was verified.", "copy was verified"),
        T("next step", "Stale objects are listed, and nothing is deleted.", "stale objects"),
    ),
    "choir": (
        T("intent", "The spring concert of the choir is planned, with the Fauré requiem and two madrigals.", "two madrigals"),
        T("state", "A harmonium can replace the organ, which is being repaired.", "harmonium can"),
        T("state", "Whoever tunes it in March is the tuner of the parish.", "parish tuner"),
        T("state", "Tenors cover the altos, as these enter late in a verse.", "altos enter"),
    ),
    "anthropic.json": (
        T("intent", "Swifts should get nest boxes at the old school, if that makes sense.", "nest boxes"),
        T("state", "The survey has 14 nests in the village, the nearest about 180 m from the school.", "14 nests"),
        T("state", "The budget is a spreadsheet that cannot be read.", "spreadsheet"),
        T("state", "There is room above the upper row of windows.", "upper row"),
        T("question", "How much can be spent on the boxes?", "what you can spend", until="700 EUR"),
    ),
    "gemini-cli.json": (
        T("intent", "The backup script should work on folders with blanks in their names, in plain sh.", "plain sh"),
        T("change", "A small script that shows the fault.", "shows the fault", of="try.sh"),
        T("change", "The loop no longer splits the output of find at every blank.", "at the lake", of="backup.sh"),
        T("state", "No variable was quoted, and the loop split at every blank.", "every blank"),
    ),
    "openai-chat.json": (
        T("intent", "The wheelbarrow of order SD-20417 came with a cracked wheel.", "cracked wheel"),
        T("state", "The wheel is on its way and should arrive on 21 May.", "SH-88310"),
        T("state", "The gloves can go back until 8 June, with 4.90 EUR of return postage.", "until 8 June"),
        T("rationale", "The wheel alone is in stock, and one bolt changes it.", "one bolt", of="send the wheel"),
    ),
    "opencode.json": (
        T("intent", "Bills for groups should no longer differ by a cent from the till at the pier.", "differ by a cent"),
        T("change", "A test that tax is rounded once per bill.", "rounded once", of="test/fare.test.ts"),
        T("change", "The tax of a bill is rounded once, and no longer for every line.", "rounds the tax", of="src/fare.ts"),
        T("state", "The compiler complains that a plain sum is no `Cents`.", "plain sum", until="Nothing"),
    ),
    "codex.jsonl": (
        T("intent", "The mean of three days is missing on the last day of every report.", "three-day mean"),
        T("change", "Shows each fault with a test, such as `the_last_day_has_a_mean`.", "the_last_day_has_a_mean", of="tests/report.rs"),
        T("change", "Moving means are made from windows, so the last day has one.", "windows", of="src/totals.rs"),
        T("state", "The test for the mean of the last day failed before the fix.", "the_last_day_has_a_mean"),
    ),
    "aider.chat.history.md": (
        T("intent", "The rota gets a --weeks option, and nobody should row two weeks in a row.", "two weeks in a row"),
        T("change", "Pairs overlap no longer: they advance by two.", "advance by two", of="rota.py"),
        T("change", "Tests that nobody rows twice in a row and everybody equally often.", "equally often", of="test_rota.py"),
        T("state", "A crew of fewer than four is refused by `rota`.", "fewer than four"),
    ),
    "swe-agent.traj": (
        T("intent", "Low tides below the chart datum should come out with a negative height.", "negative height"),
        T("change", "A script that tries both kinds of minus.", "both kinds", of="reproduce.py"),
        T("change", "The pattern lets a sign stand before the digits.", "sign stand", of="tidetable/parsing.py"),
        T("state", "The hyphen works, and the typographic minus is turned into one first.", "turn it into"),
    ),
    "claude-code-compacted.jsonl": (
        T("intent", "The larder should import CSV files of the shop, with errors that name the line.", "best before"),
        T("state", "Errors name the real line of the file, also behind quoted fields that span several lines.", "span several lines. "),
        T("state", "ISO days and days with dots are read.", "ISO days"),
        T("state", "Names are compared without case and with single spaces, and the first spelling stays.", "first spelling"),
        T("state", "The dry run works on a copy of the list.", "copy of the list"),
        T("rationale", "A package of its own keeps the command thin.", "command thin", of="internal/importer"),
    ),
    "claude-code-long.jsonl": (
        T("intent", "The harbor service gets a waiting list, and after that a calendar export for the staff.", "waiting list, and after"),
        T("change", "Posts mail over httpx, with a transport that can be given.", "transport can be given", of="src/harbor/notify.py"),
        T("change", "Lines are folded by octets and never inside a character.", "counts octets", of="src/harbor/ical.py"),
        T("change", "The key of a feed signs the category and HARBOR_FEED_VERSION.", "signs category", of="src/harbor/feeds.py"),
        T("change", "Keys are compared with `hmac.compare_digest`.", "compare_digest", of="src/harbor/routes/calendar.py"),
        T("rationale", "An empty revision is one that is filled in by hand.", "filled in by hand", of="empty revision"),
        T("rationale", "A waiting list is built on bookings, and not the other way round.", "other way round", of="bookings not knowing"),
        T("state", "The unique index ux_open_offer allows one open offer per berth.", "ux_open_offer"),
        T("state", "The lock hung and did nothing for several processes, so it was taken back.", "Undo all of it"),
        T("state", "DTEND is the day of departure.", "DTEND is exclusive"),
        T("state", "Reminders of offers are written on the branch offer-reminders, and one of their tests fails.", "Three of four pass"),
        T("next step", "Document the setting HARBOR_OFFER_REMINDER_HOURS.", "HARBOR_OFFER_REMINDER_HOURS"),
    ),
}
