"""An authorization server on loopback: keys made by openssl, a key set, tokens."""

import base64
import http.server
import json
import subprocess
import threading
import time


def encoded(data):
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, check=True,
                          capture_output=True).stdout


class Key:
    """RS256 or EdDSA."""

    def __init__(self, directory, algorithm, key_id):
        self.algorithm, self.key_id = algorithm, key_id
        self.path = str(directory / f"{key_id}.pem")
        kind = (["RSA", "-pkeyopt", "rsa_keygen_bits:2048"] if algorithm == "RS256"
                else ["ED25519"])
        openssl("genpkey", "-algorithm", *kind, "-out", self.path)

    def jwk(self):
        common = {"kid": self.key_id, "alg": self.algorithm, "use": "sig"}
        if self.algorithm == "RS256":
            modulus = openssl("rsa", "-in", self.path, "-noout", "-modulus").decode()
            return {**common, "kty": "RSA", "e": "AQAB",
                    "n": encoded(bytes.fromhex(modulus.strip().partition("=")[2]))}
        public = openssl("pkey", "-in", self.path, "-pubout", "-outform", "DER")
        return {**common, "kty": "OKP", "crv": "Ed25519", "x": encoded(public[-32:])}

    def sign(self, data, directory):
        source = directory / "to-sign"
        source.write_bytes(data)
        how = ["-digest", "sha256"] if self.algorithm == "RS256" else []
        return openssl("pkeyutl", "-sign", "-rawin", *how, "-inkey", self.path, "-in", str(source))


class AuthorizationServer:
    """Use as a context manager. `requests` counts what was asked of it."""

    def __init__(self, directory):
        self.directory = directory
        self.keys = [Key(directory, "RS256", "rsa"), Key(directory, "EdDSA", "ed")]
        self.requests = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests += 1
                body = json.dumps({"keys": [key.jwk() for key in outer.keys]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.server.shutdown()
        self.server.server_close()

    def token(self, key=0, header=None, **claims):
        """Good unless the claims say otherwise; None takes one out."""
        signer = self.keys[key]
        whole = {"iss": self.issuer, "sub": "alice", "aud": RESOURCE, "scope": "mcp",
                 "exp": int(time.time()) + 600, **claims}
        whole = {name: value for name, value in whole.items() if value is not None}
        head = {"alg": signer.algorithm, "kid": signer.key_id, "typ": "at+jwt", **(header or {})}
        signed = f"{encoded(head)}.{encoded(whole)}".encode()
        return f"{signed.decode()}.{encoded(signer.sign(signed, self.directory))}"

    def rotate(self, key_id):
        """One new key in place of all others."""
        self.keys = [Key(self.directory, "EdDSA", key_id)]

    def configuration(self, more=""):
        """The path of a configuration file of hutch that names this server."""
        path = self.directory / "config.toml"
        path.write_text(f'[oauth]\nissuer = "{self.issuer}"\nresource = "{RESOURCE}"\n'
                        f'jwks_uri = "{self.issuer}/jwks"\nscopes = ["mcp"]\n{more}\n')
        return str(path)


RESOURCE = "https://hutch.example.com/mcp"
