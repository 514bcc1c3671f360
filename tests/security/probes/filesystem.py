"""The host's files, and what of the box's own tree may be written, executed or made."""

import ctypes
import mmap
import os
import stat
import struct

from probes.base import (attempt, contained, escaped, is_read_only, mount_points, probe, read_some,
                         syscall)

TOP = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "dev", "proc", "run", "tmp",
       "var", "home", "workspace", "mnt", "runs", "sys", "environment", "node_modules"}


def first_that_opens(paths):
    for path in paths:
        data, _ = attempt(read_some, path)
        if data:
            return path
    return None


def everywhere(path):
    """`path` below every mount and every directory at the top, where a host's tree could hang."""
    tops = {point for point, _ in mount_points()} | {"/" + name for name in os.listdir("/")}
    return [path] + [top.rstrip("/") + path for top in sorted(tops)]


@probe("pivot")
def read_a_file_of_the_host(facts):
    """A file that anybody on the host may read, wherever the host's tree may still hang."""
    found = first_that_opens(everywhere(facts["marker"]))
    return escaped(found) if found else contained("nowhere")


@probe("pivot")
def find_the_state_directory(facts):
    """The server's state: other sessions' workspaces and the database."""
    found = [path for path in everywhere(facts["state"]) if os.path.lexists(path)]
    return escaped(found) if found else contained("nowhere")


@probe("pivot")
def paths_that_only_a_host_has(facts):
    """Returns what sandboxes have leaked before; empty where a mask stands."""
    names = ["/root", "/boot", "/sys/class", "/sys/kernel", "/sys/block", "/sys/firmware", "/sys/fs/bpf",
             "/var/log", "/var/lib", "/run/docker.sock", "/run/systemd",
             "/run/user", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/fuse", "/dev/kvm",
             "/dev/loop0", "/dev/disk", "/opt", "/srv", "/media", "/etc/shadow", "/etc/gshadow",
             "/etc/sudoers", "/etc/ssh", "/etc/machine-id", "/etc/hostid", "/etc/kubernetes",
             "/lost+found", "/initrd.img", "/home/user/../../root"]
    found = [path for name in names for path in (name, "/old" + name) if os.path.lexists(path)]
    found += [f"/mnt/{name}" for name in os.listdir("/mnt") if name != "data"]  # that leads to /workspace
    return escaped(found) if found else contained("none")


@probe("pivot")
def write_a_file_of_the_host(facts):
    """A directory of the host that anybody may write to."""
    for path in everywhere(facts["open_directory"] + "/written"):
        if attempt(os.open, path, os.O_WRONLY | os.O_CREAT, 0o600)[1] is None:
            return escaped(path)
    return contained("nowhere")


@probe("pivot")
def climb_above_the_root(facts):
    """'..' of the topmost directory is itself: only known entries stand there."""
    foreign = set(os.listdir("/workspace/" + "../" * 40)) - TOP
    return escaped(sorted(foreign)) if foreign else contained("only the box's own")


@probe("pivot")
def mounts_of_the_host(facts):
    """Each mount is one that the plan put there; the old root is not among them."""
    foreign = [point for point, _ in mount_points() if point.split("/")[1] not in TOP | {""}]
    return escaped(foreign) if foreign else contained("none")


@probe("pivot")
def connect_to_a_socket_file_of_the_host(facts):
    """A socket such as docker.sock: whoever reaches its path speaks with its server."""
    import socket
    for path in everywhere(facts["socket_path"]):
        if len(path) < 108 and attempt(socket.socket(socket.AF_UNIX).connect, path)[1] is None:
            return escaped(path)
    return contained("nowhere")


@probe("etc")
def password_hashes_of_the_host(facts):
    """/etc/shadow and its like are not there, readable or not."""
    found = [path for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/machine-id",
                               "/etc/ssh") if os.path.lexists(path)]
    return escaped(found) if found else contained("not there")


@probe("etc")
def accounts_of_the_host(facts):
    """/etc/passwd is the box's own and names nobody of the host."""
    names = {line.split(":")[0] for line in open("/etc/passwd")}
    return contained(names) if names <= {"user", "nobody"} else escaped(sorted(names))


@probe("etc")
def name_servers_of_the_host(facts):
    """/etc/resolv.conf and /etc/hosts tell of the host's network."""
    own = {"/etc/hosts": "hutch", "/etc/hostname": "hutch"}
    foreign = [path for path, word in own.items() if word not in open(path).read()]
    return escaped(foreign) if foreign else contained("own files")


@probe("read_only_binds")
def programs_are_writable(facts):
    """/usr is mounted read-only: its owner's rights do not matter."""
    return contained("read-only") if is_read_only("/usr") else escaped("/usr is writable for its owner")


@probe("read_only_binds")
def libraries_are_writable(facts):
    """The file of the C library itself, through the shared mount."""
    import sysconfig
    path = os.path.realpath(sysconfig.get_path("stdlib") + "/os.py")
    return contained("read-only") if is_read_only(path) else escaped(path)


@probe("read_only_binds")
def the_runner_can_be_changed(facts):
    """The code that runs the next session's code is not to be changed from a session."""
    return contained("read-only") if is_read_only("/run/hutch/runners") else escaped("writable")


@probe("read_only_binds")
def run_records_can_be_changed(facts):
    """A run's output is recorded outside the code's reach."""
    return contained("read-only") if is_read_only("/runs") else escaped("writable")


@probe("read_only")
def make_a_directory_at_the_top(facts):
    """The root is read-only, though it belongs to the box's user."""
    _, error = attempt(os.mkdir, "/hutch-probe")
    return contained(error) if error else escaped("mkdir")


@probe("read_only")
def change_etc(facts):
    """/etc decides what names, libraries and programs mean."""
    for path in ("/etc/ld.so.preload", "/etc/hosts.new", "/run/hutch-probe", "/var/hutch-probe"):
        if attempt(os.open, path, os.O_CREAT | os.O_WRONLY)[1] is None:
            return escaped(path)
    return contained("read-only")


@probe("read_only")
def write_where_nothing_is_to_be_written(facts):
    """Everything but the workspace, home, /tmp and shared memory."""
    written = []
    for top in ("/usr/bin", "/usr/lib", "/etc", "/dev", "", "/run", "/run/hutch", "/run/hutch/bin", "/run/hutch/runners",
                "/runs", "/var", "/home", "/proc", "/proc/sys/kernel", "/etc/ssl"):
        opened, error = attempt(os.open, top + "/x", os.O_WRONLY | os.O_CREAT, 0o600)
        if error is None:
            written.append(top + "/x")
    return escaped(written) if written else contained("read-only")


@probe("read_only")
def exchange_a_link_at_the_top(facts):
    """/bin and /lib are links on the root: whoever renames them chooses everybody's programs."""
    for name in ("/sbin", "/lib64", "/var/tmp"):
        if os.path.islink(name) and attempt(os.rename, name, name + ".old")[1] is None:
            return escaped(name)
    return contained("read-only")


@probe("noexec")
def run_a_program_from_the_records(facts):
    """The directory of run records is data of the host's side: nothing runs from there."""
    runs = "/runs"
    for top, _, names in os.walk(runs):
        for name in names:
            path = os.path.join(top, name)
            if not os.access(path, os.R_OK) or os.path.getsize(path) == 0:
                continue
            with open(path, "rb") as file:
                mapped, error = attempt(mmap.mmap, file.fileno(), 1, mmap.MAP_PRIVATE,
                                        mmap.PROT_READ | mmap.PROT_EXEC)
            return contained(error) if error else escaped(path)
    flagged = os.statvfs(runs).f_flag & os.ST_NOEXEC
    return contained("noexec") if flagged else escaped("no noexec")


@probe("nosuid")
def setuid_files_count(facts):
    """Each mount that shows files of the host is nosuid."""
    bad = [point for point, options in mount_points() if "nosuid" not in options]
    return escaped(bad) if bad else contained("nosuid everywhere")


@probe("nodev")
def device_files_count(facts):
    """Only the single nodes below /dev are devices, and the null device that masks files of /proc."""
    null = os.makedev(1, 3)
    bad = [point for point, options in mount_points()
           if "nodev" not in options and not point.startswith("/dev/")
           and not (point.startswith("/proc/") and os.stat(point).st_rdev == null)]
    return escaped(bad) if bad else contained("nodev elsewhere")


@probe(outside="the kernel makes device nodes for the host's root only, whatever the box is")
def make_a_device_node(facts):
    """A node of the disk (or of memory) made in the workspace."""
    for path in ("/workspace/node", "/dev/shm/node"):
        made, error = attempt(os.mknod, path, stat.S_IFBLK | 0o600, os.makedev(254, 0))
        if error is None:
            os.unlink(path)
            return escaped(path)
    return contained(error)


@probe("capabilities")
def give_a_file_capabilities(facts):
    """security.capability on a file of one's own: executed outside, it would give rights there."""
    path = "/workspace/with-capabilities"
    open(path, "w").close()
    # VFS_CAP_REVISION_3, effective, CAP_SYS_ADMIN, for the namespace whose root is 1000
    value = struct.pack("<6I", 0x03000001, 1 << 21, 0, 0, 0, 1000)
    _, error = attempt(os.setxattr, path, "security.capability", value)
    os.unlink(path)
    return contained(error) if error else escaped("set")


@probe("tmpfs_sizes")
def fill_a_memory_file_system(facts):
    """Each tmpfs has a size and a number of files."""
    unbounded = []
    for path in ("/dev/shm", "/run/hutch/state"):
        status = os.statvfs(path)
        # A tmpfs without limits says 0 of both.
        if status.f_blocks == 0 or status.f_files == 0:
            unbounded.append(path)
    return escaped(unbounded) if unbounded else contained("bounded")


@probe("seccomp")
def open_by_file_handle(facts):
    """A handle names a file by number, past every mount ("shocker")."""
    handle = ctypes.create_string_buffer(136)
    ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint))[0] = 128
    mount_id = ctypes.c_int()
    result, error = syscall(303, -100, ctypes.c_char_p(b"/workspace"), handle,
                            ctypes.byref(mount_id), 0)
    return escaped(f"handle type {handle.raw[4]}") if result == 0 else contained(os.strerror(error))


@probe("dumpable")
def the_root_of_init(facts):
    """/proc/1/root and cwd lead to the tree as init sees it."""
    for path in ("/proc/1/root", "/proc/1/cwd"):
        if attempt(os.listdir, path)[1] is None:
            return escaped(path)
    return contained("closed")
