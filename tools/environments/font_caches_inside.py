# What font_caches.py runs in a session of the environment: its standard output tells what could not be made.
import base64
import ctypes
import importlib.util
import json
import os
import subprocess
import sys

from hutch_runner import browser

# Where matplotlib looks beside the environment. Its list is not used where one of these is not as it was.
OTHERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/usr/lib/openoffice/share/fonts/truetype", "/home/user/.fonts",
          "/home/user/.local/share/fonts")
CACHE = "/home/user/.cache"


def changed_at(path):
    return os.stat(path).st_mtime if os.path.isdir(path) else None


try:
    ctypes.CDLL("libfontconfig.so.1").FcInit()
except OSError:
    pass  # without it nothing of the host reads fontconfig's caches
if browser.is_there():
    try:
        browser.Page(tuple).evaluate("1", 60)
    except browser.NoBrowser as failure:
        print(f"those of the browser: {failure}")
if importlib.util.find_spec("matplotlib"):
    subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=True)
    folders = [folder for other in OTHERS for folder in (other, *(found for found, _, _ in os.walk(other)))]
    with open(f"{CACHE}/matplotlib/directories.json", "w") as file:
        json.dump({folder: changed_at(folder) for folder in folders}, file)
caches = {}
for kind in ("fontconfig", "matplotlib"):
    for name in os.listdir(f"{CACHE}/{kind}") if os.path.isdir(f"{CACHE}/{kind}") else ():
        with open(f"{CACHE}/{kind}/{name}", "rb") as file:
            caches[f"{kind}/{name}"] = base64.b64encode(file.read()).decode()
with open("/workspace/fonts.json", "w") as file:
    json.dump(caches, file)
