// @openai/agents: MCP tools as the function tools of an agent.
import { Agent, getAllMcpTools, MCPServerSSE, MCPServerStdio, MCPServerStreamableHttp, RunContext,
  setTracingDisabled } from "@openai/agents";
import { seen } from "./blocks.mjs";

function serverAt({ transport, command, args, url }) {
  const errorFunction = null; // failures of the call itself are thrown, not told to the model
  if (transport === "stdio") return new MCPServerStdio({ name: "hutch", command, args, errorFunction });
  if (transport === "sse") return new MCPServerSSE({ name: "hutch", url, errorFunction });
  return new MCPServerStreamableHttp({ name: "hutch", url, errorFunction });
}

export async function connect(target) {
  setTracingDisabled(true); // it would report to a service of the vendor
  const server = serverAt(target);
  await server.connect();
  const agent = new Agent({ name: "test", mcpServers: [server] });
  const context = new RunContext();
  const tools = await getAllMcpTools({ mcpServers: [server], runContext: context, agent });
  return {
    tools: async () => tools.map((tool) => tool.name),
    call: async (name, given) => {
      const tool = tools.find((one) => one.name === name);
      const output = await tool.invoke(context, JSON.stringify(given));
      return { ...seen([output].flat()), failed: null }; // isError does not come through
    },
    close: () => server.close(),
  };
}
