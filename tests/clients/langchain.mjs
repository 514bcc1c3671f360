// @langchain/mcp-adapters: MCP tools as LangChain tools, their results as messages to a model.
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

function connectionTo({ transport, command, args, url }) {
  if (transport === "stdio") return { transport, command, args };
  return { transport, url, automaticSSEFallback: false };
}

function inlined(url) {
  const [, type, data] = /^data:([^;]+);base64,(.*)$/s.exec(url);
  return { type, data };
}

export async function connect(target) {
  const client = new MultiServerMCPClient({ mcpServers: { hutch: connectionTo(target) } });
  const tools = await client.getTools();
  return {
    tools: async () => tools.map((tool) => tool.name),
    call: async (name, given) => {
      const tool = tools.find((one) => one.name === name);
      const message = await tool.invoke({ type: "tool_call", id: "1", name, args: given });
      const blocks = typeof message.content === "string"
        ? [{ type: "text", text: message.content }] : message.content;
      return {
        text: blocks.filter((block) => block.type === "text").map((block) => block.text).join("\n"),
        images: blocks
          .filter((block) => block.type === "image_url")
          .map((block) => inlined(block.image_url.url)),
        failed: message.status === "error", // a tool's error is thrown
      };
    },
    close: () => client.close(),
  };
}
