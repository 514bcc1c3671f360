"""Does what users of E2B's SDK for Python do, without waiting: by E2B_DOMAIN, or by E2B_API_URL and E2B_SANDBOX_URL."""

import asyncio
import datetime

from e2b import CommandExitException, FileNotFoundException, NotFoundException, SandboxException, SandboxQuery, SandboxState, TimeoutException
from e2b_code_interpreter import AsyncSandbox

DRAW = "import datetime, matplotlib.pyplot as plt\n%s\nplt.show()"


async def refused(error, call, says=""):
    try:
        await call
    except error as failure:
        assert says in str(failure), failure
    else:
        raise AssertionError(f"{error.__name__} was to come")


async def cells(sandbox):
    seen = []
    ran = await sandbox.run_code("x = 41\nprint('out')\nx + 1", on_stdout=lambda message: seen.append(message.line))
    assert ran.text == "42" and seen == ["out\n"]
    again = await sandbox.run_code("'kept ' + str(x)")
    assert again.text == "kept 41" and again.execution_count == ran.execution_count + 1
    assert (await sandbox.run_code("1/0")).error.name == "ZeroDivisionError"
    assert (await sandbox.run_code("import os; os.getcwd()")).text == "/home/user"
    assert (await sandbox.run_code("[1, 2].join()", language="js")).text == "1,2"


async def results(sandbox):
    async def chart(code):
        return (await sandbox.run_code(DRAW % code)).results[0].chart

    assert (await sandbox.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2]})")).results[0].data == {"a": [1, 2]}
    assert [(one.label, one.value) for one in (await chart("plt.bar(['a', 'b'], [1, 2])")).elements] == [("a", 1), ("b", 2)]
    both = await chart("fig, ax = plt.subplots(1, 2)\nax[0].plot([1, 2])\nax[1].scatter([1, 2], [3, 4])")
    assert both.type.value == "superchart" and [one.type.value for one in both.elements] == ["line", "scatter"]
    assert (await chart("plt.scatter([1, 2], [3, 4])")).title is None
    unknown = await chart("fig, ax = plt.subplots()\nax.add_artist(plt.Circle((0, 0), 1)); ax.set_title('C')")
    assert (unknown.type.value, unknown.title) == ("unknown", "C")
    dates = await chart("plt.plot([datetime.date(2023, 9, 1) + datetime.timedelta(days=i) for i in range(3)], range(3))")
    assert dates.x_ticks[0].startswith("2023-09-01")


async def contexts(sandbox):
    context = await sandbox.create_code_context(cwd="/tmp")
    assert (await sandbox.run_code("x", context=context)).error.name == "NameError"
    assert (await sandbox.run_code("import os; os.getcwd()", context=context)).text == "/tmp"
    await refused(TimeoutException, sandbox.run_code("while True: pass", context=context, timeout=1))
    await sandbox.restart_code_context(context)
    await sandbox.remove_code_context(context)
    assert context.id not in [one.id for one in await sandbox.list_code_contexts()]


async def commands(sandbox):
    ran = await sandbox.commands.run("pwd; echo err >&2; echo $WHO $A", envs={"A": "b"})
    assert (ran.stdout, ran.stderr, ran.exit_code) == ("/home/user\nhutch b\n", "err\n", 0)
    await refused(CommandExitException, sandbox.commands.run("exit 3"))
    await refused(TimeoutException, sandbox.commands.run("sleep 600", timeout=1))
    sleeps = await sandbox.commands.run("sleep 1000", background=True)
    assert sleeps.pid in [one.pid for one in await sandbox.commands.list()] and await sandbox.commands.kill(sleeps.pid)
    echo = await sandbox.commands.run("read line; echo got $line", background=True, stdin=True)
    await sandbox.commands.send_stdin(echo.pid, "in\n")
    assert (await echo.wait()).stdout == "got in\n"
    shown = bytearray()
    shell = await sandbox.pty.create(size=__import__("e2b").PtySize(rows=9, cols=40), on_data=shown.extend)
    await sandbox.pty.send_stdin(shell.pid, b"stty size\n")
    while b"9 40" not in shown:
        await asyncio.sleep(0.02)
    assert await sandbox.pty.kill(shell.pid)


async def files(sandbox):
    here = sandbox.files
    assert (await here.write("dir/a ü.txt", "äöü")).path == "/home/user/dir/a ü.txt" and await here.read("dir/a ü.txt") == "äöü"
    assert (await here.write("m.txt", "x", metadata={"owner": "me"})).metadata == {"owner": "me"}
    assert (await here.get_info("m.txt")).metadata == {"owner": "me"}
    await here.write("z.txt", b"packed" * 1000, gzip=True)
    assert await here.read("z.txt") == "packed" * 1000
    await sandbox.commands.run("ln -s m.txt near")
    assert (await here.get_info("near")).symlink_target == "/home/user/m.txt" and (await here.get_info("dir")).size > 0
    assert await here.make_dir("made") and not await here.make_dir("made")
    await here.rename("m.txt", "made/m.txt")
    assert [one.name for one in await here.list("made")] == ["m.txt"]
    await here.remove("made")
    await here.remove("made")
    assert not await here.exists("made")
    await refused(FileNotFoundException, here.read("none"))
    events = []
    watch = await here.watch_dir("dir", events.append, include_entry=True, allow_network_mounts=True)
    await here.write("dir/a ü.txt", "longer")
    while not events:
        await asyncio.sleep(0.02)
    assert {(event.name, event.type.value, event.entry.size) for event in events} == {("a ü.txt", "write", 6)}
    await watch.stop()
    assert await here.read("/proc/sys/kernel/random/boot_id") == (await sandbox.commands.run("cat /proc/sys/kernel/random/boot_id")).stdout


async def life(sandbox):
    before = await sandbox.get_info()
    assert before.metadata == {"team": "red"}
    await sandbox.set_timeout(3600)
    assert ((await sandbox.get_info()).end_at - before.end_at).total_seconds() > 2000
    found = AsyncSandbox.list(query=SandboxQuery(metadata={"team": "red"}, template=before.template_id, started_after=before.started_at - datetime.timedelta(seconds=1)))
    assert [one.sandbox_id for one in await found.next_items()] == [sandbox.sandbox_id]
    async with await AsyncSandbox.create(timeout=600) as other:
        oldest = AsyncSandbox.list(limit=1, order="asc")
        assert [one.sandbox_id for one in await oldest.next_items()] == [sandbox.sandbox_id] and oldest.has_next
        assert [one.sandbox_id for one in await oldest.next_items()] == [other.sandbox_id]
    day = datetime.timedelta(days=1)
    assert await sandbox.get_metrics() and await sandbox.get_metrics(start=before.started_at - 2 * day, end=before.started_at - day) == []
    await sandbox.update_network({"deny_out": ["0.0.0.0/0"]})
    await refused(SandboxException, sandbox.update_network({"allow_out": ["example.com"]}), "example.com")
    await refused(SandboxException, sandbox.create_snapshot(), "not copied here")
    assert sandbox.get_host(3000).startswith("3000-" + sandbox.sandbox_id)
    await sandbox.pause()
    assert (await sandbox.get_info()).state == SandboxState.PAUSED and not await sandbox.is_running()
    again = await AsyncSandbox.connect(sandbox.sandbox_id)
    assert (await again.run_code("x")).text == "41" and await again.is_running()


async def git(sandbox):
    await sandbox.git.init("repo")
    await sandbox.git.configure_user("A", "a@example.org", scope="local", path="repo")
    await sandbox.files.write("repo/f", "1")
    await sandbox.git.add("repo")
    await sandbox.git.commit("repo", "first")
    assert (await sandbox.git.status("repo")).is_clean


async def killed(sandbox):
    begun = asyncio.Event()
    cell = asyncio.create_task(sandbox.run_code("print('on', flush=True)\nimport time; time.sleep(600)", on_stdout=lambda _: begun.set()))
    command = await sandbox.commands.run("sleep 600", background=True)
    await begun.wait()
    assert await sandbox.kill() and not await sandbox.is_running()
    await refused(TimeoutException, cell, "killed")
    await refused(TimeoutException, command.wait())
    await refused(NotFoundException, AsyncSandbox.connect(sandbox.sandbox_id))


async def main():
    sandbox = await AsyncSandbox.create(timeout=600, envs={"WHO": "hutch"}, metadata={"team": "red"})
    for step in (cells, results, contexts, commands, files, life, git, killed):
        await step(sandbox)
        print(step.__name__, flush=True)


asyncio.run(main())
