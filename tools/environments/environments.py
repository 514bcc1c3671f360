"""hutch environments: builds, lists and removes trees of packages that sandboxes have read-only.

Started by hutch as `python3 environments.py --directory PLACE ls|build|rm …`; what it leaves there is
described in store.py. Exit status: 0, 1 for a failure, 2 for a usage error.
"""

import argparse
import json
import os
import sys

import build
import font_caches
import store

DEFAULT = "code_interpreter"


def main():
    options = parse()
    place = store.Store(options.directory)
    try:
        sys.exit({"ls": ls, "build": make, "rm": rm}[options.command](place, options))
    except (store.Refused, build.Failed) as failure:
        sys.exit(f"hutch: {failure}")
    except OSError as failure:
        named = f": {failure.filename}" if failure.filename else ""
        sys.exit(f"hutch: this cannot be done in {options.directory}: {failure.strerror}{named}; HUTCH_ENVIRONMENTS_DIR names another place")
    except KeyboardInterrupt:
        sys.exit("hutch: interrupted; nothing has changed")


def parse():
    parser = argparse.ArgumentParser(prog="hutch environments", description=__doc__.split("\n\n")[0])
    parser.add_argument("--directory", required=True, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    add = commands.add_parser
    ls_ = add("ls", help="list them")
    build_ = add("build", help="build one, or build it anew; without a name the one that comes with hutch")
    build_.add_argument("name", nargs="?", default=DEFAULT, help="for create_session's template")
    build_.add_argument("-r", "--requirements", metavar="FILE", help="requirements.txt with what it is to have of Python")
    build_.add_argument("--npm", metavar="FILE", help="package.json, beside its package-lock.json, of node")
    build_.add_argument("--apt", metavar="PACKAGES", default="", help="packages of Debian or Ubuntu, parted by commas: programs and libraries")
    rm_ = add("rm", help="remove one; sessions that have it keep it until they end")
    rm_.add_argument("name")
    for one in (ls_, build_):
        one.add_argument("--json", action="store_true", help="print JSON")
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
                  f"{one['bytes'] / 1e6:.0f} MB, built {one['built_at']}"
                  + ("; without caches of fonts, which the same build makes where sandboxes run"
                     if one["names"] and font_caches.are_missing(one["directory"]) else ""))
    return 0


def make(place, options):
    store.check_name(options.name)
    apt = options.apt.replace(",", " ").split()
    if options.requirements is None and options.npm is None and not apt:
        if options.name != DEFAULT:
            raise store.Refused(f"what is to be in {options.name}? Name it with -r requirements.txt, --npm package.json or --apt ffmpeg,pandoc")
        here = os.path.dirname(os.path.abspath(__file__))
        recipe = build.Recipe(os.path.join(here, f"{DEFAULT}.txt"), os.path.join(here, f"{DEFAULT}.npm", "package.json"))
    else:
        recipe = build.Recipe(options.requirements, options.npm, apt)
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
