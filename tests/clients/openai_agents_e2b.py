"""An agent of OpenAI's Agents SDK that works in E2B's sandbox: E2B_API_URL, E2B_SANDBOX_URL and E2B_API_KEY say where that is.

The model's words are given; the SDK calls its tools, and what they answer comes back to the model.
"""

import asyncio
import json

from agents import ModelResponse, RunConfig, Runner, Usage
from agents.extensions.sandbox.e2b import E2BSandboxClient, E2BSandboxClientOptions
from agents.models.interface import Model
from agents.run_config import SandboxRunConfig
from agents.sandbox.sandbox_agent import SandboxAgent
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

COMMANDS = ["pwd; echo 'print(6 * 7)' > answer.py; ls", "python3 answer.py", "exit 3"]


class Given(Model):
    """Says what is to be run, one command after the other, and keeps what came of them."""

    def __init__(self):
        self.seen = []

    async def get_response(self, system_instructions, input, *more, **named):
        self.seen = [item["output"] for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
        if len(self.seen) < len(COMMANDS):
            arguments = json.dumps({"cmd": COMMANDS[len(self.seen)]})
            output = ResponseFunctionToolCall(type="function_call", name="exec_command", call_id="call_%d" % len(self.seen), arguments=arguments)
        else:
            text = ResponseOutputText(type="output_text", text="It is 42.", annotations=[])
            output = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *more, **named):
        raise NotImplementedError


async def main():
    model = Given()
    agent = SandboxAgent(name="Calculator", model=model, instructions="Work in the sandbox.")
    options = E2BSandboxClientOptions(sandbox_type="e2b_code_interpreter", timeout=600)
    ran = await Runner.run(agent, "What is six times seven?", run_config=RunConfig(
        tracing_disabled=True, sandbox=SandboxRunConfig(client=E2BSandboxClient(), options=options)))
    first, second, third = model.seen
    assert "answer.py" in first and "42" in second and "3" in third, model.seen
    print(ran.final_output)


asyncio.run(main())
