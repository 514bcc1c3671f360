"""Clients of all kinds, told of a proxy or not: each reaches what is allowed, through TLS that nobody looks into and through TLS that
is, and is refused elsewhere."""

import re
import shutil
import subprocess

import pytest

import environments
from conftest import needs
from hutch_client import Client
from origins import http_origin, port_of, tls_origin
from test_network import PROXY, refused

ANSWER = re.compile(r"GET /v1/x \w+\.test:")
TOLD = f"export http_proxy={PROXY} https_proxy={PROXY} HTTP_PROXY={PROXY} HTTPS_PROXY={PROXY}; "
WAYS = {"plain": "http://web.test:{0.web}/v1/x", "through": "https://api.test:{0.api}/v1/x", "looked-into": "https://api.test:{0.inside}/v1/x"}

# Each prints what URL answers, and fails when there is nothing.
CLIENTS = {
    "curl": "curl -fsS URL",
    "wget": "wget -qO- URL",
    "git": "git ls-remote URL",
    "urllib": "python3 -c \"import urllib.request as u; print(u.urlopen('URL').read().decode())\"",
    "requests": "python3 -c \"import requests; r = requests.get('URL'); r.raise_for_status(); print(r.text)\"",
    "httpx": "python3 -c \"import httpx; r = httpx.get('URL'); r.raise_for_status(); print(r.text)\"",
    "aiohttp": """python3 -c "
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession(trust_env=True, raise_for_status=True) as session:
        print(await (await session.get('URL')).text())
asyncio.run(main())" """,
    "fetch": "node -e \"fetch('URL').then(async (r) => { if (!r.ok) throw r.status; console.log(await r.text()) })\"",
    "node:https": "node -e \"require('URL'.split(':')[0]).get('URL', (r) => { r.pipe(process.stdout); if (r.statusCode !== 200) process.exitCode = 1 })\"",
}
# They need what is installed for them first, or take long to be made.
SLOW = {
    "axios": "node -e \"require('axios').get('URL').then((r) => console.log(r.data))\"",
    "undici": "node -e \"require('undici').request('URL').then(async (r) => { if (r.statusCode !== 200) throw r.statusCode; console.log(await r.body.text()) })\"",
    "go": "./get URL",
    "java": "java -cp . Get URL",
}
GO = """package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
  answer, failure := http.Get(os.Args[1])
  if failure != nil { panic(failure) }
  if answer.StatusCode != 200 { panic(answer.Status) }
  body, _ := io.ReadAll(answer.Body)
  fmt.Println(string(body))
}
"""
# It has a store of its own, so the code says whom it trusts.
JAVA = """
import java.io.*; import java.net.*; import java.security.*; import java.security.cert.*; import javax.net.ssl.*;
class Get {
  public static void main(String[] arguments) throws Exception {
    var store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null);
    try (var file = new FileInputStream(System.getenv("SSL_CERT_FILE"))) {
      for (var one : CertificateFactory.getInstance("X.509").generateCertificates(file)) store.setCertificateEntry("c" + store.size(), one);
    }
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    var context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    HttpsURLConnection.setDefaultSSLSocketFactory(context.getSocketFactory());
    new URL(arguments[0]).openStream().transferTo(System.out);
  }
}
"""
# Each has what has to be there, the file to write, and how the client comes about.
MADE = {
    "go": ("/usr/local/go/bin/go", "get.go", GO, "[ -x get ] || /usr/local/go/bin/go build get.go"),
    "java": ("/usr/bin/javac", "Get.java", JAVA, "[ -e Get.class ] || javac Get.java"),
}


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    needs(environments.python().exists(), environments.MISSING)
    folder = tmp_path_factory.mktemp("clients")
    with http_origin() as web, tls_origin(folder, "api.test") as api, tls_origin(folder, "api.test") as inside:
        config = folder / "config.toml"
        trusted = folder / "trusted.pem"
        public = subprocess.run(["sh", "-c", "cat ${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}"], capture_output=True, text=True, check=True)
        trusted.write_text((folder / "roots.pem").read_text() + api.certificate + public.stdout)
        config.write_text(f"""
[network]
allow = ["packages", "web.test:{port_of(web)}", "api.test:{port_of(api)}", "GET api.test:{port_of(inside)}/v1/*"]
[network.addresses]
"web.test" = "127.0.0.1"
"api.test" = "127.0.0.1"
"other.test" = "127.0.0.1"
""")
        with Client(module_state, env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(trusted), "HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as client:
            client.web, client.api, client.inside = port_of(web), port_of(api), port_of(inside)
            yield client


@pytest.mark.parametrize("told", ["", TOLD], ids=["direct", "proxy"])
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name in ("aiohttp", "httpx", "node:https") else []) for name in CLIENTS])
def test_a_client(world, name, told):
    check(world, name, CLIENTS[name], told)


def check(world, name, command, told):
    if name in ("wget",) and not shutil.which(name, path="/usr/bin"):
        pytest.skip(f"no /usr/bin/{name} on this machine")
    for url in WAYS.values():
        url = url.format(world)
        # The host's answer is no repository: git says so, with what it has read.
        run = world.run(told + command.replace("URL", url) + " 2>&1", "bash")
        reached = ANSWER.search(run["stdout"]) or name == "git" and "not valid" in run["stdout"]
        assert reached and ("refused" not in run["network"]), (url, run)
        other = url.replace("web.test", "other.test").replace("api.test", "other.test")
        run = world.run(told + command.replace("URL", other) + " 2>&1", "bash")
        assert run["status"] == "failed" and not ANSWER.search(run["stdout"]), (other, run)
        assert any(host.startswith("other.test") for host in refused(run)), (other, run)


@pytest.mark.slow
@pytest.mark.parametrize("told", ["", TOLD], ids=["direct", "proxy"])
@pytest.mark.parametrize("name", SLOW)
def test_a_client_that_is_installed_first(world, name, told):
    # The newest undici is for a newer Node than Debian's.
    make = f"[ -d node_modules/{name} ] || npm install --silent {'undici@7' if name == 'undici' else name}"
    if name in MADE:
        program, file, source, make = MADE[name]
        if world.run(f"test -x {program}", "bash")["status"] == "failed":
            pytest.skip(f"no {program} on this machine")
        world.call("write_file", path=file, content=source)
    run = world.until_ended(world.run(make, "bash", background=True)["run_id"], 300)
    assert run["status"] == "completed", run
    check(world, name, SLOW[name], told)
