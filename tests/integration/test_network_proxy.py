"""A network whose hosts are reached through a proxy alone: the door asks it, and what is allowed stays the door's to say."""

import base64
import contextlib
import json
import os
import subprocess

import pytest

from hutch_client import Client, hutch_binary
from origins import http_origin, network_proxy, plain_origin, port_of, tls_origin
from test_network import refused


@contextlib.contextmanager
def client_of(module_state, folder, network, **variables):
    config = folder / "config.toml"
    config.write_text(f"[network]\n{network}\n")
    with Client(module_state, env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(folder / "roots.pem"), **variables}) as client:
        yield client


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    folder = tmp_path_factory.mktemp("proxy")
    with tls_origin(folder, "api.test") as api, http_origin() as web, plain_origin() as plain, network_proxy("a:p@ss word", ["closed.test"]) as proxy:
        api_host, web_host = f"api.test:{port_of(api)}", f"web.test:{port_of(web)}"
        network = f"""
allow = ["GET {api_host}/v1/*", "{web_host}", "closed.test:{port_of(web)}", "near.test:{port_of(web)}", "plain.test:{port_of(plain)}"]
proxy = "http://a:p%40ss%20word@localhost:{port_of(proxy)}"
no_proxy = ["*.near.test:443", "near.test."]
"""
        with client_of(module_state, folder, network) as client:
            client.api, client.web, client.closed, client.proxy = api_host, web_host, f"closed.test:{port_of(web)}", proxy
            client.plain = f"plain.test:{port_of(plain)}"
            client.near = f"near.test:{port_of(web)}"
            yield client


def test_hosts_are_asked_of_the_proxy(world):
    world.proxy.asked.clear()
    run = world.run(f"curl -sS https://{world.api}/v1/a http://{world.web}/b", "bash")
    assert run["stdout"] == f"GET /v1/a {world.api}\nGET /b {world.web}\n", run
    assert world.proxy.asked == [f"CONNECT {world.api}", f"CONNECT {world.web}"]
    assert sorted(run["network"]["allowed"]) == [world.api, world.web] and "refused" not in run["network"], run


def test_what_is_not_allowed_is_not_asked_for(world):
    world.proxy.asked.clear()
    run = world.run(f"curl -sS -o /dev/null -w '%{{http_code}}' https://{world.api}/v2; curl -sS http://other.test/ 2>&1", "bash")
    assert run["stdout"].startswith("403") and "other.test" in refused(run), run
    assert world.proxy.asked == []


def test_the_proxy_refuses_in_its_own_words(world):
    run = world.run(f"curl -sS http://{world.closed}/", "bash")
    reason = refused(run)[world.closed]
    assert "the proxy of this network" in reason and f"answered 403 Not In This House when it was asked for {world.closed}" in reason, run
    secrets = ["p@ss", base64.b64encode(world.proxy.login.encode()).decode()]
    assert not any(secret in str(run) for secret in secrets), run
    written = subprocess.run(["grep", "-rlF", *(f"-e{secret}" for secret in secrets), world.state], capture_output=True, text=True, check=False)
    assert written.stdout == "", written


def test_a_host_that_speaks_first(world):
    run = world.run(f"exec 3<>/dev/tcp/{world.plain.replace(':', '/')}; read -r line <&3; echo $line", "bash")
    assert run["stdout"] and "refused" not in run["network"], run


def test_others_are_reached_without_it(world):
    world.proxy.asked.clear()
    run = world.run(f"curl -sS http://{world.near}/", "bash")
    assert "finds no address" in refused(run)[world.near], run  # this machine's own name service has said so
    assert world.proxy.asked == []


def test_the_variables_of_other_programs_say_it_too(module_state, tmp_path):
    with http_origin() as web, network_proxy("x:y") as proxy, tls_origin(tmp_path, "api.test"):
        host, near = f"web.test:{port_of(web)}", f"near.test:{port_of(web)}"
        network = f'allow = ["{host}", "{near}"]\n[network.addresses]\n"near.test" = "127.0.0.1"'
        where = f"127.0.0.1:{port_of(proxy)}"
        with client_of(module_state, tmp_path, network, https_proxy=f"http://{where}") as client:
            run = client.run(f"curl -sS http://{host}/ http://{near}/", "bash")
            assert "answered 407 Proxy Authentication Required" in refused(run)[host], run
            assert run["stdout"].splitlines()[-1] == f"GET / {near}", run  # its address is from the operator
        with client_of(module_state, tmp_path, network, HTTPS_PROXY=f"x:y@{where}") as client:
            assert client.run(f"curl -sS http://{host}/", "bash")["stdout"] == f"GET / {host}\n"


def test_a_proxy_that_is_gone_is_named(module_state, tmp_path):
    with tls_origin(tmp_path, "api.test"), network_proxy() as proxy:
        where = f"127.0.0.1:{port_of(proxy)}"
    network = f'allow = ["web.test"]\nproxy = "http://{where}"'
    with client_of(module_state, tmp_path, network) as client:
        run = client.run("curl -sS http://web.test/", "bash")
        assert f"the proxy of this network, {where}, cannot be used" in refused(run)["web.test:80"], run


def test_doctor_names_it(module_state):
    done = subprocess.run([hutch_binary(), "doctor", "--json", "--state-dir", module_state], capture_output=True, text=True, check=False,
                          env={"PATH": os.environ["PATH"], "HOME": module_state, "HUTCH_ZYGOTE": "0", "https_proxy": "http://127.0.0.1:1"})
    network = next(finding for finding in json.loads(done.stdout) if finding["layer"] == "network")
    assert "would be reached by the proxy 127.0.0.1:1" in network["detail"], done


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "https://127.0.0.1:3128", "http://", "http://a b"])
def test_other_kinds_are_refused(module_state, tmp_path, proxy):
    config = tmp_path / "config.toml"
    config.write_text(f'[network]\nproxy = "{proxy}"\n')
    started = subprocess.run([hutch_binary(), "--config", config, "stdio", "--state-dir", module_state], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False)
    assert started.returncode != 0 and "proxy in [network]: must be http://HOST:PORT" in started.stderr, started
