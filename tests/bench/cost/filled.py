"""A data directory a fleet has reported to for weeks, made by fill_store."""
import subprocess
import time

NODES, DAYS = 1000, 30
LIMIT_S = 1800


class FillFailed(Exception):
    pass


def data_of(directory):
    return directory / 'data'


def until(directory):
    """Seconds since 1970 at which the data in it end; None: it has not been filled."""
    said = directory / 'filled-until'
    return int(said.read_text()) if said.exists() else None


def fill(binaries, directory, nodes, seed, recordings, progress):
    """Fills its data directory up to now; returns how many seconds it took."""
    begun, now = time.monotonic(), int(time.time())
    words = [str(binaries / 'fill_store'), str(data_of(directory)), '--nodes', str(nodes), '--days', str(DAYS),
             '--seed', str(seed), '--until', str(now)]
    for recording in recordings:
        words += ['--recording', str(recording)]
    filling = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    said = ''
    try:
        for line in filling.stderr:
            said = line.strip()
            progress(f'filling: {said}')
            if time.monotonic() - begun > LIMIT_S:
                raise FillFailed(f'fill_store did not end within {LIMIT_S} s; last it said: {said}')
        if filling.wait() != 0:
            raise FillFailed(said)
    finally:
        if filling.poll() is None:
            filling.kill()
            filling.wait()
        filling.stderr.close()
    (directory / 'filled-until').write_text(f'{now}\n')
    return time.monotonic() - begun
