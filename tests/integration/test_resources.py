"""Files of sessions as resources, prompts, subscriptions and runs as tasks, over stdio."""

import base64
import pathlib
import queue
import time

import pytest

from hutch_client import LEGACY, MODERN, PATIENCE, Client

TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


def uri_of(client, path):
    return f"sandbox://{client.call('list_sessions')['sessions'][0]['session_id']}{path}"


def read(client, uri):
    return client.request("resources/read", {"uri": uri})["contents"]


def error_of(client, method, params):
    return client.reply(client.start(method, params))["error"]


def notification(client, method, timeout=20):
    deadline = time.monotonic() + timeout * PATIENCE
    while True:
        try:
            one = client.notifications.get(timeout=max(0.01, deadline - time.monotonic()))
        except queue.Empty:
            raise AssertionError(f"no {method} came") from None
        if one["method"] == method:
            return one["params"]


def test_files_are_resources(client):
    client.result("write_file", path="a b.txt", content="hällo")
    client.result("write_file", path="raw", content="AAEC/w==", encoding="base64")
    client.run("import pathlib; pathlib.Path('dir').mkdir(); pathlib.Path('dir/x.csv').write_text('a,b\\n1,2\\n')")
    text = read(client, uri_of(client, "/workspace/a%20b.txt"))
    assert text == [{"uri": text[0]["uri"], "mimeType": "text/plain", "text": "hällo"}]
    raw = read(client, uri_of(client, "/workspace/raw"))[0]
    assert base64.b64decode(raw["blob"], validate=True) == b"\0\1\2\xff" and "text" not in raw
    directory = read(client, uri_of(client, "/workspace/dir"))[0]
    assert directory["mimeType"] == "inode/directory" and "x.csv" in directory["text"]


def test_what_runs_wrote_and_what_was_shared_is_listed(client):
    for name, mime_type in (("plot.png", "image/png"), ("unknown.xyz", None)):
        client.run(f"open('{name}', 'wb').write(b'x')")
        (listed,) = client.request("resources/list")["resources"]
        assert (listed["name"], listed.get("mimeType")) == (name, mime_type)
        client.run(f"import os; os.remove('{name}')")
    client.run("open('old.txt', 'w').write('x'); open('new.csv', 'w').write('a,b')")
    client.run("import os; os.remove('old.txt')")
    client.result("share_file", path="new.csv")
    listed = client.request("resources/list")["resources"]
    assert [one["name"] for one in listed] == ["new.csv", "new.csv"]
    assert listed[0]["uri"].startswith("sandbox://shared/")
    for one in listed:
        assert read(client, one["uri"])[0]["text"] == "a,b" and one["size"] == 3
    session = client.call("list_sessions")["sessions"][0]["session_id"]
    client.call("delete_session", session_id=session)
    listed = client.request("resources/list")["resources"]
    assert len(listed) == 1 and read(client, listed[0]["uri"])[0]["text"] == "a,b"


def test_a_long_list_has_pages(client):
    client.run("for n in range(130): open(f'{n}.txt', 'w')")
    session = client.call("list_sessions")["sessions"][0]["session_id"]
    first = client.request("resources/list")
    second = client.request("resources/list", {"cursor": first["nextCursor"]})
    assert len(first["resources"]) == 100 and "nextCursor" not in second
    uris = {one["uri"] for page in (first, second) for one in page["resources"]}
    assert uris == {f"sandbox://{session}/workspace/{n}.txt" for n in range(130)}
    assert client.request("resources/list", {"cursor": "200"})["resources"] == []
    for wrong in ("x", "1", "-100", "100x", "99999999999999999999999"):
        assert error_of(client, "resources/list", {"cursor": wrong})["code"] == -32602, wrong


def test_a_template_completes_to_paths(client):
    client.run("import os; os.makedirs('data/deep'); open('data/day.csv', 'w'); open('data/x', 'w')")
    assert [one["uriTemplate"] for one in client.request("resources/templates/list")["resourceTemplates"]] == [
        "sandbox://{session_id}/{+path}"]
    session = client.call("list_sessions")["sessions"][0]["session_id"]

    def complete(value, argument="path"):
        return client.request("completion/complete", {
            "ref": {"type": "ref/resource", "uri": "sandbox://{session_id}/{+path}"},
            "argument": {"name": argument, "value": value},
            "context": {"arguments": {"session_id": session}}})["completion"]["values"]

    assert complete("w") == ["workspace/"]
    assert complete("workspace/data/d") == ["workspace/data/day.csv", "workspace/data/deep/"]
    assert complete("workspace/../../../etc/") == []
    assert complete(session[:12], "session_id") == [session]
    assert complete("no such", "session_id") == []


@pytest.mark.parametrize("uri", [
    "sandbox://none/workspace/x", "sandbox://", "sandbox:///x", "sandbox://x", "file:///etc/passwd", "", "x",
    "sandbox://{}/workspace/none", "sandbox://{}/workspace/%", "sandbox://{}/workspace/%zz",
    "sandbox://{}/workspace/%00", "sandbox://{}/workspace/a?b", "sandbox://{}/workspace/a#b",
    "sandbox://shared/none/x", "sandbox://shared/../../hutch.db", "sandbox://shared/%2e%2e/x"])
def test_what_is_no_file_of_ours_is_not_found(shared, uri):
    shared.value("1")
    session = shared.call("list_sessions")["sessions"][0]["session_id"]
    uri = uri.replace("{}", session)
    error = error_of(shared, "resources/read", {"uri": uri})
    assert error["code"] == -32002 and error["data"] == {"uri": uri}


def test_paths_do_not_leave_the_box(shared):
    shared.run("""
import os
os.symlink('/etc/shadow', 'shadow'); os.symlink('/proc/1/root', 'out'); os.mkfifo('fifo')""")
    session = shared.call("list_sessions")["sessions"][0]["session_id"]
    for path in ("/workspace/shadow", "/workspace/out/root", "/../../../../root", "/workspace/fifo"):
        assert "code" in error_of(shared, "resources/read", {"uri": f"sandbox://{session}{path}"}), path
    mine = read(shared, f"sandbox://{session}/workspace/../etc/passwd")[0]["text"]
    with open("/etc/passwd", encoding="utf-8") as host:
        assert mine != host.read()


def test_a_large_file_is_no_resource(client):
    client.run("open('large', 'wb').truncate(5 << 20)")
    error = error_of(client, "resources/read", {"uri": uri_of(client, "/workspace/large")})
    assert error["code"] == -32602 and "read_file" in error["message"]


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_change_is_told(state, revision):
    with Client(state, revision=revision) as client:
        client.run("open('watched', 'w').write('1')")
        uri = uri_of(client, "/workspace/watched")
        if revision == MODERN:
            listen = client.start("subscriptions/listen", {
                "notifications": {"resourceSubscriptions": [uri], "resourcesListChanged": True}})
            told = notification(client, "notifications/subscriptions/acknowledged")
            assert told["notifications"] == {"resourceSubscriptions": [uri], "resourcesListChanged": True}
        else:
            assert client.request("resources/subscribe", {"uri": uri}) == {}
        # Replaced under the same name, in place, removed: whenever it is looked at, it differs.
        client.run("""
import os, time
for n in range(40):
    with open('temporary', 'w') as file: file.write(str(n))
    os.replace('temporary', 'watched')
    time.sleep(0.05)""")
        told = notification(client, "notifications/resources/updated")
        assert told["uri"] == uri
        notification(client, "notifications/resources/list_changed")
        if revision == MODERN:
            assert told["_meta"]["io.modelcontextprotocol/subscriptionId"] == listen
            client.notify("notifications/cancelled", {"requestId": listen})
        else:
            assert client.request("resources/unsubscribe", {"uri": uri}) == {}


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_change_is_told_that_was_undone_at_once(state, revision):
    with Client(state, revision=revision) as client:
        client.run("import os; os.makedirs('dir')")
        uri = uri_of(client, "/workspace/dir/fleeting")
        if revision == MODERN:
            client.start("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
            notification(client, "notifications/subscriptions/acknowledged")
        else:
            client.request("resources/subscribe", {"uri": uri})
        # No two looks, however close, would find a difference. Subscribed is subscribed: nothing is waited for.
        client.run("open('dir/fleeting', 'w'); os.remove('dir/fleeting')")
        assert notification(client, "notifications/resources/updated")["uri"] == uri
        # Another directory of the same name.
        client.run("os.rename('dir', 'old'); os.mkdir('dir')")
        notification(client, "notifications/resources/updated")
        client.run("open('dir/fleeting', 'w').write('x')")
        notification(client, "notifications/resources/updated")
        assert read(client, uri)[0]["text"] == "x"


def test_what_cannot_be_heard_is_looked_at(client):
    client.run("""
import os
for n, name in enumerate(('far', 'other')):
    os.mkdir(name); open(f'{name}/real', 'w').write(str(n))
os.symlink('far/real', 'link')""")
    uri = uri_of(client, "/workspace/link")
    client.request("resources/subscribe", {"uri": uri})
    # A subscriber hears of the link and the file, not the directory in between.
    client.run("os.rename('far', 'gone'); os.rename('other', 'far')")
    assert notification(client, "notifications/resources/updated")["uri"] == uri


@pytest.mark.slow
def test_the_end_of_a_shared_file_is_told(client):
    client.run("open('x', 'w').write('shared')")
    client.result("share_file", path="x", expires_in_seconds=8)  # time to list it and to subscribe
    uri = next(one["uri"] for one in client.request("resources/list")["resources"] if "//shared/" in one["uri"])
    assert client.request("resources/subscribe", {"uri": uri}) == {}
    assert notification(client, "notifications/resources/updated", timeout=60)["uri"] == uri
    assert error_of(client, "resources/read", {"uri": uri})["code"] == -32002


def test_what_can_never_be_told_is_not_promised(state):
    with Client(state, revision=MODERN) as client:
        client.start("subscriptions/listen", {"notifications": {
            "resourceSubscriptions": ["file:///etc/passwd", "sandbox://none/workspace/x", "sandbox://%/x"]}})
        told = notification(client, "notifications/subscriptions/acknowledged")
        assert told["notifications"] == {"resourceSubscriptions": ["sandbox://none/workspace/x"]}


def test_a_listening_client_is_told_of_the_end(state):
    client = Client(state, revision=MODERN)
    listen = client.start("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
    notification(client, "notifications/subscriptions/acknowledged")
    client.process.terminate()
    reply = client.reply(listen)
    assert reply["result"]["resultType"] == "complete"
    assert notification(client, "notifications/cancelled")["requestId"] == listen
    client.close()


def test_prompts(shared):
    prompts = {one["name"]: one for one in shared.request("prompts/list")["prompts"]}
    assert set(prompts) == {"analyse_data", "make_chart", "fix_script"}
    got = shared.request("prompts/get", {"name": "make_chart", "arguments": {
        "path": "d.csv", "what": "sales per day", "kind": "bar", "session_id": "s1"}})
    text = got["messages"][0]["content"]["text"]
    for word in ("d.csv", "sales per day", "bar", "s1", "run_code", "share_file"):
        assert word in text
    shared.run("open('sales.csv', 'w').write('a')")
    session = shared.call("list_sessions")["sessions"][0]["session_id"]
    done = shared.request("completion/complete", {
        "ref": {"type": "ref/prompt", "name": "make_chart"}, "argument": {"name": "path", "value": "sa"},
        "context": {"arguments": {"session_id": session}}})
    assert done["completion"]["values"] == ["sales.csv"]


def test_a_run_is_a_task_of_2025(state):
    with Client(state, revision="2025-11-25") as client:
        task = client.request("tools/call", {"name": "run_code", "task": {}, "arguments": {
            "code": "import os, time\nwhile not os.path.exists('go'): time.sleep(0.05)\n'slept'"}})["task"]
        assert task["status"] == "working" and task["ttl"] is None
        waits = client.start("tasks/result", {"taskId": task["taskId"]})
        client.result("write_file", path="go", content="")
        result = client.reply(waits)["result"]
        assert result["structuredContent"]["outputs"][0]["text"] == "'slept'"
        assert result["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": task["taskId"]}
        assert client.request("tasks/get", {"taskId": task["taskId"]})["status"] == "completed"
        endless = client.request("tools/call", {"name": "run_code", "task": {}, "arguments": {
            "code": "import time\nwhile True: time.sleep(1)"}})["task"]["taskId"]
        assert client.request("tasks/cancel", {"taskId": endless})["status"] == "cancelled"
        assert error_of(client, "tasks/cancel", {"taskId": endless})["code"] == -32602
        listed = client.request("tasks/list")["tasks"]
        assert {one["taskId"] for one in listed} == {task["taskId"], endless}
        assert client.call("get_run", run_id=endless)["status"] == "cancelled"
        wrong = error_of(client, "tools/call", {"name": "run_code", "task": {}, "arguments": {}})
        assert wrong["code"] == -32602


@pytest.mark.slow
def test_waiting_for_tasks_leaves_room_for_calls(state):
    with Client(state, revision="2025-11-25") as client:
        token = "how far"
        task = client.request("tools/call", {"name": "run_code", "task": {}, "_meta": {"progressToken": token},
                                             "arguments": {"timeout_seconds": 60, "code": """
import os, time
print("begun", flush=True)
while not os.path.exists("go"): time.sleep(0.05)
'gone'"""}})["task"]["taskId"]
        # More than there are threads, and none of them is held.
        waits = [client.start("tasks/result", {"taskId": task}) for _ in range(100)]
        client.notify("notifications/cancelled", {"requestId": waits[0]})
        told = notification(client, "notifications/progress")
        assert told["progressToken"] == token and told["message"].split(" (")[0] in ("begun", "running", "queued")
        client.result("write_file", path="go", content="")
        assert notification(client, "notifications/tasks/status")["status"] == "completed"
        for wait in waits[1:]:
            result = client.reply(wait)["result"]
            assert result["structuredContent"]["outputs"][0]["text"] == "'gone'"


def test_a_background_run_is_a_task_of_the_extension(state):
    with Client(state, revision=MODERN) as client:
        client.capabilities = TASKS
        created = client.request("tools/call", {"name": "run_code", "arguments": {
            "code": "print('out'); 'done'", "background": True}})
        assert created["resultType"] == "task"
        listen = client.start("subscriptions/listen", {"notifications": {"taskIds": [created["taskId"]]}})
        notification(client, "notifications/subscriptions/acknowledged")
        client.until_ended(created["taskId"])
        got = client.request("tasks/get", {"taskId": created["taskId"]})
        assert got["status"] == "completed" and got["resultType"] == "complete"
        assert got["result"]["structuredContent"]["stdout"] == "out\n"
        client.notify("notifications/cancelled", {"requestId": listen})
        assert client.value("'no task'") == "'no task'"
        client.capabilities = {}
        assert error_of(client, "tasks/get", {"taskId": created["taskId"]})["code"] == -32021


def test_instructions_and_descriptions_are_short(shared):
    assert len(shared.initialized["instructions"]) < 4096
    tools = shared.request("tools/list")["tools"]
    assert all(len(tool["description"]) < 4096 for tool in tools)


def test_a_trace_is_in_the_log(state):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    client = Client(state, env={"HUTCH_LOG_LEVEL": "info"})
    with client:
        for parent in (trace, trace.upper(), "00-x", 5):
            client.request("tools/call", {"name": "list_sessions", "arguments": {},
                                          "_meta": {"traceparent": parent}})
    deadline = time.monotonic() + 10 * PATIENCE
    while not any(b"ended the connection" in line for line in client.errors):
        assert time.monotonic() < deadline, client.errors
        time.sleep(0.01)
    logged = [line for line in client.errors if b"tools/call" in line]
    assert len(logged) == 1 and b"list_sessions" in logged[0] and trace.encode() in logged[0]


def test_looking_wakes_nobody_up(client, state):
    client.run("""
import os
os.mkdir('real'); open('real/file', 'w').write('x')
os.symlink('real', 'link')
held = (n for n in [1])""")  # which cannot be stored: it is frozen
    uri = uri_of(client, "/workspace/link/file")  # not heard of: it is looked at twice a second
    session = uri.split("/")[2]
    client.request("resources/subscribe", {"uri": uri})
    assert client.call("pause_session", session_id=session)["status"] == "paused"
    for text in ("more", "and more"):
        pathlib.Path(state, "sessions", session, "workspace/real/file").write_text(text)
        assert notification(client, "notifications/resources/updated")["uri"] == uri
    assert client.call("list_sessions")["sessions"][0]["status"] == "paused"
