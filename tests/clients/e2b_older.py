"""Does what users of E2B's SDK for Python do, by a version that knows no address but a domain: E2B_DOMAIN and E2B_API_KEY say which."""

import socket

found_by = socket.getaddrinfo
socket.getaddrinfo = lambda host, *more, **named: found_by("127.0.0.1" if str(host).endswith(".hutch.localhost") else host, *more, **named)

from e2b_code_interpreter import Sandbox  # noqa: E402

sandbox = Sandbox.create(timeout=600, envs={"WHO": "hutch"}, metadata={"team": "red"})
seen = []
ran = sandbox.run_code("x = 41\nprint('out')\nx + 1", on_stdout=lambda message: seen.append(message.line))
assert ran.text == "42" and seen == ["out\n"], ran
assert sandbox.run_code("1/0").error.name == "ZeroDivisionError"
assert sandbox.run_code("import matplotlib.pyplot as plt; plt.bar(['a'], [1]); plt.show()").results[0].png
context = sandbox.create_code_context(cwd="/tmp")
assert sandbox.run_code("x", context=context).error.name == "NameError"
print("code")
assert sandbox.commands.run("echo $WHO; exit 0").stdout == "hutch\n"
sleeps = sandbox.commands.run("sleep 1000", background=True)
assert any(one.pid == sleeps.pid for one in sandbox.commands.list()) and sandbox.commands.kill(sleeps.pid)
echo = sandbox.commands.run("read line; echo got $line", background=True)
sandbox.commands.send_stdin(echo.pid, "in\n")
assert echo.wait().stdout == "got in\n"
print("commands")
sandbox.files.write("dir/a.txt", "here")
assert sandbox.files.read("dir/a.txt") == "here" and [one.name for one in sandbox.files.list("dir")] == ["a.txt"]
sandbox.files.rename("dir/a.txt", "b.txt")
assert sandbox.files.exists("b.txt")
sandbox.files.remove("b.txt")
watch = sandbox.files.watch_dir("dir")
sandbox.files.write("dir/new", "1")
events = []
while not any(event.name == "new" for event in events):
    events += watch.get_new_events()
watch.stop()
print("files")
assert any(one.sandbox_id == sandbox.sandbox_id for one in Sandbox.list().next_items())
sandbox.set_timeout(1200)
assert sandbox.is_running() and sandbox.get_metrics() is not None
assert sandbox.get_host(3000).startswith("3000-" + sandbox.sandbox_id)
print("life")
assert sandbox.kill() and not sandbox.is_running()
print("killed")
