"""What cells leave on the event loop, which stands still between them: a note says so."""

import pytest

pytestmark = pytest.mark.plain_start  # the process itself is what is looked at

SERVER = "import asyncio\nasync def answer(r, w): w.write(b'hi'); w.close()\n"


def stands_still(what, verb="goes", them="it", server=False):
    return (f"{what} of asyncio {verb} on only while a cell awaits: run {them} with background: true, and await {them} there"
            + (" (serve_forever() of a server)" if server else ""))


@pytest.mark.parametrize("opened", ["await asyncio.start_server(answer, '127.0.0.1', 0)", "await asyncio.start_unix_server(answer, 'socket')"])
def test_a_server_that_stands_still(python, opened):
    assert python.run(f"{SERVER}server = {opened}").done["note"] == stands_still("a server", server=True)
    assert "note" not in python.run("server.sockets[0].fileno()").done
    assert "note" not in python.run("await asyncio.sleep(0)").done
    again = python.run(f"{opened}\n1 / 0")
    assert not again.ok and again.done["note"] == stands_still("a server", server=True)
    assert "note" not in python.run("server.close(); await asyncio.sleep(0)").done
    assert python.run("server = " + opened.replace("'socket'", "'other'")).done["note"] == stands_still("a server", server=True)


def test_tasks_that_stand_still(python):
    left = "import asyncio\nn = globals().get('n', 0)\nasync def work():\n    await asyncio.sleep(0.01)\n"
    assert python.run(left + "task = asyncio.create_task(work())\nawait asyncio.sleep(0)").done["note"] == stands_still("a task")
    assert "note" not in python.run("1").done and "note" not in python.run("await asyncio.sleep(0)").done
    more = python.run("more = [asyncio.create_task(work()) for _ in range(3)]\nawait asyncio.sleep(0)")
    assert more.done["note"] == stands_still("3 tasks", "go", "them")
    both = python.run(SERVER + "more.append(asyncio.create_task(work()))\nawait asyncio.start_server(answer, '127.0.0.1', 0);")
    assert both.done["note"] == stands_still("a task and a server", "go", "them", server=True)
    assert "note" not in python.run("await asyncio.gather(task, *more)").done


@pytest.mark.parametrize("code", [
    "await asyncio.gather(asyncio.create_task(asyncio.sleep(0)), asyncio.sleep(0))",
    "task = asyncio.create_task(asyncio.sleep(9))\nawait asyncio.sleep(0)\ntask.cancel()",
    "async with await asyncio.start_server(answer, '127.0.0.1', 0): pass",
    "r, w = await asyncio.open_connection('127.0.0.1', port)",
    "async def main(): task = asyncio.create_task(asyncio.sleep(9))\nasyncio.run(main())",
    "asyncio.all_tasks = None; task = asyncio.create_task(asyncio.sleep(9)); await asyncio.sleep(0)",
])
def test_what_needs_no_note(python, code):
    python.run(SERVER + "import socket\nlistener = socket.create_server(('127.0.0.1', 0)); port = listener.getsockname()[1]")
    ending = python.run(code)
    assert ending.ok and "note" not in ending.done, ending


def test_no_note_of_a_background_run(python):
    ending = python.run(SERVER + "server = await asyncio.start_server(answer, '127.0.0.1', 0)\nt = asyncio.create_task(asyncio.sleep(9))", background=True)
    assert ending.ok and "note" not in ending.done


def test_a_server_still_serves_after_it_was_looked_at(python):
    python.run(SERVER + "server = await asyncio.start_server(answer, '127.0.0.1', 0)")
    code = "r, w = await asyncio.open_connection(*server.sockets[0].getsockname())\nprint(await r.read())"
    assert python.run(code).stdout == "b'hi'\n"
