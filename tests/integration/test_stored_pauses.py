"""A pause at any moment after a run stores the session: what hutch itself does just then is nothing that cannot be stored."""

import time

from boxes import boxes_of, has_come_to_rest, until
from test_stored_sessions import until_it_is

STEPS = 25
STEP_SECONDS = 0.012
IDLE_SECONDS = 0.2  # then Python forks who writes (IDLE_SECONDS of runners/python/snapshots.py), a little later


def test_a_pause_at_the_moment_of_an_autosave_stores_the_session(client, state):
    session = client.call("create_session", name="kept")["session_id"]
    client.run("kept = bytearray(200_000_000)", session_id=session)  # which takes long to fork
    frozen = []
    for step in range(STEPS):
        run = client.run(f"number = {step}; len(kept)", session_id=session)
        assert run["status"] == "completed" and run["outputs"][0]["text"] == "200000000", run
        time.sleep(IDLE_SECONDS + step * STEP_SECONDS)  # the moment is what is tried
        client.call("pause_session", session_id=session)
        until(lambda: has_come_to_rest(state, session), what="the session resting")
        if session in boxes_of(state):
            frozen.append(step)
        else:
            until_it_is(client, session, "stored")
    assert not frozen, f"it was frozen in steps {frozen} of {STEPS}"
