"""The bridge to the Python package mcp: the same lines as bridge.mjs, the same target."""

import asyncio
import json
import sys

import mcp
from mcp import StdioServerParameters
from mcp.client.sse import sse_client

MODES = {"legacy": "legacy", "auto": "auto", "modern": "2026-07-28"}


def server_at(target):
    if target["transport"] == "stdio":
        return StdioServerParameters(command=target["command"], args=target["args"])
    return sse_client(target["url"]) if target["transport"] == "sse" else target["url"]


def say(answer):
    print(json.dumps(answer), flush=True)


async def give_up(client, question):
    """Cancels the call at its first progress; what that said."""
    told = asyncio.get_running_loop().create_future()

    async def on_progress(_progress, _total, message):
        if not told.done():
            told.set_result(message)

    call = asyncio.create_task(client.call_tool(question["tool"], question["arguments"],
                                                progress_callback=on_progress))
    await asyncio.wait([told, call], return_when=asyncio.FIRST_COMPLETED)
    call.cancel()
    return await told


async def answer(client, question):
    if "tool" not in question:
        return {"tools": [tool.name for tool in (await client.list_tools()).tools]}
    if question.get("give_up"):
        return {"text": await give_up(client, question), "images": [], "failed": True}
    result = await client.call_tool(question["tool"], question["arguments"])
    return {"text": "\n".join(block.text for block in result.content if block.type == "text"),
            "images": [{"type": block.mime_type, "data": block.data}
                       for block in result.content if block.type == "image"],
            "failed": bool(result.is_error)}


async def main(target):
    async with mcp.Client(server_at(target), mode=MODES[target["era"]]) as client:
        say({"revision": client.protocol_version})
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                say(await answer(client, json.loads(line)))
            except mcp.MCPError as error:
                say({"text": str(error), "images": [], "failed": True})


asyncio.run(main(json.loads(sys.argv[1])))
