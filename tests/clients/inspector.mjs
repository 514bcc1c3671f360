// The Inspector's command line: each question is a process, and so a connection, of its own.
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { seen } from "./blocks.mjs";

const run = promisify(execFile);
const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector/package.json");
const program = join(dirname(manifest), createRequire(import.meta.url)(manifest).bin["mcp-inspector"]);

export async function connect({ transport, era, command, args, url }) {
  async function ask(...question) {
    const where = transport === "stdio"
      ? ["--transport", "stdio", "--", command, ...args] : ["--server-url", url, "--transport", transport];
    try {
      const { stdout } = await run(process.execPath,
        [program, "--cli", "--protocol-era", era, "--format", "json", "-q", ...question, ...where],
        { maxBuffer: 1 << 26 });
      return JSON.parse(stdout).result;
    } catch (error) {
      if (error.code === 5) return JSON.parse(error.stdout).result; // the tool's own error
      throw new Error(`${error.message}\n${error.stderr}`);
    }
  }
  return {
    tools: async () => (await ask("--method", "tools/list", "--strict")).tools.map((tool) => tool.name),
    call: async (name, given) => {
      const result = await ask("--method", "tools/call", "--tool-name", name,
        "--tool-args-json", JSON.stringify(given));
      return seen(result.content, result.isError);
    },
    close: async () => {},
  };
}
