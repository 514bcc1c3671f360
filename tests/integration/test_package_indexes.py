"""The operator's own index of packages: as their pip and npm are configured, and without their login in any session."""

import base64
import hashlib
import io
import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

import environments
from conftest import needs
from hutch_client import Client
from origins import port_of, tls_origin

READER = Path(__file__).resolve().parents[2] / "tools/environments/indexes.py"
PASSWORD, TOKEN = "pa:ss/word-12345", "npm-token-1234567890"
LOGIN = "Basic " + base64.b64encode(f"reader:{PASSWORD}".encode()).decode()


def wheel():
    file = io.BytesIO()
    files = {"corp_demo.py": "said = 'from the index of the company'\n", "corp_demo-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             "corp_demo-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: corp-demo\nVersion: 1.0\n"}
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr("corp_demo-1.0.dist-info/RECORD", "".join(f"{name},,\n" for name in [*files, "corp_demo-1.0.dist-info/RECORD"]))
    return file.getvalue()


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    needs(environments.python().exists(), environments.MISSING)
    folder = tmp_path_factory.mktemp("index")
    with tls_origin(folder, "pypi.corp.test") as index:
        place, content = f"pypi.corp.test:{port_of(index)}", wheel()
        page = f"<!DOCTYPE html><html><body><a href='/files/corp_demo-1.0-py3-none-any.whl#sha256={hashlib.sha256(content).hexdigest()}'>corp_demo-1.0-py3-none-any.whl</a>"
        index.files["/simple/corp-demo/"] = page.encode(), LOGIN
        index.files["/files/corp_demo-1.0-py3-none-any.whl"] = content, LOGIN
        index.files["/npm/corp-demo"] = json.dumps({"name": "corp-demo", "dist-tags": {"latest": "3.2.1"}, "versions": {"3.2.1": {
            "name": "corp-demo", "version": "3.2.1", "dist": {"tarball": f"https://{place}/npm/corp-demo.tgz"}}}}).encode(), f"Bearer {TOKEN}"
        (folder / "pip.conf").write_text(f"[global]\nindex-url = https://reader:{PASSWORD.replace(':', '%3A').replace('/', '%2F')}@{place}/simple\n")
        config = folder / "config.toml"
        config.write_text('[network.addresses]\n"pypi.corp.test" = "127.0.0.1"\n')
        with Client(module_state, "--packages", env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(folder / "roots.pem"), "PIP_CONFIG_FILE": str(folder / "pip.conf"),
                                                     "npm_config_userconfig": "/dev/null", "HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as client:
            client.index, client.folder, client.place = index, folder, place
            yield client


def test_install_packages_from_it(world):
    run = world.call("install_packages", packages=["corp-demo"])
    run = world.until_ended(run["run_id"]) if run["status"] in ("queued", "running") else run
    assert run["status"] == "completed", run
    assert world.value("import corp_demo; corp_demo.said") == "'from the index of the company'"
    assert run["network"]["allowed"] == [world.place], "the usual index is not asked"


def test_no_session_has_the_login(world):
    run = world.run("env; pip config list; pip config debug; cat /etc/pip.conf ~/.config/pip/pip.conf; curl -sS $PIP_INDEX_URL/corp-demo/ | head -c 15", "bash")
    assert f"PIP_INDEX_URL=https://{world.place}/simple\n" in run["stdout"] and "<!DOCTYPE html>" in run["stdout"], run
    for secret in (PASSWORD, "reader", LOGIN.split()[1], "pa%3Ass"):
        assert secret not in json.dumps(run), secret


def test_the_usual_index_is_not_reached(world):
    run = world.run("curl -sS https://pypi.org/simple/", "bash")
    assert run["status"] == "failed" and run["network"]["refused"][0]["host"] == "pypi.org"


def test_a_scope_of_npm_and_its_authority(world, state):
    """No other program of this machine trusts it: the door does, and the code."""
    (world.folder / "npmrc").write_text(f"@corp:registry=https://{world.place}/npm/\ncafile={world.folder}/roots.pem\n//{world.place}/npm/:_authToken={TOKEN}\n")
    world.index.files["/npm/@corp%2fdemo"] = json.dumps({"name": "@corp/demo", "dist-tags": {"latest": "4.5.6"}, "versions": {"4.5.6": {
        "name": "@corp/demo", "version": "4.5.6", "dist": {"tarball": f"https://{world.place}/npm/demo.tgz"}}}}).encode(), f"Bearer {TOKEN}"
    environment = {"HUTCH_CONFIG": str(world.folder / "config.toml"), "PIP_CONFIG_FILE": "/dev/null", "npm_config_userconfig": str(world.folder / "npmrc"),
                   "HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}
    with Client(state, "--packages", env=environment) as client:
        run = client.run("npm view @corp/demo version; npm config get registry", "bash")
        assert run["stdout"] == "4.5.6\nhttps://registry.npmjs.org/\n" and TOKEN not in json.dumps(run), run


def test_npm_has_its_own(world, state):
    (world.folder / "npmrc").write_text(f"registry=https://{world.place}/npm/\n//{world.place}/npm/:_authToken=${{CORP_TOKEN}}\n")
    environment = {"HUTCH_CONFIG": str(world.folder / "config.toml"), "SSL_CERT_FILE": str(world.folder / "roots.pem"), "PIP_CONFIG_FILE": "/dev/null",
                   "npm_config_userconfig": str(world.folder / "npmrc"), "CORP_TOKEN": TOKEN, "HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}
    with Client(state, "--packages", env=environment) as client:
        run = client.run("npm view corp-demo version; npm config get registry; env", "bash")
        assert run["stdout"].startswith(f"3.2.1\nhttps://{world.place}/npm/\n") and TOKEN not in json.dumps(run), run


def read(**environment):
    done = subprocess.run(["/usr/bin/python3", "-I", "-B", READER], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), done.stderr


def test_what_it_reads(tmp_path):
    home, system = tmp_path / "home", tmp_path / "xdg"
    (home / ".config/pip").mkdir(parents=True)
    (system / "pip").mkdir(parents=True)
    (system / "pip/pip.conf").write_text("[global]\nindex-url: https://overridden.test/simple\ntimeout = 60\n")
    (home / ".config/pip/pip.conf").write_text("[global]\nindex-url: https://everybody.test/simple\nextra-index-url =\n    https://one.test/simple\n    http://u:p@two.test:8080/simple\ntrusted-host = two.test\n")
    (home / ".npmrc").write_text("; of this user\nregistry = https://registry.test/\n//registry.test/:username=me\n"
                                 f"//registry.test/:_password={base64.b64encode(b'secret').decode()}\n//other.test:8443/npm/:_auth={base64.b64encode(b'a:b').decode()}\n")
    said, errors = read(HOME=str(home), XDG_CONFIG_DIRS=str(system))
    assert errors == "" and said["pip"]["hosts"] == ["everybody.test:443", "one.test:443", "two.test:8080"], said
    assert said["pip"]["variables"] == {"PIP_INDEX_URL": "https://everybody.test/simple", "PIP_TRUSTED_HOST": "two.test",
                                        "PIP_EXTRA_INDEX_URL": "https://one.test/simple http://two.test:8080/simple"}
    assert said["npm"] == {"hosts": ["registry.test:443"], "variables": {"npm_config_registry": "https://registry.test/"}}
    assert said["logins"] == [{"name": "npm-registry.test", "host": "registry.test:443", "place": "basic", "value": "me:secret"},
                              {"name": "npm-other.test", "host": "other.test:8443", "place": "basic", "value": "a:b"}], "none within plain HTTP"


def test_variables_come_first_and_nothing_is_nothing(tmp_path):
    said, _ = read(HOME=str(tmp_path), XDG_CONFIG_DIRS=str(tmp_path), PIP_CONFIG_FILE=os.devnull, PIP_INDEX_URL="https://x@index.test:444/",
                   NPM_CONFIG_REGISTRY="https://registry.test")
    assert said["pip"]["hosts"] == ["index.test:444"] and said["logins"] == [{"name": "pip-index.test", "host": "index.test:444", "place": "basic", "value": "x:"}]
    assert said["npm"]["variables"] == {"npm_config_registry": "https://registry.test"}
    said, _ = read(HOME=str(tmp_path), XDG_CONFIG_DIRS=str(tmp_path), PIP_CONFIG_FILE=os.devnull)
    assert said == {"pip": {"hosts": [], "variables": {}}, "npm": {"hosts": [], "variables": {}}, "logins": [], "certificates": said["certificates"]}, "which may be this machine's"


def test_what_comes_beside_the_usual_index_leaves_it(tmp_path):
    (tmp_path / ".npmrc").write_text("@corp:registry=https://npm.corp.test/all/\n//npm.corp.test/all/:_authToken=t\n")
    said, _ = read(HOME=str(tmp_path), XDG_CONFIG_DIRS=str(tmp_path), PIP_CONFIG_FILE=os.devnull, PIP_EXTRA_INDEX_URL="https://one.test/simple")
    assert said["pip"] == {"hosts": ["pypi.org:443", "one.test:443"], "variables": {"PIP_EXTRA_INDEX_URL": "https://one.test/simple"}}
    assert said["npm"] == {"hosts": ["registry.npmjs.org:443", "npm.corp.test:443"], "variables": {"npm_config_@corp:registry": "https://npm.corp.test/all/"}}
    assert said["logins"] == [{"name": "npm-npm.corp.test", "host": "npm.corp.test:443", "place": "bearer", "value": "t"}]


def test_certificates_without_keys_beside_them(tmp_path, world):
    roots = (world.folder / "roots.pem").read_text()
    (tmp_path / "both.pem").write_text("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n" + roots)
    (tmp_path / ".npmrc").write_text(f"cafile={tmp_path}/both.pem\n")
    said, errors = read(HOME=str(tmp_path), XDG_CONFIG_DIRS=str(tmp_path), PIP_CONFIG_FILE=os.devnull, PIP_CERT=str(tmp_path / "both.pem"))
    assert errors == "" and said["certificates"].count("BEGIN") == roots.count("BEGIN CERTIFICATE") and "c2VjcmV0" not in said["certificates"], said
    (tmp_path / "both.pem").write_text("-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n")
    said, errors = read(HOME=str(tmp_path), XDG_CONFIG_DIRS=str(tmp_path), PIP_CONFIG_FILE=os.devnull)
    assert "c2VjcmV0" not in said["certificates"] and "both.pem, whose certificates pip or npm trusts, is not read" in errors


def test_a_file_that_cannot_be_read_is_told_of(tmp_path):
    (tmp_path / "pip.conf").write_text("index-url = https://index.test\n")
    said, errors = read(HOME=str(tmp_path), XDG_CONFIG_DIRS=str(tmp_path), PIP_CONFIG_FILE=str(tmp_path / "pip.conf"))
    assert "index.test:443" not in said["pip"]["hosts"] and "pip.conf is not read" in errors
