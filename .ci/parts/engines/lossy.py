#!/usr/bin/env python3
"""A TCP proxy that loses messages between agents, for tests: lossy.py LOSS DELAY FROM=TO..

FROM and TO are ports of 127.0.0.1. LOSS is the probability that a piece of data is lost, DELAY the seconds that
each piece takes. A stream that lost a piece cannot go on: its connection ends with the piece. The handshake and the
answers of agents are not lost.
"""

import asyncio
import random
import sys

HANDSHAKE_PIECES = 2


async def pass_on(reader, writer, loss, delay):
    pieces = 0
    while piece := await reader.read(1 << 16):
        pieces += 1
        await asyncio.sleep(delay)
        if pieces > HANDSHAKE_PIECES and random.random() < loss:
            print("lost", len(piece), flush=True)
            break
        writer.write(piece)
        await writer.drain()


async def serve(pair, loss, delay):
    own, target = (int(port) for port in pair.split("="))

    async def connected(reader, writer):
        try:
            there = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        ways = [
            asyncio.create_task(pass_on(reader, there[1], loss, delay)),
            asyncio.create_task(pass_on(there[0], writer, 0, delay)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for end in (writer, there[1]):
            end.close()

    server = await asyncio.start_server(connected, "127.0.0.1", own)
    await server.serve_forever()


async def main(loss, delay, *pairs):
    await asyncio.gather(*(serve(pair, float(loss), float(delay)) for pair in pairs))


asyncio.run(main(*sys.argv[1:]))
