"""Lines on a descriptor, for a loop that may end at any time."""

from __future__ import annotations

import asyncio
import os
from threading import enumerate as threads

from kedge.integrations.mcp.lines import AHEAD, CHUNK, Lines
from tests.integrations.mcp.serving import LIMIT


def read(*written: bytes) -> list[str]:
    """What is read of what is written, one after the other, into a pipe."""

    async def run() -> list[str]:
        reader, writer = os.pipe()

        def write() -> None:
            for part in written:
                os.write(writer, part)
            os.close(writer)

        writing = asyncio.create_task(asyncio.to_thread(write))
        async with asyncio.timeout(LIMIT):
            found = [line async for line in Lines(reader)]
            await writing
        os.close(reader)
        return found

    return asyncio.run(run())


def test_lines_are_whole_however_they_come() -> None:
    assert read(b"") == []
    assert read(b"a\nb\r\n\nc") == ["a\n", "b\r\n", "\n", "c"]
    assert read(b"gr\xc3", b"\xbc\xc3\x9fe \xff\nx\n") == ["grüße \ufffd\n", "x\n"]
    assert read(b"x" * CHUNK * 2 + b"y\nz\n") == [f"{'x' * CHUNK * 2}y\n", "z\n"]
    assert read(b"line\n" * (AHEAD * 3)) == ["line\n"] * (AHEAD * 3)


def test_a_descriptor_that_is_none_has_no_lines() -> None:
    async def run() -> list[str]:
        reader, writer = os.pipe()
        os.close(writer)
        os.close(reader)
        return [line async for line in Lines(reader)]

    assert asyncio.run(run()) == []


def test_a_loop_ends_although_lines_are_left_and_so_does_the_thread() -> None:
    reader, writer = os.pipe()

    async def run() -> None:
        lines = Lines(reader)
        os.write(writer, b"line\n" * (AHEAD * 3))
        assert await anext(lines) == "line\n"
        while lines._read.qsize() < AHEAD:  # then the thread waits for room
            await asyncio.sleep(0.005)

    asyncio.run(asyncio.wait_for(run(), LIMIT))
    os.close(writer)
    for thread in threads():
        if thread.name == "kedge mcp stdin":
            thread.join(LIMIT)
            assert not thread.is_alive()
    os.close(reader)
