"""An agent over HTTP, where nothing but a session's id ties one call to the next.

    build/release/bin/hutch serve &
    export HUTCH_TOKEN=$(build/release/bin/hutch token create | tail -n 1)
    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install mcp
    /tmp/venv/bin/python examples/http_agent/http_agent.py http://127.0.0.1:8931/mcp
"""

import asyncio
import base64
import os
import sys

import httpx2  # comes with mcp
import mcp
from mcp.client.streamable_http import streamable_http_client

CHART = """
import matplotlib.pyplot as plt
plt.bar(list(rain), list(rain.values()))
plt.show()
"""


async def main(url: str) -> None:
    token = os.environ.get("HUTCH_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (httpx2.AsyncClient(headers=headers, timeout=60) as http,
                mcp.Client(streamable_http_client(url, http_client=http)) as client):
        made = await client.call_tool("create_session", {})
        session = {"session_id": made.structured_content["session_id"]}
        await client.call_tool("run_code", {"code": "rain = {'May': 52, 'June': 37}", **session})
        total = await client.call_tool("run_code", {"code": "sum(rain.values())", **session})
        print("total:", total.structured_content["outputs"][0]["text"])
        chart = await client.call_tool("run_code", {"code": CHART, **session})
        for block in chart.content:
            if block.type == "image":
                print("chart:", block.mime_type, len(base64.b64decode(block.data)), "bytes")
        await client.call_tool("delete_session", session)


asyncio.run(main(sys.argv[1]))
