// An agent in TypeScript, over stdio or HTTP: the protocol's own client, no framework.
//
//     npm install @modelcontextprotocol/client
//     node agent.ts /path/to/hutch                      # starts `hutch stdio`; node 22.18 or newer
//     HUTCH_TOKEN=… node agent.ts http://127.0.0.1:8931/mcp
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const where = process.argv[2];
const token = process.env.HUTCH_TOKEN;
const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};
const transport = where.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(where), { requestInit: { headers } })
  : new StdioClientTransport({ command: where, args: ["stdio"] });

const client = new Client({ name: "example", version: "1.0.0" });
await client.connect(transport);

async function run(code: string, language = "python"): Promise<string> {
  const result = await client.callTool({ name: "run_code", arguments: { code, language } });
  return result.content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
}

await run("numbers = [3, 1, 2]");
console.log(await run("sorted(numbers)")); // the variable of the first call
console.log(await run("numbers[9]")); // a failure is an answer, for the agent to read
console.log(await run("const square = (n: number) => n * n; square(12)", "typescript"));
await client.close();
