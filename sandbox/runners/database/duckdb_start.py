"""DuckDB's engine in memory, made when it is needed, or ahead by the zygote: its functions take 30 ms to be known."""

import os

import duckdb

ahead = None  # a connection without threads, of the process that this one is a copy of


def connect_ahead():
    """One to be copied with its process; None where this DuckDB cannot do without threads."""
    try:
        connection = duckdb.connect(":memory:", config={"threads": 1, "async_threads": 0})
    except duckdb.Error:  # before 2.0 there is no such setting
        return None
    if len(os.listdir("/proc/self/task")) > 1:
        connection.close()
        return None
    return connection


def connect():
    global ahead
    taken, ahead = ahead, None
    if taken is None:
        connection = duckdb.connect(":memory:", config=_settings())
    else:
        connection = taken.cursor()  # with a state of its own for random()
        for name, value in {**_settings(), "async_threads": "2"}.items():
            connection.execute(f"SET {name} = '{value}'")
    connection.execute("SET enable_progress_bar = false")
    return connection


def spill_directory(process):
    folder = os.environ.get("TMPDIR")
    folder = folder if folder and os.path.isdir(folder) else "/tmp"  # DuckDB makes only one level
    return os.path.join(folder, f".hutch-duckdb-{process}")


def _settings():
    settings = {"python_enable_replacements": "false",  # else it takes the runner's own variables
                "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
                "temp_directory": spill_directory(os.getpid()),
                "threads": os.environ.get("OMP_NUM_THREADS") or str(len(os.sched_getaffinity(0)))}
    # /dev/shm holds half of what the session may use of memory; on a plain machine, half of it all.
    shared = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
    if shared is not None and shared.f_blocks:
        settings["memory_limit"] = f"{max(64, shared.f_blocks * shared.f_frsize >> 20)}MiB"
    return settings
