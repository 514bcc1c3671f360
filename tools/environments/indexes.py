"""Where this machine's pip and npm find packages, as their own configuration says it: JSON on standard output.

    {"pip": {"hosts": ["host:port"..], "variables": {..}}, "npm": {..}, "logins": [{"name", "host", "place", "value"}..], "certificates": "PEM.."}

`variables` go into sessions; logins, which people write into the same addresses, never do. `certificates` are those
that the two trust as authorities.
"""

import base64
import binascii
import configparser
import json
import os
import re
import sys
from urllib.parse import unquote, urlsplit, urlunsplit

PORTS = {"https": 443, "http": 80}
USUAL_INDEX, USUAL_REGISTRY = "https://pypi.org/simple", "https://registry.npmjs.org/"
CERTIFICATE_BYTES_MAX = 1 << 20


def main():
    found = {"logins": []}
    files = []
    found["pip"] = pip(os.environ, os.path.expanduser("~"), found["logins"], files)
    found["npm"] = npm(os.environ, os.path.expanduser("~"), found["logins"], files)
    found["certificates"] = "".join(dict.fromkeys(block for file in dict.fromkeys(files) for block in certificates(file)))
    json.dump(found, sys.stdout)


def pip(environment, home, logins, certificate_files):
    """https://pip.pypa.io/en/stable/topics/configuration/, without what belongs to one virtual environment."""
    chosen = environment.get("PIP_CONFIG_FILE")
    files = []
    if chosen != os.devnull:
        system = environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")
        own = environment.get("XDG_CONFIG_HOME", f"{home}/.config")
        files = [*(f"{folder}/pip/pip.conf" for folder in system), "/etc/pip.conf", f"{home}/.pip/pip.conf", f"{own}/pip/pip.conf", chosen]
    index, further, trusted, certificate = None, [], "", None
    for file in filter(None, files):
        read = ini(file)
        for section in ("global", "install"):
            if read.has_section(section):
                index = read.get(section, "index-url", fallback=index)
                further = read.get(section, "extra-index-url", fallback=" ".join(further)).split()
                trusted = read.get(section, "trusted-host", fallback=trusted)
                certificate = read.get(section, "cert", fallback=certificate)
    index = environment.get("PIP_INDEX_URL", index)
    further = environment.get("PIP_EXTRA_INDEX_URL", " ".join(further)).split()
    certificate_files += filter(None, [environment.get("PIP_CERT", certificate)])
    taken = Taken("pip", logins)
    variables = {}
    if further and not index:
        taken.address(USUAL_INDEX)  # they come beside it
    if index:
        variables["PIP_INDEX_URL"] = taken.address(index)
    if further:
        variables["PIP_EXTRA_INDEX_URL"] = " ".join(map(taken.address, further))
    if variables and trusted:
        variables["PIP_TRUSTED_HOST"] = " ".join(trusted.split())
    return {"hosts": taken.hosts, "variables": variables}


def npm(environment, home, logins, certificate_files):
    """https://docs.npmjs.com/cli/configuring-npm/npmrc: of everybody and of this user, and the variables."""
    said = {}
    own = variable(environment, "npm_config_userconfig") or f"{home}/.npmrc"
    for file in ("/etc/npmrc", "/usr/etc/npmrc", variable(environment, "npm_config_globalconfig"), own):
        read = ini(file, top=True) if file else None
        if read:
            said.update({key: expanded(value, environment) for key, value in read.items("top")})
    said["registry"] = variable(environment, "npm_config_registry") or said.get("registry")
    certificate_files += filter(None, [variable(environment, "npm_config_cafile") or said.get("cafile")])
    scopes = {key: value for key, value in said.items() if value and re.fullmatch(r"@[^/:\s=]+:registry", key)}
    taken = Taken("npm", logins)
    variables = {}
    if scopes and not said["registry"]:
        taken.address(USUAL_REGISTRY)  # packages without a scope come from it
    if said["registry"]:
        variables["npm_config_registry"] = taken.address(said["registry"])
    for key, value in scopes.items():
        variables[f"npm_config_{key}"] = taken.address(value)
    for key, value in said.items():
        place = re.fullmatch(r"//([^/:]+)(?::(\d+))?/.*:(_authToken|_auth|_password)", key)
        if not place or not value:
            continue
        host = f"{place[1]}:{place[2] or 443}"
        if place[3] == "_authToken":
            taken.login(host, "bearer", value)
        elif place[3] == "_auth":
            taken.login(host, "basic", decoded(value))
        else:
            user = said.get(key.replace("_password", "username"))
            taken.login(host, "basic", f"{user}:{decoded(value)}" if user else None)
    return {"hosts": taken.hosts, "variables": variables}


class Taken:
    def __init__(self, of, logins):
        self.of, self.logins, self.hosts = of, logins, []

    def address(self, text):
        """Returns the address without a login; its host is one to be reached."""
        parts = urlsplit(text.strip())
        if parts.scheme not in PORTS or not parts.hostname:
            return text
        host = f"{parts.hostname}:{parts.port or PORTS[parts.scheme]}"
        if host not in self.hosts:
            self.hosts.append(host)
        if parts.username is not None and parts.scheme == "https":
            self.login(host, "basic", f"{unquote(parts.username)}:{unquote(parts.password or '')}")
        place = parts.hostname + (f":{parts.port}" if parts.port else "")
        return urlunsplit((parts.scheme, place, parts.path, parts.query, parts.fragment))

    def login(self, host, place, value):
        known = any(login["host"] == host for login in self.logins)
        if value and not known:
            name = f"{self.of}-{host.rpartition(':')[0]}"[:64]
            self.logins.append({"name": name, "host": host, "place": place, "value": value})


def certificates(file):
    """Returns the certificates in it, and no key that may be beside them."""
    import ssl  # most machines name none

    try:
        with open(os.path.expanduser(file), encoding="latin-1") as text:
            blocks = re.findall("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", text.read(CERTIFICATE_BYTES_MAX), re.S)
        tried = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        for block in blocks:
            tried.load_verify_locations(cadata=block)
        if not blocks:
            raise ValueError("there is no certificate in it")
    except (OSError, ValueError) as failure:
        print(f"{file}, whose certificates pip or npm trusts, is not read: {failure}".replace("\n", " "), file=sys.stderr)
        return []
    return [block + "\n" for block in blocks]


def ini(file, top=False):
    """`top`: it has no sections; what is in it is in one of that name."""
    read = configparser.RawConfigParser(delimiters=("=",) if top else ("=", ":"), strict=False, allow_no_value=True)
    read.optionxform = str
    try:
        with open(file, encoding="utf-8") as text:
            read.read_string(("[top]\n" if top else "") + text.read(), file)
    except (OSError, UnicodeDecodeError):
        return configparser.RawConfigParser() if not top else None
    except configparser.Error as failure:
        print(f"{file} is not read: {failure}".replace("\n", " "), file=sys.stderr)
        return configparser.RawConfigParser() if not top else None
    return read


def variable(environment, name):
    return next((value for key, value in environment.items() if key.lower() == name), None)


def expanded(value, environment):
    return re.sub(r"\$\{(\w+)\}", lambda found: environment.get(found[1], found[0]), value or "").strip().strip("\"'")


def decoded(value):
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


if __name__ == "__main__":
    main()
