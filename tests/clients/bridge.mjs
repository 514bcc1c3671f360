// Lets a test drive one client: `node bridge.mjs CLIENT TARGET`, both as tests/clients/matrix.py
// says. A line of standard input is a request, {"tool", "arguments"} or {} for the list of tools;
// a line of standard output is what an agent on that client gets to see of the answer. With "give_up"
// the call is given up at its first progress, and the answer is what that said.
import { createInterface } from "node:readline";

const [name, target] = [process.argv[2], JSON.parse(process.argv[3])];

function say(answer) {
  process.stdout.write(JSON.stringify(answer) + "\n");
}

const { connect } = await import(`./${name}.mjs`);
const client = await connect(target);
say({ revision: client.revision ?? null });
for await (const line of createInterface({ input: process.stdin })) {
  const { tool, arguments: given, give_up: unfinished } = JSON.parse(line);
  try {
    if (!tool) say({ tools: await client.tools() });
    else say(await (unfinished ? client.giveUp(tool, given) : client.call(tool, given)));
  } catch (error) {
    say({ text: String(error?.message ?? error), images: [], failed: true });
  }
}
await client.close();
