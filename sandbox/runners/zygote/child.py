"""A copy of the zygote in its box: becomes what a freshly started interpreter would be.

What only a start can do (variables that Python and its libraries read then, packages of the user that
replace warmed ones) is left to one: the program is executed after all, in place of this.
"""

import ctypes
import os
import random
import signal
import sys

# Variables of the profile and of every box were there when the zygote started, or are dealt with here.
_AT_START = ("PYTHON", "LD_", "LC_", "LANGUAGE", "TZ", "MPL", "GLIBC_", "MALLOC_", "OMP_", "OPENBLAS_",
             "GOTO_", "MKL_", "KMP_", "BLIS_", "NUMEXPR_", "NPY_", "NUMPY_", "PANDAS_", "OPENSSL_", "SSL_",
             "XDG_", "MATPLOTLIB")
_OF_EVERY_BOX = {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg",
                 "SSL_CERT_FILE": "/run/hutch/certificates.pem"}  # with a network; read when it is used
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_SET_THREADS = ("openblas_set_num_threads", "openblas_set_num_threads64_", "MKL_Set_Num_Threads",
                "bli_thread_set_num_threads")
_SETTINGS = ("matplotlibrc", "~/.config/matplotlib/matplotlibrc", "~/.config/matplotlib/stylelib")
_RUNNERS = {"/run/hutch/runners/python/runner.py": "python", "/run/hutch/runners/sql/runner.py": "sql"}


def go_on(arguments, environment, stash, runners):
    set_environment(environment)
    language = _RUNNERS.get(os.fsdecode(arguments[1])) if len(arguments) == 2 else None
    sys.path[0] = ""  # as a runner has it
    add_user_site()
    if language is None or needs_a_start(stash):
        os.execve(arguments[0], arguments, os.environb)
    show_as(arguments)
    reseed(stash)
    sys.modules.update(runners.modules[language])
    stash.publish("json")  # runners have it, and its half in C looks for the other one where modules are
    set_threads_with_numpy(stash)
    sys.meta_path.insert(0, stash)
    sys.modules["hutch_runner.session"].serve()


def set_environment(strings):
    os.environb.clear()
    for text in strings:
        name, _, value = text.partition(b"=")
        os.environb[name] = value


def needs_a_start(stash):
    names = [name for name in os.environ if name.startswith(_AT_START) and name not in _THREADS]
    if any(os.environ[name] != _OF_EVERY_BOX.get(name) for name in names):
        return True
    if os.environ.get("LANG") != "C.UTF-8" or len({os.environ.get(name) for name in _THREADS}) != 1:
        return True
    if any(os.path.exists(os.path.expanduser(file)) for file in _SETTINGS):
        return True
    return stash.is_any_shadowed()


def add_user_site():
    """Does what `site` does at the start, for the home of this session."""
    import site

    site.USER_BASE = site.USER_SITE = None
    folder = site.getusersitepackages()
    if not site.ENABLE_USER_SITE or not os.path.isdir(folder):
        return
    of_host = [path for path in sys.path if path.endswith("-packages")]
    sys.path[:] = [path for path in sys.path if path not in of_host]
    known = {path for path in sys.path if path}
    site.addusersitepackages(known)
    sys.path += of_host
    site.execusercustomize()


def show_as(arguments):
    """The command line that a start would have had: for ps, and for whoever looks for it."""
    sys.argv = [""]
    sys.orig_argv = [os.fsdecode(argument) for argument in arguments]
    with open("/proc/self/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end of proc(5)
    text = b"".join(argument + b"\0" for argument in arguments)
    if 0 < start and len(text) <= end - start:
        ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)


def reseed(stash):
    """Whatever was made random before the fork is the same in all copies."""
    random.seed()
    numpy_random = stash.peek("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    tempfile = stash.peek("tempfile")
    if tempfile is not None:
        tempfile._name_sequence = tempfile.tempdir = None
    process = stash.peek("multiprocessing.process")
    if process is not None:
        process.current_process().authkey = os.urandom(32)
    threading = stash.peek("threading")
    if threading is not None:
        threading.main_thread()._set_native_id()


def set_threads_with_numpy(stash):
    """BLAS began with one thread, since none survives a fork; it gets those of the box with its user."""
    count = int(os.environ[_THREADS[0]])
    if count > 1:
        stash.when_published("numpy", lambda _numpy: set_threads(count))


def set_threads(count):
    with open("/proc/self/maps") as file:
        libraries = {line.split(maxsplit=5)[5].rstrip("\n") for line in file if "/" in line}
    for library in libraries:
        if not any(word in os.path.basename(library) for word in ("blas", "mkl_rt", "blis")):
            continue
        try:
            loaded = ctypes.CDLL(library)
        except OSError:
            continue
        for name in _SET_THREADS:
            function = getattr(loaded, name, None)
            if function is not None:
                function(ctypes.c_int(count))
                return
