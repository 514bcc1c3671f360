"""Tests what a run says of the files that changed while it was on."""

from boxes import until


def test_files_changed(client):
    client.call("write_file", path="old.txt", content="1")
    run = client.run("open('new.txt','w').write('hello')\nopen('old.txt','a').write('2')")
    changes = {c["path"]: c["change"] for c in run["files_changed"]}
    assert changes == {"/workspace/new.txt": "created", "/workspace/old.txt": "modified"}
    run = client.run("import os; os.remove('new.txt')")
    assert [(c["path"], c["change"]) for c in run["files_changed"]] == [
        ("/workspace/new.txt", "deleted")]
    assert client.run("1")["files_changed"] == []


def test_files_of_a_folder_that_was_moved_are_at_their_new_place(client):
    client.run("import os\nos.makedirs('moved/from')\nopen('moved/from/a', 'w').write('x')")
    run = client.run("os.rename('moved', 'now')")
    assert {c["path"]: c["change"] for c in run["files_changed"]} == {"/workspace/moved/from/a": "deleted", "/workspace/now/from/a": "created"}
    client.run("os.makedirs('other/from')\nopen('other/from/a', 'w').write('y')")
    run = client.run("os.rename('now', 'away'); os.rename('other', 'now')")
    assert {c["path"]: c["change"] for c in run["files_changed"]} == {
        "/workspace/other/from/a": "deleted", "/workspace/now/from/a": "modified", "/workspace/away/from/a": "created"}
    client.run("os.rename('now/from', 'now/to'); os.remove('now/to/a')")
    assert client.run("1")["files_changed"] == []


def test_files_that_change_while_another_run_begins_and_ends_are_of_both(client):
    wait = "while [ ! -e go ]; do sleep 0.05; done\n"
    first = client.call("run_code", language="bash", code=f"touch first; echo there\n{wait}touch last", background=True)
    until(lambda: client.call("get_run", run_id=first["run_id"])["stdout"] == "there\n", what="the first file")
    second = client.run("open('second', 'w').close()")
    assert [c["path"] for c in second["files_changed"]] == ["/workspace/second"]
    client.run("open('go', 'w').close()")
    first = client.call("get_run", run_id=first["run_id"], wait_seconds=50)
    assert [(c["path"], c["change"]) for c in first["files_changed"]] == [
        (f"/workspace/{name}", "created") for name in ("first", "go", "last", "second")]
    assert client.run("1")["files_changed"] == []
