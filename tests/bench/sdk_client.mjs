// `hutch stdio` as most TypeScript clients drive it: @modelcontextprotocol/sdk, answers checked by its schemas.
//
// Started with the command of hutch as arguments. A line of JSON asks [what, code, language], a line answers
// with the seconds: `first` of a new session to the end of its first run, `warm` of a run in one that lives.
import readline from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "bench", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" }));
await client.listTools(); // with it the schemas of results

async function call(name, given) {
  const result = await client.callTool({ name, arguments: given });
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  return result.structuredContent;
}

const live = new Map();

async function ask(what, code, language) {
  const begun = performance.now();
  const isNew = what === "first" || !live.has(language);
  const session = isNew ? (await call("create_session", {})).session_id : live.get(language);
  await call("run_code", { session_id: session, code, language });
  const seconds = (performance.now() - begun) / 1000;
  if (what === "first") await call("delete_session", { session_id: session });
  else live.set(language, session);
  return seconds;
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await ask(...JSON.parse(line))));
}
await client.close();
