// E2B's own SDK for JavaScript against hutch serve: E2B_API_URL, E2B_SANDBOX_URL and E2B_API_KEY say where.
import assert from "node:assert/strict";

// The newest, or another that is installed beside it.
const { Sandbox, CommandExitError, NotFoundError, FileType } = await import(process.env.E2B_SDK ?? "@e2b/code-interpreter");

const text = (bytes) => new TextDecoder().decode(bytes);
const until = async (condition) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
};

const tests = {
  async cells(sandbox) {
    const seen = [];
    const ran = await sandbox.runCode("x = 41\nprint('out')\nx + 1", { onStdout: (message) => seen.push(message.line) });
    assert.equal(ran.text, "42");
    assert.deepEqual(seen, ["out\n"]);
    assert.equal((await sandbox.runCode("x + 2")).text, "43");
    const { error } = await sandbox.runCode("1/0");
    assert.equal(error.name, "ZeroDivisionError");
    const chart = (await sandbox.runCode("import matplotlib.pyplot as plt; plt.bar(['a', 'b'], [1, 2]); plt.title('T'); plt.show()")).results[0];
    assert.ok(chart.png);
    assert.equal(chart.chart.type, "bar");
    assert.deepEqual(chart.chart.elements.map((one) => [one.label, one.value]), [["a", 1], ["b", 2]]);
    assert.equal((await sandbox.runCode("[1, 2].map((n) => n * 2).join()", { language: "js" })).text, "2,4");
  },
  async results(sandbox) {
    const draw = async (code) => (await sandbox.runCode("import datetime, matplotlib.pyplot as plt\n" + code + "\nplt.show()")).results[0].chart;
    assert.equal((await sandbox.runCode("'kept ' + str(x)")).text, "kept 41");
    const before = (await sandbox.runCode("1")).executionCount;
    assert.equal((await sandbox.runCode("!pwd")).executionCount, before + 1);
    assert.deepEqual((await sandbox.runCode("import pandas as pd\npd.DataFrame({'a': [1, 2]})")).results[0].data, { a: [1, 2] });
    const both = await draw("fig, ax = plt.subplots(1, 2)\nax[0].plot([1, 2])\nax[1].scatter([1, 2], [3, 4])");
    assert.deepEqual([both.type, both.elements.map((one) => one.type)], ["superchart", ["line", "scatter"]]);
    assert.equal((await draw("plt.scatter([1, 2], [3, 4])")).title ?? null, null);
    const unknown = await draw("fig, ax = plt.subplots()\nax.add_artist(plt.Circle((0, 0), 1)); ax.set_title('C')");
    assert.deepEqual([unknown.type, unknown.title], ["unknown", "C"]);
    const dates = await draw("plt.plot([datetime.date(2023, 9, 1) + datetime.timedelta(days=i) for i in range(3)], range(3))");
    assert.match(String(dates.x_ticks[0]), /^2023-09-01/);
  },
  async contexts(sandbox) {
    const context = await sandbox.createCodeContext({ cwd: "/tmp" });
    assert.equal((await sandbox.runCode("x", { context })).error.name, "NameError");
    assert.equal((await sandbox.runCode("import os; os.getcwd()", { context })).text, "/tmp");
    await sandbox.removeCodeContext(context);
    assert.ok(!(await sandbox.listCodeContexts()).some((one) => one.id === context.id));
  },
  async commands(sandbox) {
    const ran = await sandbox.commands.run("echo out; echo err >&2; echo $WHO $A", { envs: { A: "b" }, cwd: "/tmp" });
    assert.deepEqual([ran.stdout, ran.stderr, ran.exitCode], ["out\nhutch b\n", "err\n", 0]);
    await assert.rejects(sandbox.commands.run("exit 3"), (failed) => failed instanceof CommandExitError && failed.exitCode === 3);
    const sleeps = await sandbox.commands.run("sleep 1000", { background: true });
    assert.ok((await sandbox.commands.list()).some((one) => one.pid === sleeps.pid));
    assert.ok(await sandbox.commands.kill(sleeps.pid));
    await assert.rejects(sleeps.wait());
    const echo = await sandbox.commands.run("read line; echo got $line", { background: true, stdin: true });
    await sandbox.commands.sendStdin(echo.pid, "in\n");
    assert.equal((await echo.wait()).stdout, "got in\n");
  },
  async terminal(sandbox) {
    let shown = "";
    const shell = await sandbox.pty.create({ cols: 40, rows: 9, onData: (bytes) => (shown += text(bytes)) });
    await sandbox.pty.sendInput(shell.pid, new TextEncoder().encode("stty size\n"));
    await until(() => shown.includes("9 40"));
    await sandbox.pty.resize(shell.pid, { cols: 50, rows: 10 });
    await sandbox.pty.sendInput(shell.pid, new TextEncoder().encode("stty size\n"));
    await until(() => shown.includes("10 50"));
    assert.ok(await sandbox.pty.kill(shell.pid));
  },
  async files(sandbox) {
    const { files } = sandbox;
    assert.equal((await files.write("dir/a ü.txt", "äöü")).path, "/home/user/dir/a ü.txt");
    assert.equal(await files.read("dir/a ü.txt"), "äöü");
    await files.write([{ path: "many/1", data: "1" }, { path: "many/2", data: "22" }]);
    assert.deepEqual((await files.list("many")).map((one) => [one.name, one.type, one.size]).sort(), [["1", FileType.FILE, 1], ["2", FileType.FILE, 2]]);
    assert.equal((await files.getInfo("many")).type, FileType.DIR);
    assert.ok(await files.makeDir("made"));
    assert.ok(!(await files.makeDir("made")));
    await files.rename("many/1", "made/one");
    assert.ok(await files.exists("made/one"));
    await files.remove("made");
    assert.ok(!(await files.exists("made")));
    await files.remove("made");
    await sandbox.commands.run("ln -s many/2 near");
    assert.equal((await files.getInfo("near")).symlinkTarget, "/home/user/many/2");
    assert.ok((await files.getInfo("many")).size > 0);
    await assert.rejects(files.read("none"), NotFoundError);
    const events = [];
    const watch = await files.watchDir("many", (event) => events.push([event.name, event.type]));
    await files.write("many/3", "3");
    await until(() => events.some(([name, type]) => name === "3" && type === "write"));
    assert.deepEqual([...new Set(events.map(([name]) => name))], ["3"]);
    await watch.stop();
  },
  async newer(sandbox) {
    const { files } = sandbox;
    assert.equal((await sandbox.commands.run("pwd")).stdout, "/home/user\n");
    assert.deepEqual((await files.write("m.txt", "x", { metadata: { owner: "me" } })).metadata, { owner: "me" });
    assert.deepEqual((await files.getInfo("m.txt")).metadata, { owner: "me" });
    const events = [];
    const watch = await files.watchDir(".", (event) => events.push(event), { includeEntry: true });
    await files.write("m.txt", "longer");
    await until(() => events.length > 0);
    assert.deepEqual([events[0].name, events[0].type, events[0].entry.size], ["m.txt", "write", 6]);
    await watch.stop();
    assert.equal(await (await fetch(await sandbox.downloadUrl("m.txt"))).text(), "longer");
    await sandbox.updateNetwork({ denyOut: ["0.0.0.0/0"] });
    await assert.rejects(sandbox.updateNetwork({ allowOut: ["example.com"] }), /example.com/);
    assert.match(await files.read("/proc/self/status"), /^Name:/);
  },
  async life(sandbox) {
    const before = await sandbox.getInfo();
    assert.deepEqual(before.metadata, { team: "red" });
    await sandbox.setTimeout(3_600_000);
    assert.ok((await sandbox.getInfo()).endAt - before.endAt > 2_000_000);
    const found = await Sandbox.list({ query: { metadata: { team: "red" } } }).nextItems();
    assert.deepEqual(found.map((one) => one.sandboxId), [sandbox.sandboxId]);
    const other = await Sandbox.create({ timeoutMs: 600_000 });
    const oldest = Sandbox.list({ limit: 1, ...(process.env.E2B_SDK ? {} : { order: "asc" }) });
    assert.equal((await oldest.nextItems()).length, 1);
    assert.ok(oldest.hasNext);
    assert.equal((await oldest.nextItems()).length, 1);
    await other.kill();
    const day = 86_400_000;
    assert.ok((await sandbox.getMetrics()).length > 0);
    if (!process.env.E2B_SDK) assert.deepEqual(await sandbox.getMetrics({ start: new Date(Date.now() - 2 * day), end: new Date(Date.now() - day) }), []);
    assert.match(sandbox.getHost(3000), new RegExp(`^3000-${sandbox.sandboxId}\\.(localhost|hutch.localhost):`));
    await (sandbox.pause ?? sandbox.betaPause).call(sandbox);
    assert.equal((await sandbox.getInfo()).state, "paused");
    assert.ok(!(await sandbox.isRunning()));
    const again = await Sandbox.connect(sandbox.sandboxId);
    assert.equal((await again.runCode("x")).text, "41");
    assert.ok(await again.isRunning());
  },
};

if (process.env.E2B_SDK) {
  delete tests.contexts; // the older one asks for them without its token
  delete tests.newer;
  delete tests.results; // its charts and tables are older, too
}
const sandbox = await Sandbox.create({ timeoutMs: 600_000, envs: { WHO: "hutch" }, metadata: { team: "red" } });
for (const [name, run] of Object.entries(tests)) {
  await run(sandbox);
  console.log(name);
}
assert.notEqual(await sandbox.kill(), false);
assert.ok(!(await sandbox.isRunning()));
console.log("killed");
process.exit(0);
