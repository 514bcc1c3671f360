"""The posture of a box as the host sees it, from /proc: no tool of the box is asked, none can lie.

complaints() says what is wrong with a process, in words that tests look for.
"""

import os
import pathlib
import stat

NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
BOX_UID = "1000"


def read(pid, name):
    return pathlib.Path(f"/proc/{pid}/{name}").read_text()


def status(pid):
    return dict(line.split(":\t", 1) for line in read(pid, "status").splitlines() if ":\t" in line)


def box_of(state, session):
    """The host pid of the session's hutch-box, which alone has its locked file open for good."""
    (pid,) = {int(entry.name) for entry in pathlib.Path("/proc").glob("[0-9]*")
              if locked_by(entry) == f"{state}/sessions/{session}/lock"}
    return pid


def locked_by(entry):
    try:
        return os.readlink(entry / "fd/5") if (entry / "comm").read_text() == "hutch-box\n" else None
    except OSError:
        return None


def namespaces(pid):
    return {kind: os.readlink(f"/proc/{pid}/ns/{kind}") for kind in NAMESPACES}


def processes_of(pid_namespace):
    """Host pids of all processes in a pid namespace whose number the box itself has told."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "ns/pid") == pid_namespace:
                found.append(int(entry.name))
        except OSError:
            continue  # somebody else's, or gone
    return found


def mounts(pid):
    for line in read(pid, "mountinfo").splitlines():
        fields, kind = line.split(" - ")
        _, _, _, _, point, options, *propagation = fields.split()
        yield point, set(options.split(",")), propagation, kind.split()[0]


def descriptors(pid):
    """[(number, link, mode)]"""
    result = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{name}"
        result.append((int(name), os.readlink(path), os.stat(path).st_mode))
    return result


def mount_complaints(pid):
    for point, options, propagation, kind in mounts(pid):
        if "nosuid" not in options:
            yield f"nosuid: {point}"
        # The nodes in /dev, and the null device over what is masked, are single files of devtmpfs;
        # a devpts holds the terminals that the box itself has opened.
        node = stat.S_ISCHR(os.stat(f"/proc/{pid}/root{point}").st_mode) or kind == "devpts"
        if "nodev" not in options and not node:
            yield f"nodev: {point}"
        if point in ("/", "/usr", "/proc/sys", "/run/hutch/runners", "/runs") and "ro" not in options:
            yield f"read-only: {point}"
        if any(word.startswith("shared:") for word in propagation):
            yield f"propagation: {point}"
        if kind in ("cgroup", "cgroup2", "sysfs", "devtmpfs", "debugfs", "securityfs", "bpf") and not node:
            yield f"file system: {kind} at {point}"


def right_complaints(pid, as_root):
    now = status(pid)
    for name in CAPABILITIES:
        if int(now[name], 16) != 0:
            yield f"capabilities: {name} {now[name]}"
    if now["NoNewPrivs"] != "1":
        yield "no_new_privs"
    if now["Seccomp"] != "2" or int(now.get("Seccomp_filters", 2)) < 2:
        yield "seccomp"
    if as_root and now["Groups"].strip():
        yield f"groups: {now['Groups']}"
    if len(set(now["Uid"].split() + now["Gid"].split())) > (1 if as_root else 2):
        yield f"ids: {now['Uid']} {now['Gid']}"
    if as_root and now["Uid"].split()[0] == "0":
        yield "ids: the host's root"
    for name in ("uid_map", "gid_map"):
        lines = [line.split() for line in read(pid, name).splitlines()]
        if len(lines) != 1 or lines[0][0] != BOX_UID or lines[0][2] != "1":
            yield f"{name}: {lines}"
    if not as_root and read(pid, "setgroups").strip() != "deny":
        yield "setgroups"


def complaints(pid, facts):
    """Returns what is wrong with a process that runs code."""
    as_root = facts["as_root"]
    found = [*right_complaints(pid, as_root), *mount_complaints(pid)]
    own = namespaces(pid)
    found += [f"namespace: {kind}" for kind in NAMESPACES if own[kind] == facts["namespaces"][kind]]
    if len(status(pid)["NSpid"].split()) != 2:
        found.append("namespace: the process has more or fewer numbers than two")
    found += [f"descriptor: {number} {link}" for number, link, mode in descriptors(pid)
              if stat.S_ISDIR(mode) or stat.S_ISBLK(mode)]
    if facts["secret"] in read(pid, "environ") + read(pid, "cmdline"):
        found.append("environment")
    if int(read(pid, "oom_score_adj")) < 500:
        found.append("oom_score")
    limits = {line[:26].strip(): line[26:].split()[:2] for line in read(pid, "limits").splitlines()}
    wanted = {"Max core file size": "1", "Max open files": str(facts["limits"]["open_files"]),
              "Max file size": str(facts["limits"]["disk_mb"] << 20), "Max msgqueue size": "819200",
              "Max nice priority": "0", "Max realtime priority": "0"}
    found += [f"limits: {name} {limits[name]}" for name, value in wanted.items()
              if limits[name] != [value, value]]
    if os.readlink(f"/proc/{pid}/root") != "/" and as_root:
        found.append("root")
    if not os.readlink(f"/proc/{pid}/cwd").startswith("/workspace"):
        found.append("cwd")
    if facts["has_cgroups"] and facts["session"] not in read(pid, "cgroup"):
        found.append("cgroup")
    return found


def init_complaints(pid, as_root):
    """Init is of the code's own user, so it shows itself to nobody but the host's root."""
    found = [word for word in right_complaints(pid, as_root)] if as_root else []
    # Files in /proc of a process that is not dumpable belong to root, not to its user.
    if os.stat(f"/proc/{pid}/status").st_uid != 0:
        found.append("dumpable")
    return found


def shape(pid):
    """Returns what has to be the same for every process in a box."""
    now = status(pid)
    words = {name: now[name] for name in (*CAPABILITIES, "Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp",
                                          "Seccomp_filters") if name in now}
    files = {name: read(pid, name) for name in ("limits", "cgroup", "uid_map", "gid_map", "setgroups",
                                                "mountinfo")}
    return {**words, **files, **namespaces(pid), "root": os.readlink(f"/proc/{pid}/root")}
