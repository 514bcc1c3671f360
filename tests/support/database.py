"""Reads what lies in the database of a state directory, read beside the server that has it open."""

import contextlib
import sqlite3


def rows(state, query):
    with contextlib.closing(sqlite3.connect(f"file:{state}/hutch.db?mode=ro", uri=True)) as database:
        return database.execute(query).fetchall()


def check_database(state):
    assert rows(state, "PRAGMA integrity_check") == [("ok",)]
    assert rows(state, "SELECT count(*) FROM runs WHERE status IN "
                       "('completed','failed','timed_out','cancelled') AND "
                       "(record IS NULL OR finished_at IS NULL OR NOT json_valid(record))") == [(0,)]
    assert rows(state, "SELECT count(*) FROM runs LEFT JOIN sessions ON sessions.id = session_id "
                       "WHERE sessions.id IS NULL") == [(0,)]
