"""Waiting for what nothing announces, such as a change that a gateway notices by itself."""

import time

PAUSE_SECONDS = 0.02  # between two looks: without it they take a processor from the gateway


def until(holds, what, seconds=60):
    """Returns what holds() returned as soon as that is true. `what` says what did not come about in
    time: a text, or a function that returns one."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise AssertionError(what() if callable(what) else what)
        time.sleep(PAUSE_SECONDS)
    return found
