"""Processes beside the gateway. A process is ready when it prints its first line, which is JSON.
Some take commands, one per line. They end when their standard input ends, so none outlives its
test.
"""

import json
import subprocess
import threading


def require_packages(folder):
    if not (folder / "node_modules" / ".installed").is_file():
        raise RuntimeError(f"the npm packages of {folder} are missing: run ./dev deps")


class Process:
    def __init__(self, words):
        self.process = subprocess.Popen(words, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.lock = threading.Lock()
        line = self.process.stdout.readline()
        if not line:
            self.close()
            raise RuntimeError(f"{words} did not start")
        self.ready = json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """Kills the process, as a crash would."""
        self.process.kill()
        self.close()

    def send_command(self, do, **rest):
        """Sends one command and returns its one reply."""
        with self.lock:
            self.process.stdin.write(json.dumps({"do": do, **rest}) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())


class Part(Process):
    """A script in a folder of locked npm packages (`./dev deps` installs them)."""

    def __init__(self, script, *, node="node", **arguments):
        require_packages(script.parent)
        words = [f"--{name.replace('_', '-')}={value}" for name, value in arguments.items()]
        super().__init__([node, script, *words])
