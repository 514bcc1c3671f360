"""Tests what JavaScript leaves going when its last statement is done: servers, timers, callbacks."""

import gzip
import socket
import time

import pytest

SERVES = "const server = require('http').createServer((q, a) => { a.end('hi'); BODY }).listen(0, "\
    "() => console.log('port', server.address().port));"


def ask(port):
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return connection.makefile("rb").read()


def port_of(javascript, body):
    javascript.start(SERVES.replace("BODY", body), background=True)
    javascript.wait_for_stdout("port ")
    javascript.wait_for_stdout("\n")
    return int(javascript.take_stdout().split()[1])


def test_a_server_in_the_background_serves_until_it_is_closed(javascript):
    port = port_of(javascript, "if (q.url === '/') server.close()")
    time.sleep(0.3)
    assert ask(port).endswith(b"hi")
    assert javascript.finish().ok


def test_a_server_in_the_background_can_be_stopped(javascript):
    port = port_of(javascript, "")
    assert ask(port).endswith(b"hi")
    javascript.interrupt()
    assert javascript.finish().done["interrupted"]


@pytest.mark.parametrize("code, printed", [
    ("setTimeout(() => console.log('late'), 600)", "late\n"),
    ("let n = 0; const t = setInterval(() => { console.log(n); if (++n === 3) clearInterval(t) }, 150); 1", "0\n1\n2\n"),
    ("require('child_process').exec('sleep 0.5; echo out', (e, out) => console.log(out.trim()))", "out\n"),
    ("require('zlib').gzip('x'.repeat(1e6), () => console.log('packed'))", "packed\n"),
    ("(async () => { await new Promise((r) => setTimeout(r, 400)); console.log('async') })(); 1", "async\n"),
    ("process.once('beforeExit', () => setTimeout(() => console.log('bye'), 20))", "bye\n"),
    ("console.log('plain')", "plain\n"),
    ("new (require('worker_threads').Worker)('setTimeout(() => console.log(5), 400)', { eval: true })", "5\n"),
])
def test_a_background_run_ends_when_nothing_is_left(javascript, code, printed):
    ending = javascript.run(code, background=True)
    assert ending.ok and ending.stdout == printed, ending
    assert "note" not in ending.done


@pytest.mark.parametrize("code, name, exit_code", [
    ("setInterval(() => {}, 1000); setTimeout(() => { throw new RangeError('late') }, 400)", "RangeError", 1),
    ("setInterval(() => {}, 1000); setTimeout(() => Promise.reject(new RangeError('late')), 400)", "RangeError", 1),
    ("setInterval(() => {}, 1000); setTimeout(() => process.exit(4), 400)", "SystemExit", 4),
    ("setTimeout(() => { process.exitCode = 5 }, 400)", "SystemExit", 5),
])
def test_what_ends_a_script_ends_a_background_run(javascript, code, name, exit_code):
    ending = javascript.run(code, background=True)
    assert (ending.error["name"], ending.done["exit_code"]) == (name, exit_code), ending


LISTENS = "process.on('exit', (code) => console.log('exit', code, process.exitCode));"


@pytest.mark.parametrize("code, printed, exit_code", [
    ("console.log('plain')", "plain\nexit 0 undefined\n", 0),
    ("process.on('beforeExit', () => console.log('before'))", "before\nexit 0 undefined\n", 0),
    ("process.exit(4)", "exit 4 4\n", 4),
    ("process.exit()", "exit 0 undefined\n", 0),
    ("setTimeout(() => process.exit(4), 20)", "exit 4 4\n", 4),
    ("try { process.exit(4) } catch {}", "exit 4 4\n", 4),
    ("process.exitCode = 5", "exit 5 5\n", 5),
    ("null.x", "exit 1 1\n", 1),
    ("setTimeout(() => { throw new Error('late') }, 20)", "exit 1 1\n", 1),
    ("process.on('exit', () => { process.exitCode = 6 })", "exit 0 undefined\n", 6),
    ("process.on('exit', () => process.exit(7)); process.on('exit', () => console.log('never')); process.exit(4)", "exit 4 4\n", 7),
    ("process.on('exit', () => { process.exitCode = 0 }); null.x", "exit 1 1\n", 1),
    ("process.on('exit', () => display('shown'))", "exit 0 undefined\n", 0),
])
def test_a_background_run_tells_once_of_its_exit(javascript, code, printed, exit_code):
    ending = javascript.run(LISTENS + code, background=True)
    assert (ending.stdout, ending.done["exit_code"]) == (printed, exit_code), ending
    assert ending.ok == (exit_code == 0) and ("display" in code) == any(one["text"] == "'shown'" for one in ending.outputs)


@pytest.mark.parametrize("code, exit_code, name", [("1", 1, "RangeError"), ("process.exit(3)", 3, "SystemExit"),
                                                   ("null.x", 1, "TypeError")])
def test_who_listens_for_the_exit_may_fail(javascript, code, exit_code, name):
    ending = javascript.run(f"process.on('exit', () => {{ throw new RangeError('at exit') }}); {code}", background=True)
    assert (ending.done["exit_code"], ending.error["name"]) == (exit_code, name), ending
    assert ending.stderr.count("RangeError: at exit\n") == 1 and "runners" not in ending.stderr


def test_who_listens_for_the_exit_can_be_stopped(javascript):
    javascript.start("process.on('exit', () => { console.log('started'); while (true) {} })", background=True)
    javascript.wait_for_stdout("started")
    javascript.interrupt()
    ending = javascript.finish()
    assert ending.done["interrupted"] and ending.stdout == "started\n"


def test_an_interrupt_and_a_run_of_the_session_are_no_exit(javascript):
    assert javascript.run(LISTENS).stdout == ""
    javascript.start("console.log('started'); setInterval(() => {}, 1000)", background=True)
    javascript.wait_for_stdout("started")
    javascript.interrupt()
    assert javascript.finish().stdout == "started\n"


def test_a_background_run_whose_timer_loops_can_be_stopped(javascript):
    javascript.start("setTimeout(() => { console.log('started'); while (true) {} }, 400)", background=True)
    javascript.wait_for_stdout("started")
    javascript.interrupt()
    assert javascript.finish().done["interrupted"]


@pytest.fixture
def patient(start_altered):
    """Waits for callbacks for as long as a busy machine may take: a run that ends sooner shows that all have come."""
    return start_altered("leftovers.mjs", "SOON_MS", 30_000)


@pytest.mark.parametrize("code, printed", [
    ("require('child_process').exec('echo hi', (e, out) => console.log(out.trim()));", "hi\n"),
    ("require('fs').readFile('/proc/self/comm', (e, d) => console.log('read'));", "read\n"),
    ("require('fs').promises.readFile('/proc/self/comm').then(() => console.log('read')); 1", "read\n"),
    ("setTimeout(() => console.log('x'), 100);", "x\n"),
    ("const s = require('http').createServer((q, a) => a.end('body')).listen(0, () => "
     "fetch(`http://127.0.0.1:${s.address().port}`).then((r) => r.text()).then((t) => { console.log(t); s.close() }));", "body\n"),
    ("hutch.sql('SELECT 40 + 2 AS n').then((rows) => console.log(rows[0].n)); 1", "42\n"),
    ("require('zlib').gzip('x'.repeat(1e6), () => console.log('packed'));", "packed\n"),
    ("require('zlib').gzip('x', () => setTimeout(() => require('zlib').gzip('x', () => console.log('twice')), 20));", "twice\n"),
    ("require('crypto').pbkdf2('a', 'b', 10_000, 32, 'sha256', () => console.log('derived'));", "derived\n"),
    ("require('crypto').scrypt('a', 'b', 32, { N: 2048 }, () => console.log('derived'));", "derived\n"),
    ("require('crypto').generateKeyPair('ec', { namedCurve: 'P-256' }, () => console.log('keys'));", "keys\n"),
    ("require('crypto').webcrypto.subtle.digest('SHA-256', new Uint8Array(1e6)).then(() => console.log('digest')); 1", "digest\n"),
])
def test_callbacks_that_come_soon_are_waited_for(patient, code, printed):
    assert patient.run("hutch.sql('SELECT 1')" if "sql" in code else "1").ok
    ending = patient.run(code)
    assert ending.ok and ending.stdout == printed, ending
    assert "note" not in ending.done


def test_what_stays_is_told_of(javascript):
    ending = javascript.run("const s = require('net').createServer().listen(0, () => console.log('listening'));")
    assert ending.ok and "note" in ending.done
    if not ending.stdout:
        javascript.wait_for_stdout("listening")


def test_a_file_that_is_packed_is_whole_at_the_end(patient):
    ending = patient.run("const fs = require('fs'); fs.writeFileSync('a', require('crypto').randomBytes(1e6));"
                         "fs.createReadStream('a').pipe(require('zlib').createGzip()).pipe(fs.createWriteStream('a.gz')); 1")
    packed = (patient.cwd / "a.gz").read_bytes()
    assert ending.ok and gzip.decompress(packed) == (patient.cwd / "a").read_bytes()


DERIVES = "require('crypto').pbkdf2('a', 'b', 4_000_000, 32, 'sha256', () => console.log('derived'));"


def test_what_node_does_not_tell_of_is_told_of_when_it_takes_long(javascript):
    assert "get_run" in javascript.run(DERIVES).done["note"]
    assert "note" not in javascript.run("1 + 1").done  # it has begun nothing
    javascript.wait_for_stdout("derived")


def test_a_wait_that_nothing_is_seen_of_can_be_interrupted(javascript):
    javascript.start(f"{DERIVES} console.log('done')")
    javascript.wait_for_stdout("done")
    javascript.interrupt()
    ending = javascript.finish()
    assert ending.ok and "get_run" in ending.done["note"]
    assert javascript.run("'alive'").text == "'alive'"


def test_a_run_that_is_waited_for_is_not_the_end_of_the_users_script(patient):
    patient.run("const { emit } = process; process.on('beforeExit', () => console.log('before exit'));")
    for _ in range(3):
        assert patient.run("require('zlib').gzip('x', () => console.log('packed'));").stdout == "packed\n"
    assert patient.run("[process.emit === emit, Object.hasOwn(process, 'emit')]").text == "[ true, false ]"


def test_what_comes_later_is_told_of_once(javascript):
    ending = javascript.run("setInterval(() => {}, 50); const server = require('http').createServer((q, a) => a.end('hi')).listen(0); 'on'")
    assert ending.text == "'on'"
    assert "get_run" in ending.done["note"]
    code = "await (await fetch(`http://127.0.0.1:${server.address().port}`)).text()"
    assert (asked := javascript.run(code)).text == "'hi'" and "note" not in asked.done
    assert "note" not in javascript.run("1").done


def test_nothing_pending_is_not_waited_for(javascript):
    javascript.run("setInterval(() => {}, 1000); require('net').createServer().listen(0);")
    begun = time.monotonic()
    for _ in range(10):
        assert javascript.run("1 + 1").ok
    assert time.monotonic() - begun < 1.5


@pytest.mark.parametrize("begins", ["setTimeout(CALLBACK, 50);", "require('zlib').gzip('x', CALLBACK);"])
def test_a_callback_that_loops_is_stopped_with_its_run(javascript, begins):
    javascript.run("var kept = 1")
    javascript.start(begins.replace("CALLBACK", "() => { console.log('started'); while (true) {} }"))
    javascript.wait_for_stdout("started")
    javascript.interrupt()
    assert javascript.finish().done["interrupted"]
    assert javascript.run("kept").text == "1"


def test_an_interrupt_while_callbacks_are_waited_for_takes_nothing_back(javascript):
    javascript.start("setTimeout(() => console.log('late'), 5000); console.log('done'); 'value'")
    javascript.wait_for_stdout("done")
    while not javascript.receive()[0].get("output"):
        pass
    javascript.interrupt()
    ending = javascript.finish()
    assert ending.ok and "get_run" in ending.done["note"]
