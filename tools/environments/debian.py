"""Programs and libraries of Debian or Ubuntu for an environment: downloaded and unpacked, none of their scripts run.

apt decides what is missing on this machine and checks what it downloads. Sandboxes see the result laid over the
machine's own /usr; of /etc and /var, and of what packages do when they are installed, there is nothing but the
alternatives that they name.
"""

import os
import re
import shutil
import subprocess
import tempfile
import urllib.parse

_URI = re.compile(r"^'[^']+' (?P<file>(?P<name>[^_]+)_(?P<version>[^_]+)_[^_]+\.deb) \d+", re.M)
_ALTERNATIVE = re.compile(r"--(?:install|slave)[\s\\]+(/usr/\S+)[\s\\]+\S+[\s\\]+(/usr/\S+)")
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64")  # at the root: they are links into /usr


class Unavailable(Exception):
    """It has the words of apt or dpkg, or says that they are not there."""


def listed(names):
    """Returns what is to be downloaded for these packages on this machine, as pairs of name and version."""
    _refuse_mounts_below_usr()
    with tempfile.TemporaryDirectory() as cache:  # an empty one: apt does not list what it has in its own
        os.mkdir(os.path.join(cache, "partial"))
        said = _run("find the packages", "apt-get", "install", "--print-uris", "-qq", "-y", "--no-install-recommends",
                    "-o", "Debug::NoLocking=1", "-o", f"Dir::Cache::archives={cache}", "--", *names)
    found = [(match["name"], urllib.parse.unquote(match["version"])) for match in _URI.finditer(said)]
    return sorted(found)


def _refuse_mounts_below_usr():
    """overlayfs takes no directory with mounts in it that it would have to uncover (mount_namespaces(7))."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            place = line.split()[4]
            if place.startswith("/usr/"):
                raise Unavailable(f"cannot add programs to /usr: {place} is a file system of its own there")


def install(packages, made, staging):
    """Their /usr as that of the environment `made`."""
    folder, root = os.path.join(staging, "debs"), os.path.join(staging, "root")
    os.makedirs(folder)
    os.makedirs(os.path.join(root, "usr"))
    _run("download the packages", "apt-get", "download", "-q", *(f"{name}={version}" for name, version in packages), cwd=folder)
    for file in sorted(os.listdir(folder)):
        path = os.path.join(folder, file)
        _run(f"unpack {file}", "dpkg-deb", "--extract", path, root)
        _link_alternatives(path, root)
        os.unlink(path)
    for name in _MERGED:
        if os.path.isdir(os.path.join(root, name)):
            shutil.copytree(os.path.join(root, name), os.path.join(root, "usr", name), symlinks=True, dirs_exist_ok=True)
    _take_rights(os.path.join(root, "usr"))
    os.makedirs(os.path.join(made, "debian"))  # no name that a wheel's data have
    os.rename(os.path.join(root, "usr"), os.path.join(made, "debian", "usr"))
    shutil.rmtree(root)


def _link_alternatives(package, root):
    """Makes the links of update-alternatives, where nothing is yet: the first of each."""
    done = subprocess.run(["dpkg-deb", "--info", package, "postinst"], capture_output=True, text=True, errors="replace")
    for link, target in _ALTERNATIVE.findall(done.stdout if done.returncode == 0 else ""):
        if not os.path.lexists(root + link) and not os.path.lexists(link):
            os.makedirs(os.path.dirname(root + link), exist_ok=True)
            os.symlink(target, root + link)


def _take_rights(top):
    """To be another user, and from the owner's group: sandboxes have one user."""
    for folder, names, files in os.walk(top):
        for name in (*names, *files):
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, os.stat(path).st_mode & 0o755 | 0o444)


def _run(what, *command, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=os.environ | {"LC_ALL": "C.UTF-8"}, **options)
    except FileNotFoundError as failure:
        raise Unavailable(f"cannot {what}: --apt is for Debian and Ubuntu, and this machine has no {failure.filename}") from failure
    if done.returncode != 0:
        said = " ".join(line for line in done.stderr.splitlines() if not line.startswith("W:")).strip()
        raise Unavailable(f"cannot {what}: {said} (`sudo apt-get update` renews the list of packages)")
    return done.stdout
