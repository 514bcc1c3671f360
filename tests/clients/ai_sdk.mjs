// @ai-sdk/mcp: tools as the AI SDK runs them, and their results as it puts them to a model.
import { createMCPClient } from "@ai-sdk/mcp";
import { StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";

export async function connect({ transport, era, command, args, url }) {
  const client = await createMCPClient({
    transport: transport === "stdio" ? new StdioMCPTransport({ command, args }) : { type: transport, url },
    protocolVersionDiscovery: era !== "legacy",
  });
  const tools = await client.tools();
  return {
    revision: client.initializeResult.protocolVersion,
    tools: async () => Object.keys(tools),
    call: async (name, given) => {
      const options = { toolCallId: "1", messages: [] };
      const output = await tools[name].execute(given, options);
      const model = await tools[name].toModelOutput({ toolCallId: "1", input: given, output });
      const parts = model.type === "content"
        ? model.value : [{ type: "text", text: JSON.stringify(model.value) }];
      return {
        text: parts.filter((part) => part.type === "text").map((part) => part.text).join("\n"),
        images: parts
          .filter((part) => part.type !== "text")
          .map((part) => ({ type: part.mediaType, data: part.data?.data ?? part.data })),
        failed: output.isError === true,
      };
    },
    close: () => client.close(),
  };
}
