"""A few of the probes again, in the words of the other languages: no Python between code and kernel.

Each is (language, name, layers to switch off for the counter-check, code made from the facts); the
code says ESCAPED or CONTAINED on its standard output.
"""

import collections
import json

MARKER_TEXT = "hutch-marker-of-the-host"  # in a file: SQL says that it escaped by showing this
Native = collections.namedtuple("Native", "language name layers code")

def bash(condition):
    return f"if {{ {condition}; }} >/dev/null 2>&1; then echo ESCAPED; else echo CONTAINED; fi"


def javascript(condition):
    return ("{ const fs = require('fs'); let escaped = false; "
            f"try {{ escaped = await (async () => {{ {condition} }})() }} catch {{}} "
            "console.log(escaped ? 'ESCAPED' : 'CONTAINED') }")


def connect(port):
    return ("return await new Promise(done => { const plain = require('net').connect(%d, '127.0.0.1', "
            "() => { plain.destroy(); done(true) }); plain.on('error', () => done(false)) })" % port)


PROBES = [
    Native("bash", "read_a_file_of_the_host", {"pivot"}, lambda facts: bash(
        f"for top in '' /*; do cat \"$top{facts['marker']}\" && break; done")),
    Native("bash", "connect_to_the_host", {"net"}, lambda facts: bash(
        f"exec 3<>/dev/tcp/127.0.0.1/{facts['tcp_port']}")),
    Native("bash", "signal_a_process_of_the_host", {"pid", "proc"}, lambda facts: bash(
        f"kill -0 {facts['victim']}")),
    Native("bash", "see_a_process_of_the_host", {"proc"}, lambda facts: bash(
        # In brackets, so that the search does not find itself.
        f"grep -la '[v]{facts['victim_token'][1:]}' /proc/[0-9]*/cmdline | grep .")),
    Native("bash", "secrets_of_the_server", {"environment"}, lambda facts: bash(
        f"export -p | grep {facts['secret']}")),
    Native("bash", "write_at_the_top", {"read_only"}, lambda facts: bash("echo x > /etc/hutch-probe")),
    Native("bash", "unshare_a_user_namespace", {"seccomp", "user_namespaces"},
           lambda facts: bash("unshare --user true")),
    Native("bash", "mount_a_file_system", {"seccomp", "capabilities"}, lambda facts: bash(
        "mount -t tmpfs -i none /home/user")),
    Native("bash", "init_of_the_box", {"dumpable"}, lambda facts: bash("ls /proc/1/fd/ && cat /proc/1/maps")),
    Native("bash", "limits", {"rlimits"}, lambda facts: bash("test \"$(ulimit -Hc)\" != 0 -a \"$(ulimit -Hc)\" != 1")),
    Native("javascript", "read_a_file_of_the_host", {"pivot"}, lambda facts: javascript(
        f"return ['', ...fs.readdirSync('/').map(name => '/' + name)].some(top => "
        f"fs.existsSync(top + {json.dumps(facts['marker'])}))")),
    Native("javascript", "connect_to_the_host", {"net"}, lambda facts: javascript(
        connect(facts["tcp_port"]))),
    Native("javascript", "signal_a_process_of_the_host", {"pid", "proc"}, lambda facts: javascript(
        f"return process.kill({facts['victim']}, 0)")),
    Native("javascript", "secrets_of_the_server", {"environment"}, lambda facts: javascript(
        f"return JSON.stringify(process.env).includes({json.dumps(facts['secret'])})")),
    Native("javascript", "write_at_the_top", {"read_only"}, lambda facts: javascript(
        "fs.writeFileSync('/etc/hutch-probe', 'x'); return true")),
    Native("javascript", "interfaces", {"net"}, lambda facts: javascript(
        "return fs.readFileSync('/proc/net/dev', 'utf8').trim().split('\\n').length > 3")),
    Native("javascript", "init_of_the_box", {"dumpable"}, lambda facts: javascript(
        "return fs.readdirSync('/proc/1/fd').length > 0")),
    Native("javascript", "a_leaked_directory", {"descriptors"}, lambda facts: javascript(
        "return fs.readdirSync('/proc/self/fd').some(fd => fs.existsSync("
        f"`/proc/self/fd/${{fd}}{facts['marker']}`))")),
    Native("javascript", "name_of_the_host", {"uts"}, lambda facts: javascript(
        "return require('os').hostname() !== 'hutch'")),
    Native("sql", "read_a_file_of_the_host", {"pivot"}, lambda facts:
           f'SELECT * FROM "/old{facts["marker_table"]}"'),
    Native("sql", "read_a_file_by_descriptor", {"descriptors"}, lambda facts:
           f'SELECT * FROM "/proc/self/fd/60{facts["marker_table"]}"'),
]

def verdict(probe, run):
    if probe.language == "sql":
        return "ESCAPED" if MARKER_TEXT in str(run) else "CONTAINED"
    said = run["stdout"].split()
    return said[-1] if said else f"BROKEN {run['status']} {run['stderr']}"
