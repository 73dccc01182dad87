"""The table of `run web`: what the user interface weighs and how fast it draws, in Debian's Chromium."""
import gzip
import json
import pathlib
import shutil
import statistics
import subprocess

from pairs import Figure
from rows import Row, once

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 600
SIZE, SPEED = 'Size', 'Speed, with made-up answers'


class WebFailed(Exception):
    pass


def figure(values):
    low, middle, high = statistics.quantiles(values, n=4, method='inclusive') if len(values) > 1 else values * 3
    return Figure(middle, low, high, len(values))


def sizes(dist):
    """Bytes of each file as it is sent."""
    return {str(path.relative_to(dist)): len(gzip.compress(path.read_bytes(), 9, mtime=0))
            for path in sorted(dist.rglob('*')) if path.is_file()}


class WebTable:
    """ui: collector/web/ui; runs: how often each is measured; progress(text) is told what runs."""

    def __init__(self, ui, runs, progress):
        self._ui, self._runs, self._progress = ui, runs, progress
        self.measured = {}

    def rows(self):
        packed = sizes(self._ui / 'dist')
        files = ', '.join(f'{name} {size / 1024:.1f}' for name, size in packed.items())
        rows = [Row(SIZE, 'all files, compressed', once(sum(packed.values()) / 1024), 'KB', 'web.size', files)]
        self._progress('browser')
        self.measured = self._browse()
        lines = '20 series x 4,320 points'
        return rows + [
            Row(SPEED, '3 d of a node, 14 graphs, after its answers', figure(self.measured['interactive_ms']), 'ms',
                'web.interactive'),
            Row(SPEED, f'pan, {lines}', figure(self.measured['pan_fps']), 'fps', 'web.pan'),
            Row(SPEED, 'pan, 14 graphs of 2,000 points at once', figure(self.measured['pan_all_fps']), 'fps')]

    def _browse(self):
        for program in ('node', 'chromium'):
            if shutil.which(program) is None:
                raise WebFailed(f'{program} is not installed; run: apt-get install chromium nodejs npm')
        if not (self._ui / 'node_modules/playwright-core').exists():
            raise WebFailed(f'playwright-core is not there; run: (cd {self._ui} && npm ci)')
        try:
            done = subprocess.run(['node', HERE / 'web_pages.mjs', str(self._runs)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise WebFailed(f'the browser did not come to an end within {LIMIT_S} s')
        if done.returncode != 0:
            raise WebFailed(f'the browser failed: {done.stderr[-2000:]}')
        return json.loads(done.stdout)
