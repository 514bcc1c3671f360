"""hutch environments: builds, lists and removes trees of packages that sandboxes have read-only.

Started by hutch as `python3 environments.py --directory PLACE ls|build|rm …`; what it leaves there is
described in store.py. Exit status: 0, 1 for a failure, 2 for a usage error.
"""

import argparse
import json
import os
import sys

import build
import store

DEFAULT = "code_interpreter"


def main():
    options = parse()
    place = store.Store(options.directory)
    try:
        sys.exit({"ls": ls, "build": make, "rm": rm}[options.command](place, options))
    except (store.Refused, build.Failed) as failure:
        sys.exit(f"hutch: {failure}")
    except KeyboardInterrupt:
        sys.exit("hutch: interrupted; nothing has changed")


def parse():
    parser = argparse.ArgumentParser(prog="hutch environments")
    parser.add_argument("--directory", required=True, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", required=True)
    ls_ = commands.add_parser("ls")
    ls_.add_argument("--json", action="store_true")
    build_ = commands.add_parser("build")
    build_.add_argument("name", nargs="?", default=DEFAULT)
    build_.add_argument("-r", "--requirements")
    build_.add_argument("--npm")
    build_.add_argument("--json", action="store_true")
    rm_ = commands.add_parser("rm")
    rm_.add_argument("name")
    return parser.parse_args()


def ls(place, options):
    found = place.all()
    if options.json:
        print(json.dumps(found, indent=2))
    elif not found:
        print(f"No environment is there yet: `hutch environments build` makes {DEFAULT}.")
    else:
        for one in found:
            names = ", ".join(one["names"]) or "(replaced, still in use)"
            print(f"{names}  {one['id']}  Python {one['python']}, {one['packages']} packages, "
                  f"{one['bytes'] / 1e6:.0f} MB, built {one['built_at']}")
    return 0


def make(place, options):
    store.check_name(options.name)
    if options.requirements is None and options.npm is None:
        if options.name != DEFAULT:
            raise store.Refused(f"what is to be in {options.name}? Name it with -r requirements.txt")
        here = os.path.dirname(os.path.abspath(__file__))
        recipe = build.Recipe(os.path.join(here, f"{DEFAULT}.txt"), None)
    else:
        recipe = build.Recipe(options.requirements, options.npm)
    place.sweep()
    made = build.build(place, options.name, recipe)
    print(json.dumps(made, indent=2) if options.json else
          f"{options.name} is ready: {made['packages']} packages, {made['bytes'] / 1e6:.0f} MB in {made['directory']}")
    place.sweep()
    return 0


def rm(place, options):
    store.check_name(options.name)
    place.remove(options.name)
    left = place.sweep()
    print(f"{options.name} is removed" + ("; sessions go on using it until they end" if left else ""))
    return 0


if __name__ == "__main__":
    main()
