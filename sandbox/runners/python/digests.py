"""SHA-256 without hashlib: a file of the user's may have that name, and be imported already.

Python's own costs nothing to have. OpenSSL's is the fastest, and takes 3 MB of a process.
"""

try:
    from _sha2 import sha256
except ImportError:
    try:
        from _sha256 import sha256  # before Python 3.12
    except ImportError:  # a Python that was built without its own
        from _hashlib import openssl_sha256 as sha256

SMALL_BYTES = 256 << 10


def fast_sha256():
    """A new digest."""
    try:
        from _hashlib import openssl_sha256
    except ImportError:  # a Python that was built without OpenSSL
        return sha256()
    return openssl_sha256()


def digest_of(content):
    digest = sha256() if len(content) <= SMALL_BYTES else fast_sha256()
    digest.update(content)
    return digest.digest()
