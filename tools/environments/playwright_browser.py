"""Gives playwright, of Python or of node, the environment's browser: linked to where the version that is installed would have put
its own. `playwright install` takes the link's place.

    python3 -m hutch_playwright BROWSERS_JSON      the file that says which revisions a version uses
"""

import json
import os
import sys

# Each has the paths of its program below the folder of a revision, as they are now and as they were until 2025.
_PLACES = (
    ("chromium", "chrome-linux64/chrome", "chrome-linux/chrome"),
    ("chromium-headless-shell", "chrome-headless-shell-linux64/chrome-headless-shell", "chrome-linux/headless_shell"))


def give(browsers_json):
    program = os.path.join(sys.prefix, "bin/chromium")
    if not os.path.exists(program) or os.environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        return
    try:
        with open(browsers_json) as file:
            revisions = {one["name"]: one["revision"] for one in json.load(file)["browsers"]}
    except (OSError, ValueError, KeyError, TypeError):
        return  # another layout than we know: playwright says itself that it has no browser, and what to do
    for name, *files in _PLACES:
        folder = os.path.expanduser(f"~/.cache/ms-playwright/{name.replace('-', '_')}-{revisions.get(name)}")
        if name in revisions and not os.path.isdir(folder):
            for file in files:
                os.makedirs(os.path.join(folder, os.path.dirname(file)), exist_ok=True)
                os.symlink(program, os.path.join(folder, file))


if __name__ == "__main__":
    give(sys.argv[1])
