"""Keeps what an agent spools: the collector settles a record within a second, and then its file is gone."""

import os
import threading


class SpoolKeeper:
    """While `on`, records stay: a second name of each, given by a thread that looks twenty times a second."""

    def __init__(self, spool, to):
        self.spool, self.to, self.on = spool, to, False
        to.mkdir(parents=True, exist_ok=True)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._keep, daemon=True)
        self.thread.start()

    def _keep(self):
        while not self.stop.wait(0.05):
            if not self.on:
                continue
            for file in self.spool.glob("*.rec"):
                kept = self.to / file.name
                try:
                    if file.is_file() and not kept.exists():
                        os.link(file, kept)
                except OSError:
                    pass  # settled meanwhile

    def close(self):
        self.stop.set()
        self.thread.join()
