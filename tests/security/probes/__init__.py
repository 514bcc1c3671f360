"""Hostile probes by class, one file each. They run inside boxes, with nothing but Python's library.

To add one: write a function with @probe(the layers that hold it) and say why it is tried. It runs
on every path, and its counter-check in a box without these layers must see it escape. A new layer
of hutch-init needs a wrapper in ../weak_init and its symbol in ../../CMakeLists.txt.
"""

import importlib

GROUPS = ("filesystem", "descriptors", "processes", "capabilities", "namespaces", "calls", "sockets",
          "devices", "proc_files", "resources", "identity")


def all_probes():
    """Name to probe, in the order of the files."""
    from probes import base

    for group in GROUPS:
        importlib.import_module(f"probes.{group}")
    return base.TABLE
