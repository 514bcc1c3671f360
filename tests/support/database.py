"""What lies in the database of a state directory, read beside the server that has it open."""

import contextlib
import sqlite3


def rows(state, query):
    with contextlib.closing(sqlite3.connect(f"file:{state}/hutch.db?mode=ro", uri=True)) as database:
        return database.execute(query).fetchall()
