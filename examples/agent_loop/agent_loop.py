"""An agent's loop over stdio without a language model: it runs code, looks, and tries again.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install mcp
    /tmp/venv/bin/python examples/agent_loop/agent_loop.py build/release/bin/hutch

What a model would write is a fixed list here: each attempt mends what the one before was told.
"""

import asyncio
import sys

import mcp
from mcp import StdioServerParameters

ATTEMPTS = [
    "area = math.pi * radius ** 2\nround(area, 2)",
    "import math\narea = math.pi * radius ** 2\nround(area, 2)",
    "import math\nradius = 3\narea = math.pi * radius ** 2\nround(area, 2)",
]


async def main(hutch: str) -> None:
    server = StdioServerParameters(command=hutch, args=["stdio", "--log-level", "error"])
    async with mcp.Client(server) as client:
        print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        for number, code in enumerate(ATTEMPTS, 1):
            result = await client.call_tool("run_code", {"code": code})
            run = result.structured_content
            print(f"\nattempt {number}: {run['status']}")
            if run["status"] == "completed":
                print("answer:", run["outputs"][0]["text"])
                break
            print("the agent reads:", run["error"]["name"], "-", run["error"]["message"])
        kept = await client.call_tool("run_code", {"code": "area > 28"})
        print("the variable is still there:", kept.structured_content["outputs"][0]["text"])


asyncio.run(main(sys.argv[1]))
