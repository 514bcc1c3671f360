// @modelcontextprotocol/client, the 2.x line: legacy, negotiating, or held to one revision.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { seen } from "./blocks.mjs";
import { giveUp } from "./giving_up.mjs";

function transportTo({ transport, command, args, url }) {
  if (transport === "stdio") return new StdioClientTransport({ command, args });
  if (transport === "sse") return new SSEClientTransport(new URL(url));
  return new StreamableHTTPClientTransport(new URL(url));
}

export async function connect(target) {
  const modes = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } };
  const client = new Client({ name: "client2", version: "1" },
    { versionNegotiation: { mode: modes[target.era] } });
  await client.connect(transportTo(target));
  return {
    revision: client.getNegotiatedProtocolVersion(),
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (name, given) => {
      const result = await client.callTool({ name, arguments: given });
      return seen(result.content, result.isError);
    },
    giveUp: (name, given) =>
      giveUp((options) => client.callTool({ name, arguments: given }, options)),
    close: () => client.close(),
  };
}
