"""No probe is blind: in a box whose layers are off, each reports its escape.

The boxes are those of build/<preset>/weak, whose hutch-init leaves out the steps that a test names
(tests/security/weak_init). Probes that need the same layers off share a box.
"""

import json
import os
import subprocess
import sys

import pytest

import native
from probes import all_probes
from probes import batch
from probes.base import applies, layers_of, libc, outside
from stage import AS_ROOT, HERE, PLACE, Box, Stage, server, switch_off

TABLE = {name: entry for name, entry in all_probes().items() if applies(entry, PLACE)}
OUTSIDE_MAX = 9
CLONE_NEWNS, MS_SHARED_ALL = 0x20000, 1 << 20 | 1 << 14


@pytest.fixture(scope="module")
def weak():
    """of(layers) is the verdicts of all probes that need exactly these layers off, or of those named."""
    stage = Stage()
    found = {}
    with server(stage, weak=True) as client:

        def run(layers, names, natives=()):
            switch_off(stage, layers)
            box = Box(stage, client)
            verdicts = box.probe("python", names) if names else {}
            for probe in natives:
                verdicts[probe.language, probe.name] = native.verdict(probe, box.run_native(probe)), ""
            box.delete()
            return verdicts

        def of(layers, names=None):
            if names is not None:
                return run(layers, names)
            if layers not in found:
                names = [name for name, entry in TABLE.items() if layers_of(entry, PLACE) == layers]
                found[layers] = run(layers, names, [p for p in native.PROBES if p.layers == layers])
            return found[layers]

        yield of
    stage.close()


# A host that is itself a container may have none of these in its /dev.
DEVICES = {"unknown_devices", "disks", "memory_of_the_machine", "devices_that_give_power", "console_of_the_host",
           "message_queues_of_the_host"}


def on_the_host(name):
    """Returns what the probe says outside of any box."""
    code = (f"import sys; sys.path.insert(0, {str(HERE)!r})\nfrom probes import all_probes, batch\n"
            f"import json; print(json.dumps(batch.run_one(all_probes()[{name!r}], {{}})))")
    said = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def host_lacks_the_call(name):
    return on_the_host(name) == ["CONTAINED", "Function not implemented"]


def host_lacks_the_devices(name):
    return on_the_host(name) in (["CONTAINED", "none"], ["CONTAINED", "not there"])


def host_refuses_the_call(name):
    """Whether this kernel answers EPERM, as the filter does, to all but the host's root."""
    release = tuple(int(number) for number in os.uname().release.split(".")[:2])
    return name == "call_open_by_handle_at" and release < (6, 11)


@pytest.mark.parametrize("name", [name for name, entry in TABLE.items() if not outside(entry, PLACE)])
def test_sees_an_escape(weak, name):
    entry = TABLE[name]
    layers = layers_of(entry, PLACE)
    verdict, text = weak(layers)[name]
    if verdict == "CONTAINED" and entry.group == "calls" and host_lacks_the_call(name):
        pytest.skip(f"this kernel has no {name}")
    if verdict == "CONTAINED" and host_refuses_the_call(name):
        pytest.skip(f"this kernel refuses {name} itself")
    if verdict == "CONTAINED" and name in DEVICES and host_lacks_the_devices(name):
        pytest.skip(f"the /dev of this host has no {name}")
    assert verdict == "ESCAPED", f"{name} is blind without {sorted(layers)}: {verdict} {text}"


@pytest.mark.parametrize("probe", native.PROBES, ids=lambda p: f"{p.language}-{p.name}")
def test_sees_an_escape_in_its_own_words(weak, probe):
    layers = frozenset(probe.layers)
    assert weak(layers)[probe.language, probe.name][0] == "ESCAPED"


# Layers of which each holds where the other is off. Not pid and proc: one cannot be off alone.
IN_DEPTH = sorted({layer for entry in TABLE.values() for layer in layers_of(entry, PLACE)
                   if len(layers_of(entry, PLACE)) > 1} - {"pid", "proc"})


@pytest.mark.parametrize("layer", IN_DEPTH)
def test_one_layer_less_does_not_help(weak, layer):
    names = [name for name, entry in TABLE.items()
             if layer in layers_of(entry, PLACE) and len(layers_of(entry, PLACE)) > 1]
    found = weak(frozenset([layer]), names)
    # A thing that the kernel does not have needs no second layer.
    assert {name: text for name, (verdict, text) in found.items()
            if verdict != "CONTAINED" and "not supported by protocol" not in text} == {}


OUTSIDE = [name for name, entry in TABLE.items() if outside(entry, PLACE)]


@pytest.fixture(scope="module")
def facts_of_the_host():
    stage = Stage()
    pid, token = stage.victim(os.geteuid())
    yield {**stage.facts, "victim": pid, "victim_token": token}
    stage.close()


def share_mounts():
    """As a machine under systemd has them; in a namespace of its own, so that no other sees it."""
    assert libc.unshare(CLONE_NEWNS) == 0 and libc.mount(b"none", b"/", None, MS_SHARED_ALL, None) == 0


@pytest.mark.parametrize("name", OUTSIDE)
def test_sees_an_escape_outside_of_any_box(facts_of_the_host, name):
    entry = TABLE[name]
    if name == "mounts_reach_the_host" and AS_ROOT:
        entry = entry._replace(run=lambda facts: (share_mounts(), TABLE[name].run(facts))[1])
    verdict, text = batch.run_one(entry, facts_of_the_host)
    if text == "Function not implemented":
        pytest.skip(f"this kernel has no {name}")
    if verdict == "CONTAINED" and not AS_ROOT:
        pytest.skip(f"{name}: to an ordinary user the host itself says {text}; root sees the escape")
    assert verdict == "ESCAPED", f"{name} is blind outside of any box: {verdict} {text}"


def test_few_probes_need_to_be_checked_outside():
    assert len(OUTSIDE) <= OUTSIDE_MAX, OUTSIDE


@pytest.mark.parametrize("missing", [(), ("mount_setattr",)], ids=["of_now", "of_linux_before_5_12"])
def test_with_nothing_off_the_weak_box_holds(missing):
    """The counter-checks are about the layers, not about another init: with all on, nothing escapes.

    A call that the kernel lacks is no layer, but is left out in the same way.
    """
    stage = Stage()
    try:
        switch_off(stage, missing, landlock=True)
        with server(stage, weak=True) as client:
            verdicts = Box(stage, client).probe("python", list(TABLE))
        assert {name: text for name, (verdict, text) in verdicts.items() if verdict != "CONTAINED"} == {}
    finally:
        stage.close()


def test_landlock_holds_where_a_descriptor_of_the_host_leaks():
    """The second wall, alone: a directory of the host is open in the box, and leads nowhere."""
    stage = Stage()
    try:
        switch_off(stage, {"descriptors"}, landlock=True)
        with server(stage, weak=True) as client:
            box = Box(stage, client)
            session = client.call("list_sessions")["sessions"][0]
            if not session["isolation"]["landlock"].startswith("ABI"):
                pytest.skip("this kernel has no Landlock")
            name = "open_through_a_leaked_directory"
            assert box.probe("python", [name])[name][0] == "CONTAINED"
    finally:
        stage.close()
