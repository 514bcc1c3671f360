"""Rights: none may be there, and none may be had back."""

import ctypes
import fcntl
import os
import socket
import struct

from probes.base import attempt, contained, escaped, libc, probe, read_some, syscall

PR_CAPBSET_READ, PR_SET_SECUREBITS, PR_GET_SECUREBITS = 23, 28, 27
PR_GET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 39, 47, 2
CAP_LAST = 40


def status():
    lines = read_some("/proc/self/status", 65536).decode().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def capability_set(which):
    value = int(status()[which], 16)
    return escaped(hex(value)) if value else contained("empty")


@probe("capabilities")
def effective_capabilities(facts):
    """CapEff is empty."""
    return capability_set("CapEff")


@probe("capabilities")
def permitted_capabilities(facts):
    """CapPrm is empty: nothing can be made effective."""
    return capability_set("CapPrm")


@probe("capabilities")
def inheritable_capabilities(facts):
    """CapInh is empty (CVE-2022-29162 and its like)."""
    return capability_set("CapInh")


@probe("capabilities")
def ambient_capabilities(facts):
    """CapAmb is empty: nothing survives execve()."""
    return capability_set("CapAmb")


@probe("capabilities")
def bounding_set(facts):
    """CapBnd is empty: no file can give anything."""
    left = [n for n in range(CAP_LAST + 1) if libc.prctl(PR_CAPBSET_READ, n, 0, 0, 0) == 1]
    return escaped(left) if left else contained("empty")


@probe("capabilities")
def take_capabilities_back(facts):
    """capset() with all of them."""
    header = (ctypes.c_uint * 2)(0x20080522, 0)
    data = (ctypes.c_uint * 6)(0x3ffff, 0x3ffff, 0, 0, 0, 0)
    result, error = syscall(126, ctypes.byref(header), ctypes.byref(data))
    return escaped("capset") if result == 0 else contained(os.strerror(error))


@probe("capabilities")
def raise_ambient_capabilities(facts):
    """prctl(PR_CAP_AMBIENT_RAISE)"""
    raised = [n for n in range(CAP_LAST + 1)
              if libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, n, 0, 0) == 0]
    return escaped(raised) if raised else contained("refused")


@probe("capabilities")
def secure_bits_are_locked(facts):
    """NOROOT and its lock: uid 0 would not bring capabilities."""
    bits = libc.prctl(PR_GET_SECUREBITS, 0, 0, 0, 0)
    return contained(bin(bits)) if bits & 0b11 == 0b11 else escaped(bin(bits))


@probe("capabilities")
def unlock_secure_bits(facts):
    """prctl(PR_SET_SECUREBITS, 0)"""
    return escaped("set") if libc.prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) == 0 else contained("refused")


@probe("no_new_privs")
def gain_by_executing(facts):
    """no_new_privs: execve() never gives more than there was."""
    value = libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
    return contained("set") if value == 1 else escaped(value)


@probe("capabilities")
def change_the_network(facts):
    """Setting an interface's flags, to what they are already."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        request = fcntl.ioctl(plain, 0x8913, struct.pack("16sH14x", b"lo", 0))  # SIOCGIFFLAGS
        _, error = attempt(fcntl.ioctl, plain, 0x8914, request)  # SIOCSIFFLAGS
    return contained(error) if error else escaped("flags of lo")


@probe("capabilities")
def bind_a_privileged_port(facts):
    """Port 80 wants CAP_NET_BIND_SERVICE."""
    with socket.socket() as server:
        _, error = attempt(server.bind, ("127.0.0.1", 80))
    return contained(error) if error else escaped("bound")


@probe("seccomp", "capabilities")
def change_the_host_name(facts):
    """sethostname(), to what it is already."""
    name = os.uname().nodename.encode()
    result, error = syscall(170, ctypes.c_char_p(name), len(name))
    return escaped("set") if result == 0 else contained(os.strerror(error))


@probe("capabilities")
def become_another_group(facts):
    """setgid() and setuid() to ids that no map names."""
    for call in (os.setuid, os.setgid):
        for number in (0, 1, 65534, facts["host_uid"]):
            if number != 1000 and attempt(call, number)[1] is None:
                return escaped((call.__name__, number))
    bits = int(status()["CapEff"], 16) & (1 << 6 | 1 << 7)  # CAP_SETGID, CAP_SETUID
    return escaped("CAP_SETUID in a namespace with one id") if bits else contained("refused")
