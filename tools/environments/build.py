"""Builds an environment: wheels from PyPI by uv, packages of node by npm and of Debian by apt; no code of them is run, but
in a box, which makes the caches of fonts.

Resolved first, where the list is not locked already; the id is a hash of all that decides what comes
out. Everything happens in a directory of its own, which becomes the environment by one rename.
"""

import datetime
import functools
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time

import debian
import font_caches
import node_parts

INSIDE = "/environment"  # where sandboxes have it
FORMAT = 7  # changes with what is made from the same lists: another one, another id
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
HUTCH = os.path.normpath(os.path.join(HERE, "../../../bin/hutch"))  # this is its share/hutch/environments
# For building against them, and for completing what is typed; as much again are tests of the packages.
NOT_KEPT = ("pyarrow/include", "pyarrow/src", "jedi/third_party", "plotly/labextension")
SUFFIXES_NOT_KEPT = (".pyx", ".pxd", ".pxi", ".map")  # for compilers, editors and debuggers
# At every start of its Python: a virtual environment would not look for packages of the user.
USER_SITE = "user_site.py"
PLAYWRIGHT_BROWSER = "playwright_browser.py"
NPM = "npm.sh"


class Failed(Exception):
    """A step that could not be done; the words say which, and what to do."""


class Recipe:
    def __init__(self, requirements, npm, apt=()):
        self.requirements = requirements  # a file, or None
        self.npm = npm  # a package.json, or None
        self.apt = list(apt)  # names of packages


def build(place, name, recipe):
    """The manifest of the environment, which `name` leads to from now on."""
    with place.staging() as staging:
        steps = Steps()
        uv = Uv(staging, steps)
        lock = uv.locked(recipe.requirements) if recipe.requirements else ""
        debs = listed_debs(recipe.apt, steps)
        npm = locked_npm(recipe.npm, staging, uv, steps) if recipe.npm else None
        identity = identity_of(lock, npm, debs)
        whole = identity_with_font_caches(identity)
        if place.manifest(whole) is not None:
            identity = whole
            place.publish(None, name, identity)
        elif place.manifest(identity) is None:
            made = os.path.join(staging, "environment")
            steps.say("Making a virtual environment")
            run([PYTHON, "-m", "venv", "--without-pip", made], "make a virtual environment")
            if lock:
                uv.install(made, lock)
            if npm:
                install_npm(made, npm, uv, steps)
            if debs:
                steps.say(f"Downloading and unpacking {len(debs)} packages of Debian")
                of_debian(debian.install, debs, made, staging)
            steps.say("Finishing")
            finish(made)
            write_manifest(made, name, identity, uv.version, len(debs))
            if make_font_caches(made, steps):
                write_manifest(made, name, identity, uv.version, len(debs))  # now with their bytes
            place.publish(made, name, identity)
        elif font_caches.are_missing(place.path(identity)):
            identity = publish_with_font_caches(place, name, identity, staging, steps)
        else:
            place.publish(None, name, identity)
        return place.manifest(identity) | {"directory": place.path(identity)}


def identity_with_font_caches(identity):
    """That of the environment which has them and was made from one that had not."""
    return hashlib.sha256(f"{identity} with caches of fonts".encode()).hexdigest()[:16]


def publish_with_font_caches(place, name, bare, staging, steps):
    """Gives an environment that was built where no box could run its caches, in a copy with an id of its own: who has the other keeps it as it is.
    Where none can run now either, the other stays. Returns the id that `name` leads to."""
    made = os.path.join(staging, "environment")
    try:
        # Nobody changes its files, so that the copy may share them; the manifest is written anew.
        shutil.copytree(place.path(bare), made, symlinks=True, copy_function=os.link)
    except OSError as failure:
        steps.say(f"No caches of fonts were made: {failure}"[:500])
        place.publish(None, name, bare)
        return bare
    os.unlink(os.path.join(made, "environment.json"))
    manifest = place.manifest(bare) | {"id": identity_with_font_caches(bare), "built_at": now()}
    save_manifest(made, manifest)
    if not make_font_caches(made, steps) or font_caches.are_missing(made):
        place.publish(None, name, bare)
        return bare
    save_manifest(made, manifest | {"bytes": _bytes(made)})
    place.publish(made, name, manifest["id"])
    return manifest["id"]


def listed_debs(names, steps):
    if not names:
        return []
    steps.say(f"Looking for {', '.join(names)}")
    debs = of_debian(debian.listed, names)
    if not debs:
        steps.say("This machine has all of that: sandboxes see it without more")
    return debs


def of_debian(action, *arguments):
    try:
        return action(*arguments)
    except debian.Unavailable as failure:
        raise Failed(str(failure)) from failure


class Steps:
    def __init__(self):
        self._start = time.monotonic()

    def say(self, what, passing=False):
        """`passing`: on a terminal the next line takes its place."""
        on_terminal = sys.stderr.isatty()
        begin, end = ("\r\033[K", "" if passing else "\n") if on_terminal else ("", "\n")
        print(f"{begin}[{time.monotonic() - self._start:5.1f} s] {what}", end=end, file=sys.stderr, flush=True)


def run(command, what, **options):
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **options)
    except FileNotFoundError as failure:
        raise Failed(f"cannot {what}: this machine has no {failure.filename}") from failure
    except subprocess.CalledProcessError as failure:
        said = (failure.stderr or b"").decode(errors="replace").strip()
        raise Failed(f"cannot {what}" + (f": {said}" if said else "; the reason stands above")) from failure


class Uv:
    """uv, of the version that uv.txt names with its hashes, in the directory of this build."""

    def __init__(self, staging, steps):
        self._staging, self._steps = staging, steps
        self._requirements = os.path.join(HERE, "uv.txt")
        self._program = None
        with open(self._requirements) as file:
            self.version = re.search(r"^uv==(\S+)", file.read(), re.M)[1]

    def locked(self, requirements):
        """The text of a list with exact versions and hashes."""
        try:
            with open(requirements) as file:
                text = file.read()
        except OSError as failure:
            raise Failed(f"cannot read {requirements}: {failure.strerror}") from failure
        if "--hash=" in text:
            return text
        self._steps.say(f"Resolving {os.path.basename(requirements)}")
        target = os.path.join(self._staging, "lock.txt")
        self._run("find versions that fit each other", "pip", "compile", "--quiet", "--generate-hashes",
                  "--no-annotate", "--no-header", "--python", PYTHON, "-o", target, requirements)
        with open(target) as file:
            return file.read()

    def install(self, made, lock):
        self._steps.say(f"Downloading and unpacking {lock.count('==')} packages")
        file = os.path.join(self._staging, "lock.txt")
        with open(file, "w") as out:
            out.write(lock)
        # No build of a package: that would run its code here, outside of any sandbox.
        self._run("install the packages", "pip", "install", "--python", f"{made}/bin/python3",
                  "--require-hashes", "--only-binary", ":all:", "--compile-bytecode", "--link-mode", "hardlink",
                  "-r", file)
        os.unlink(file)

    def npm(self):
        """Gets npm for a node from PyPI: a node of this machine need not have it."""
        folder = os.path.join(self._staging, "node")
        if not os.path.isdir(folder):
            self._run("fetch npm", "pip", "install", "--python", PYTHON, "--target", folder, "--require-hashes",
                      "--only-binary", ":all:", "-r", os.path.join(HERE, "node.txt"))
        (node,) = glob.glob(f"{folder}/**/bin/node", recursive=True)
        return [node, os.path.join(os.path.dirname(node), "../lib/node_modules/npm/bin/npm-cli.js")]

    def _run(self, what, *arguments):
        if self._program is None:
            self._program = self._fetch()
        settings = os.environ | {"UV_CACHE_DIR": os.path.join(self._staging, "cache"), "UV_NO_CONFIG": "1",
                                 "UV_PYTHON_DOWNLOADS": "never", "UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}
        # Indexes that pip is told of hold for uv too, which parts places by other characters.
        for ours, theirs, between in (("UV_DEFAULT_INDEX", "PIP_INDEX_URL", " "), ("UV_INDEX", "PIP_EXTRA_INDEX_URL", " "),
                                      ("UV_FIND_LINKS", "PIP_FIND_LINKS", ","), ("SSL_CERT_FILE", "PIP_CERT", " ")):
            if os.environ.get(theirs):
                settings.setdefault(ours, between.join(os.environ[theirs].split()))
        self._follow([self._program, *arguments], what, settings)

    def _follow(self, command, what, settings):
        """Tells what comes in; of the rest only what it said last, and that when it fails."""
        said = []
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=settings,
                              text=True) as process:
            for line in map(str.rstrip, process.stderr):
                if line.startswith(("Downloading ", "Prepared ", "Bytecode ")):
                    self._steps.say(line, passing=line.startswith("Downloading "))
                elif not line.startswith((" + ", " Downloaded ")):
                    said.append(line)
        if process.returncode != 0:
            raise Failed(f"cannot {what}: " + "\n".join(said[-20:]))

    def _fetch(self):
        """Into the directory of all environments, where the next build finds it."""
        kept = os.path.join(os.path.dirname(self._staging), f".uv-{self.version}")
        if not os.path.exists(f"{kept}/bin/uv"):
            self._steps.say(f"Fetching uv {self.version}")
            tool = os.path.join(self._staging, "tool")
            run([PYTHON, "-m", "venv", tool], "make a virtual environment (on Debian and Ubuntu it takes the package "
                "python3-venv: apt install python3-venv)", capture_output=True)
            run([f"{tool}/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes",
                 "--only-binary", ":all:", "-r", self._requirements], "fetch uv from PyPI")
            os.makedirs(f"{kept}/bin", exist_ok=True)
            os.replace(f"{tool}/bin/uv", f"{kept}/bin/uv")  # a program that needs nothing beside it
        return f"{kept}/bin/uv"


def identity_of(lock, npm, debs):
    what = {"format": FORMAT, "machine": platform.machine(), "requirements": lock,
            "python": subprocess.check_output([PYTHON, "-c", "import sys; print(sys.version_info[:2])"], text=True)}
    for name in (USER_SITE, PLAYWRIGHT_BROWSER, NPM, node_parts.BROWSER_PROGRAM, node_parts.FONTS_SETTINGS, font_caches.INSIDE):
        with open(os.path.join(HERE, name)) as file:
            what[name] = file.read()
    if debs:
        what["apt"] = debs
    for name in ("package.json", "package-lock.json") if npm else ():
        with open(os.path.join(os.path.dirname(npm), name)) as file:
            what[name] = file.read()
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def locked_npm(npm, staging, uv, steps):
    """A copy of a package.json with its package-lock.json beside it, made where there is none."""
    folder = os.path.join(staging, "npm-list")
    os.mkdir(folder)
    try:
        shutil.copy(npm, os.path.join(folder, "package.json"))
    except OSError as failure:
        raise Failed(f"cannot read {npm}: {failure.strerror}") from failure
    lock = os.path.join(os.path.dirname(npm), "package-lock.json")
    if os.path.exists(lock):
        shutil.copy(lock, folder)
    else:
        steps.say(f"Resolving {os.path.basename(npm)}")
        run_npm(uv, staging, "find versions of node's packages", "install", "--package-lock-only", "--prefix", folder)
    return os.path.join(folder, "package.json")


def install_npm(made, npm, uv, steps):
    steps.say("Installing packages of node")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(os.path.dirname(npm), name), made)
    staging = os.path.dirname(made)
    run_npm(uv, staging, "install the packages of node", "ci", "--prefix", made)
    node = shutil.which("node") if shutil.which("npm") else uv.npm()[0]
    try:
        parts = node_parts.take(made, node, functools.partial(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
    except ValueError as failure:
        raise Failed(str(failure)) from failure
    if not parts:
        return
    run_npm(uv, staging, "leave out what is not for node", "uninstall", "--prefix", made, *parts)
    for scope in {name.partition("/")[0] for name in parts if "/" in name}:
        folder = os.path.join(made, "node_modules", scope)
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)


def run_npm(uv, staging, what, *arguments):
    command = [shutil.which("npm")] if shutil.which("npm") else uv.npm()
    settings = os.environ | {"npm_config_cache": os.path.join(staging, "npm")}
    run([*command, *arguments, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"], what, env=settings,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def make_font_caches(made, steps, hutch=HUTCH):
    """Whether there are any; sessions make what is not there."""
    if not os.path.isdir(f"{made}/share/fonts"):
        return False
    steps.say("Making the caches of fonts")
    try:
        missing = font_caches.make(made, hutch)
    except font_caches.Unavailable as failure:
        steps.say(f"There are no caches of fonts, each session makes its own: {failure}")
        return False
    if missing:
        steps.say(f"Each session makes caches of fonts itself, {missing}")
    return True


def finish(made):
    packages = _site_packages(made)
    if packages:
        _prune(packages)
        shutil.copy(os.path.join(HERE, USER_SITE), os.path.join(packages, "hutch_user_site.py"))
        shutil.copy(os.path.join(HERE, PLAYWRIGHT_BROWSER), os.path.join(packages, "hutch_playwright.py"))
        with open(os.path.join(packages, "hutch_user_site.pth"), "w") as file:
            file.write("import hutch_user_site\n")
    _rewrite_scripts(made)
    if os.path.isdir(f"{made}/node_modules/npm"):
        shutil.copy(os.path.join(HERE, NPM), f"{made}/bin/npm")
        os.chmod(f"{made}/bin/npm", 0o755)
    for entry in os.scandir(f"{made}/bin"):
        if entry.name.lower().startswith("activate"):
            os.unlink(entry)  # it names a path that is gone
    for left in (f"{made}/.lock", f"{made}/.gitignore"):
        if os.path.exists(left):
            os.unlink(left)  # uv has left it
    os.chmod(made, 0o755)


def write_manifest(made, name, identity, uv_version, debs):
    packages = _site_packages(made)
    save_manifest(made, {"id": identity, "format": FORMAT, "name": name, "python": _version(made),
                         "packages": _count(packages, made) + debs, "bytes": _bytes(made), "uv": uv_version, "built_at": now()})


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def save_manifest(made, manifest):
    with open(os.path.join(made, "environment.json"), "w") as file:
        json.dump(manifest, file, indent=2)
        file.flush()
        os.fsync(file.fileno())


def _site_packages(made):
    for version in os.listdir(f"{made}/lib"):
        path = f"{made}/lib/{version}/site-packages"
        if os.path.isdir(path):
            return path
    return None


def _version(made):
    return re.search(r"^version = (\S+)", open(f"{made}/pyvenv.cfg").read(), re.M)[1]


def _prune(packages):
    for path in NOT_KEPT:
        shutil.rmtree(os.path.join(packages, path), ignore_errors=True)
    for folder, names, files in os.walk(packages):
        for file in files:
            if file.endswith(SUFFIXES_NOT_KEPT):
                os.unlink(os.path.join(folder, file))
        # Not at the top: there it is a package of that name.
        if folder != packages and "tests" in names:
            shutil.rmtree(os.path.join(folder, "tests"))
            names.remove("tests")


def _rewrite_scripts(made):
    """Their first lines name the Python of where they were made."""
    old, new = f"#!{made}/bin/".encode(), f"#!{INSIDE}/bin/".encode()
    for entry in os.scandir(f"{made}/bin"):
        if entry.is_symlink():
            continue
        with open(entry, "rb") as file:
            content = file.read()
        if old in content[:1000] or f"{made}/bin/".encode() in content[:1000]:
            with open(entry, "wb") as file:
                file.write(content.replace(f"{made}/bin/".encode(), f"{INSIDE}/bin/".encode(), 2))


def _count(packages, made):
    python = sum(name.endswith(".dist-info") for name in os.listdir(packages)) if packages else 0
    try:
        with open(f"{made}/package.json") as file:
            return python + len(json.load(file).get("dependencies", {}))
    except FileNotFoundError:
        return python


def _bytes(made):
    return sum(os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(made) for name in names)
