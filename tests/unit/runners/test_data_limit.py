"""One allocation beyond the memory of a session is an error, whatever libraries have mapped and never used."""

import pytest

from runner_client import PROGRAMS

pytestmark = pytest.mark.plain_start  # the process itself is what is looked at

LIMIT_MB = 600


@pytest.fixture
def limited(start):
    limits = f"--data={LIMIT_MB << 20}:{4 * LIMIT_MB << 20}"
    return start("python", program=["/usr/bin/prlimit", limits, *PROGRAMS["python"]])


def test_what_is_mapped_in_vain_does_not_count_from_the_next_run_on(limited):
    assert limited.run("kept = 1").ok
    assert limited.run("import mmap\nheap = mmap.mmap(-1, 400 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)").ok
    assert limited.run("room = bytearray(300 << 20); len(room) >> 20").text == "300"
    ending = limited.run("more = bytearray(400 << 20)")
    assert ending.error["name"] == "MemoryError" and limited.run("kept").text == "1"


def test_the_first_allocation_that_is_too_large_is_an_error(limited):
    assert limited.run("large = bytearray(700 << 20)").error["name"] == "MemoryError"
    assert limited.run("bytearray(300 << 20)[:1]").ok


def test_a_limit_of_the_codes_own_stays(limited):
    limited.run("import resource\nresource.setrlimit(resource.RLIMIT_DATA, (200 << 20, resource.getrlimit(resource.RLIMIT_DATA)[1]))")
    assert limited.run("resource.getrlimit(resource.RLIMIT_DATA)[0] >> 20").text == "200"
