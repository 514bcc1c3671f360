"""The network, the host's sockets, and families of sockets that lead past namespaces or into bugs."""

import ctypes
import socket

from probes.base import attempt, contained, escaped, probe, refused, syscall

STREAM, DGRAM, RAW, SEQPACKET = 1, 2, 3, 5

# name: (family, type, protocol, why)
FAMILIES = {
    "vsock": (40, STREAM, 0, "is not namespaced: reaches the hypervisor (CVE-2025-21756)"),
    "alg": (38, SEQPACKET, 0, "CVE-2026-31431 wrote to shared page cache"),
    "netlink_netfilter": (16, RAW, 12, "nf_tables"),
    "netlink_xfrm": (16, RAW, 6, "IPsec: Dirty Frag"),
    "netlink_audit": (16, RAW, 9, "the host's audit"),
    "netlink_uevent": (16, RAW, 15, "the host's devices"),
    "netlink_generic": (16, RAW, 16, "a multiplexer of subsystems"),
    "mptcp": (2, STREAM, 262, "little-fuzzed, and past Landlock's rules of TCP"),
    "sctp": (2, STREAM, 132, "little-fuzzed"),
    "udplite": (2, DGRAM, 136, "little-fuzzed"),
    "can": (29, RAW, 1, "loads modules"),
    "bluetooth": (31, RAW, 1, "is not namespaced"),
    "tipc": (30, SEQPACKET, 0, "a train of CVEs"),
    "rds": (21, SEQPACKET, 0, "a train of CVEs"),
    "rxrpc": (33, DGRAM, 2, "Dirty Frag CVE-2026-43500"),
    "nfc": (39, SEQPACKET, 1, "is not namespaced"),
    "qipcrtr": (42, DGRAM, 0, "is not namespaced"),
    "smc": (43, STREAM, 0, "a train of CVEs"),
    "kcm": (41, DGRAM, 0, "a train of CVEs"),
    "ax25": (3, DGRAM, 0, "obsolete"),
    "appletalk": (5, DGRAM, 0, "obsolete"),
}

# These are such, where the kernel asks for a right before anything else.
PRIVILEGED = {
    "packet": (17, RAW, 3, "reads and writes frames"),
    "key": (15, RAW, 2, "IPsec keys"),
    "raw": (2, RAW, 1, "forges packets"),
    "raw_ipv6": (10, RAW, 58, "forges packets"),
    "xdp": (44, RAW, 0, "memory shared with drivers"),
}


def add_family(name, arguments, layers):
    family, kind, protocol, why = arguments

    def run(facts):
        return refused(*syscall(41, family, kind, protocol))
    run.__doc__ = why
    probe(*layers, name=f"socket_{name}")(run)


for _name, _arguments in FAMILIES.items():
    add_family(_name, _arguments, ("seccomp",))
for _name, _arguments in PRIVILEGED.items():
    add_family(_name, _arguments, ("seccomp", "capabilities"))


@probe("seccomp")
def socket_family_with_high_bits(facts):
    """The kernel looks at 32 bits of the family: AF_VSOCK with a bit above."""
    return refused(*syscall(41, 1 << 32 | 40, STREAM, 0))


@probe("seccomp")
def socketpair_of_another_family(facts):
    """socketpair() makes sockets too."""
    return refused(*syscall(53, 30, SEQPACKET, 0, ctypes.create_string_buffer(8)))


@probe("net")
def interfaces(facts):
    """Only loopback."""
    names = [name for _, name in socket.if_nameindex()]
    return contained(names) if names == ["lo"] else escaped(names)


@probe("net")
def connect_to_the_host(facts):
    """A server on the host's loopback."""
    with socket.socket() as plain:
        plain.settimeout(5)
        _, error = attempt(plain.connect, ("127.0.0.1", facts["tcp_port"]))
    return contained(error) if error else escaped("connected")


@probe("net")
def send_to_the_host(facts):
    """A datagram to the host's loopback, and its echo."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        plain.settimeout(2)
        plain.connect(("127.0.0.1", facts["udp_port"]))
        plain.send(b"probe")
        data, error = attempt(plain.recv, 16)
    return contained(error) if error else escaped(data)


@probe("net")
def abstract_socket_of_the_host(facts):
    """Abstract names live in the network namespace, not in any directory (CVE-2020-15257)."""
    with socket.socket(socket.AF_UNIX) as plain:
        _, error = attempt(plain.connect, "\0" + facts["abstract_name"])
    return contained(error) if error else escaped("connected")


@probe("net")
def take_an_address_of_the_host(facts):
    """A port that the host has taken is free in here: the two do not share ports."""
    with socket.socket() as plain:
        _, error = attempt(plain.bind, ("127.0.0.1", facts["tcp_port"]))
    return escaped(error) if error else contained("the port is free")


@probe("net")
def connections_of_the_host(facts):
    """/proc/net lists sockets of the network namespace."""
    port = f":{facts['tcp_port']:04X} "
    return escaped("the host's listener") if port in open("/proc/net/tcp").read() else contained("not listed")


@probe("net")
def unix_sockets_of_the_host(facts):
    """/proc/net/unix lists the paths of the host's sockets."""
    listed = facts["abstract_name"] in open("/proc/net/unix").read()
    return escaped("listed") if listed else contained("not listed")


@probe("net")
def routes_of_the_host(facts):
    """Routing tables name the host's networks (a netlink socket of the route family is allowed)."""
    import struct
    with socket.socket(16, socket.SOCK_RAW, 0) as route:
        request = struct.pack("=IHHIIBxHiII", 32, 18, 0x301, 1, 0, 0, 0, 0, 0, 0)  # RTM_GETLINK
        route.send(request)
        data = route.recv(65536)
    known = [name for name in facts["interfaces"] if name != "lo" and name.encode() + b"\0" in data]
    if facts["interfaces"] == ["lo"]:
        return interfaces(facts)
    return escaped(known) if known else contained("lo only")
