// @modelcontextprotocol/sdk, the 1.x line: what most TypeScript clients are built on.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { seen } from "./blocks.mjs";
import { giveUp } from "./giving_up.mjs";

function transportTo({ transport, command, args, url }) {
  if (transport === "stdio") return new StdioClientTransport({ command, args });
  if (transport === "sse") return new SSEClientTransport(new URL(url));
  return new StreamableHTTPClientTransport(new URL(url));
}

export async function connect(target) {
  const client = new Client({ name: "sdk1", version: "1" });
  const transport = transportTo(target);
  await client.connect(transport);
  return {
    revision: transport.protocolVersion, // only the one over HTTP tells it
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (name, given) => {
      const result = await client.callTool({ name, arguments: given });
      return seen(result.content, result.isError);
    },
    giveUp: (name, given) =>
      giveUp((options) => client.callTool({ name, arguments: given }, undefined, options)),
    close: async () => {
      if (target.transport === "http") await transport.terminateSession();
      await client.close();
    },
  };
}
