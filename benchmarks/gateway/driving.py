"""Drives a side of a comparison and counts meanwhile: requests with wrk or h2load, CPU by kind of
thread, system calls with perf.
"""

import atexit
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

CALLS_SHOWN = ("epoll_wait", "recvfrom", "sendto", "sendmsg", "writev", "read", "write", "pread64",
               "pwrite64", "fdatasync", "futex", "epoll_ctl")

Load = collections.namedtuple("Load", "requests rate others")  # others: replies that are not 2xx


def new_scratch():
    """A directory for files of the benchmark, removed when it ends."""
    directory = tempfile.mkdtemp(prefix="turnpike-bench-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return pathlib.Path(directory)


def wrk(connections, url, script, seconds):
    output = subprocess.run(
        ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "-s", script, url],
        capture_output=True, text=True, check=True).stdout
    others = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)",
                       output)
    return Load(int(re.search(r"(\d+) requests in", output).group(1)),
                float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1)),
                int(others.group(1) if others else 0) +
                sum(int(each) for each in (errors.groups() if errors else ())))


def h2load(connections, url, headers, seconds):
    words = [word for name, value in headers for word in ("-H", f"{name}: {value}")]
    output = subprocess.run(
        ["h2load", "--h1", "-t2", f"-c{connections}", f"-D{seconds}", *words, url],
        capture_output=True, text=True, check=True).stdout
    done, failed = re.search(r"requests: .* (\d+) done, \d+ succeeded, (\d+) failed",
                             output).groups()
    good = re.search(r"status codes: (\d+) 2xx", output).group(1)
    rate = re.search(r"finished in .*, ([\d.]+) req/s", output).group(1)
    return Load(int(done), float(rate), int(done) - int(good) + int(failed))


def write_script(path, headers):
    """Writes a wrk script that sends prepared requests in turn, one for each (name, value) header.
    All sides are driven by such a script, because a script costs the generator time."""
    listed = ",".join(f'{{["{name}"] = "{value}"}}' for name, value in headers)
    path.write_text(
        f"local headers = {{{listed}}}\nlocal requests = {{}}\nlocal at = 0\n"
        "function init(args)\n"
        '  for i, each in ipairs(headers) do requests[i] = wrk.format("GET", nil, each) end\n'
        "  at = math.random(#requests)\nend\n"
        "function request() at = at % #requests + 1; return requests[at] end\n")
    return str(path)


def children(process):
    return pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()


def cpu_us(pids, name=None):
    """CPU time in us that each kind of thread of these processes has used, or under `name` all
    together."""
    ticks = collections.Counter()
    for pid in pids:
        for stat in pathlib.Path(f"/proc/{pid}").glob("task/*/stat"):
            try:
                thread, _, fields = stat.read_text().partition("(")[2].rpartition(") ")
            except OSError:  # the thread has ended
                continue
            user, system = fields.split()[11:13]
            ticks[name or thread.rstrip("-0123456789")] += int(user) + int(system)
    return collections.Counter({key: value * 1e6 / os.sysconf("SC_CLK_TCK")
                                for key, value in ticks.items()})


class NoCounts(Exception):
    """perf cannot count here: it needs root and the kernel's trace points."""


def system_calls(pids, drive):
    """How many calls of each kind a request takes, while `drive` (which returns a Load) puts the
    processes to work. The kernel counts, which costs the processes little; its own work is not
    counted."""
    words = ["perf", "stat", "-x;", "-D", "-1", "-e", "raw_syscalls:sys_enter"]
    for call in CALLS_SHOWN:
        words += ["-e", f"syscalls:sys_enter_{call}"]
    words += ["-e", "syscalls:sys_exit_recvfrom", "--filter", "ret == -11"]
    command, ack = os.pipe(), os.pipe()
    try:
        counter = subprocess.Popen(
            [*words, "--control", f"fd:{command[0]},{ack[1]}", "-p", ",".join(map(str, pids))],
            stderr=subprocess.PIPE, text=True, pass_fds=(command[0], ack[1]))
    except OSError as error:
        raise NoCounts(str(error)) from error
    finally:
        os.close(command[0])
        os.close(ack[1])
    load = None
    try:
        os.write(command[1], b"enable\n")
        if os.read(ack[0], 16):
            load = drive()
            os.write(command[1], b"disable\n")
            os.read(ack[0], 16)
    except BrokenPipeError:
        pass
    finally:
        counter.send_signal(signal.SIGINT)
    _, output = counter.communicate()
    os.close(command[1])
    os.close(ack[0])
    if load is None:
        raise NoCounts(output.strip().splitlines()[0] if output.strip() else "perf ended early")
    counts = collections.Counter()
    for line in output.splitlines():
        fields = line.split(";")
        if len(fields) > 2 and fields[0].isdigit():
            counts[fields[2]] += int(fields[0])
    shown = {"all": counts["raw_syscalls:sys_enter"] / load.requests}
    for call in CALLS_SHOWN:
        shown[call] = counts[f"syscalls:sys_enter_{call}"] / load.requests
    shown["recvfrom in vain"] = counts["syscalls:sys_exit_recvfrom"] / load.requests
    return shown
