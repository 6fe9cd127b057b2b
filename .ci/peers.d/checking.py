"""What programs of checks around a model server share."""
import socket
import time
import urllib.error
import urllib.request


class Checks:
    """Counts checks of a peer, and prints a line for each: `ok` or `FAILED`."""

    def __init__(self, peer):
        self.peer = peer
        self.failed = 0

    def __call__(self, name, passed, told=""):
        print(("ok     " if passed else "FAILED ") + f"{self.peer}: {name}", flush=True)
        if not passed:
            self.failed += 1
            print("       | " + str(told)[-1500:], flush=True)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for(url, process):
    """Waits until a server answers; no longer than its process lives."""
    for _ in range(600):
        try:
            if urllib.request.urlopen(url, timeout=5).status == 200:
                return True
        except OSError:
            pass
        if process.poll() is not None:
            return False
        time.sleep(0.2)
    return False
