#!/usr/bin/env python3
"""How long govdata-import takes for 1,000,000 votes, and that its memory does not grow with the
input.

Proposals and votes of a Snapshot space are written as the hub returns them, one record per line,
2,000 votes on each proposal, and imported by the program that operators run. Printed are the
seconds and the peak of memory for VOTES, for a second import of the same, which must find nothing
new, and for three times as many. The peak is that of the store's cache, 64 MiB, once it is full.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from gateway import GOVDATA_IMPORT  # noqa: E402: the path is set above

VOTES = int(os.environ.get("VOTES", "1000000"))
VOTES_A_PROPOSAL = 2_000
BEGIN_S = 1_700_000_000


def write_proposals(path, votes):
    with open(path, "w", encoding="utf-8") as out:
        for at in range(-(-votes // VOTES_A_PROPOSAL)):
            created = BEGIN_S + at * 3_600
            out.write(json.dumps({
                "id": f"0x{at:064x}", "title": f"Proposal {at}", "body": "Shall it be? " * 100,
                "author": f"0x{at % 97:040x}", "created": created, "start": created + 60,
                "end": created + 86_400, "type": "basic", "state": "closed",
                "choices": ["For", "Against", "Abstain"], "scores": [3.5, 2.25, 1],
                "scores_total": 6.75, "scores_state": "final", "votes": VOTES_A_PROPOSAL,
                "quorum": 1, "space": {"id": "bench.eth", "name": "Bench"}}) + "\n")


def write_votes(path, votes):
    with open(path, "w", encoding="utf-8") as out:
        for at in range(votes):
            proposal, voter = divmod(at, VOTES_A_PROPOSAL)
            out.write(json.dumps({
                "id": f"0x{at + (1 << 200):064x}", "voter": f"0x{voter + (1 << 100):040x}",
                "created": BEGIN_S + proposal * 3_600 + 100 + voter, "choice": 1 + at % 3,
                "vp": at % 1000 + 0.125, "reason": "", "proposal": {"id": f"0x{proposal:064x}"},
                "space": {"id": "bench.eth"}}) + "\n")


def run(store, path):
    """Imports `path`. Returns the seconds, the peak of memory in MiB, and the summary."""
    begun = time.monotonic()
    with subprocess.Popen([GOVDATA_IMPORT, "snapshot-graphql", "--database", store, "--json", path],
                          stdout=subprocess.PIPE, text=True) as process:
        summary = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, summary
    return time.monotonic() - begun, usage.ru_maxrss / 1024, json.loads(summary)


def measure(directory, name, votes):
    store, proposals, ballots = (directory / f"{name}.{end}" for end in ("db", "props", "votes"))
    write_proposals(proposals, votes)
    write_votes(ballots, votes)
    run(store, proposals)
    seconds, peak_mib, summary = run(store, ballots)
    print(f"{votes} votes, {ballots.stat().st_size / 2 ** 20:.0f} MiB: {seconds:.1f} s, "
          f"{votes / seconds:.0f} a second, peak {peak_mib:.0f} MiB: {summary}", flush=True)
    return store, ballots, peak_mib


def main():
    with tempfile.TemporaryDirectory(prefix="turnpike-bench-") as folder:
        directory = pathlib.Path(folder)
        store, ballots, peak_mib = measure(directory, "once", VOTES)
        seconds, again_mib, summary = run(store, ballots)
        assert summary["new"] + summary["changed"] == 0, summary
        print(f"again: {seconds:.1f} s, peak {again_mib:.0f} MiB", flush=True)
        _, _, thrice_mib = measure(directory, "thrice", 3 * VOTES)
        print(f"three times the input takes {thrice_mib / peak_mib:.2f}x of the memory")


if __name__ == "__main__":
    main()
