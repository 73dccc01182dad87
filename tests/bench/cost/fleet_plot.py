"""The knee as a picture: what fleets of growing size cost the collector. Pure: reports in, SVG out."""
import math
from xml.sax.saxutils import escape

from collector_table import ACK_LIMIT_MS, held
from targets import all_targets

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 520, 120, 64, 24, 26, 34
INK, GRID, LINE, LIMIT = '#333333', '#dddddd', '#0072b2', '#d55e00'


class Panel:
    """One quantity over nodes; `values` has None where a run has none."""

    def __init__(self, title, values, logarithmic, limit=None):
        self.title, self.values, self._log, self.limit = title, values, logarithmic, limit
        known = [value for value in values if value is not None] + ([limit] if limit else [])
        low, high = (min(known), max(known)) if known else (0, 1)
        if logarithmic:
            low, high = max(low, 1e-3), max(high, 2e-3)
            self.ticks = [10.0 ** power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
        else:
            step = 10.0 ** math.floor(math.log10(high or 1))
            step = step / 4 if high / step < 2 else step / 2 if high / step < 5 else step
            self.ticks = [step * at for at in range(math.ceil(high / step) + 1)]

    def share(self, value):
        low, high = self.ticks[0], self.ticks[-1]
        if self._log:
            return math.log(max(value, low) / low) / math.log(high / low)
        return (value - low) / (high - low)


def text(x, y, words, anchor='start', extra=''):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{INK}" {extra}>{escape(words)}</text>'


def draw(panel, top, at, reports):
    y = lambda value: top + PANEL * (1 - panel.share(value))
    parts = [text(LEFT, top - 8, panel.title, extra='font-weight="bold"')]
    for tick in panel.ticks:
        parts += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="{GRID}"/>',
                  text(LEFT - 6, y(tick) + 4, f'{tick:g}', 'end')]
    if panel.limit:
        parts += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(panel.limit):.1f}" y2="{y(panel.limit):.1f}" '
                  f'stroke="{LIMIT}" stroke-dasharray="4 3"/>',
                  text(WIDTH - RIGHT, y(panel.limit) - 4, f'limit {panel.limit:g}', 'end')]
    points = [(at(report), y(value), held(report)) for report, value in zip(reports, panel.values) if value is not None]
    parts.append(f'<polyline fill="none" stroke="{LINE}" stroke-width="1.5" points="'
                 + ' '.join(f'{x_at:.1f},{y_at:.1f}' for x_at, y_at, _ in points) + '"/>')
    parts += [f'<circle cx="{x_at:.1f}" cy="{y_at:.1f}" r="4" stroke="{LINE}" fill="{LINE if borne else "white"}"/>'
              for x_at, y_at, borne in points]
    return parts


def picture(reports):
    """reports: of telltale-fleetsim, by ascending size. Full points were held, hollow ones not."""
    limits = all_targets(1)
    panels = [Panel('durable ack, p99, ms', [report['ack_p99_ms'] for report in reports], True, ACK_LIMIT_MS),
              Panel('CPU of the collector, cores', [report['collector_cores'] for report in reports], False,
                    limits['fleet.cores'].limit),
              Panel('memory of the collector at most, MB', [report['collector_rss_most_mb'] for report in reports], False,
                    limits['fleet.rss'].limit)]
    most = max(report['nodes'] for report in reports)
    at = lambda report: LEFT + (WIDTH - LEFT - RIGHT) * report['nodes'] / most
    height = TOP + len(panels) * (PANEL + GAP) + 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
             f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    for number, panel in enumerate(panels):
        parts += draw(panel, TOP + number * (PANEL + GAP), at, reports)
    base = TOP + len(panels) * (PANEL + GAP) - GAP + 16
    parts += [text(at(report), base, f"{report['nodes']:,.0f}", 'middle') for report in reports]
    parts.append(text(WIDTH - RIGHT, base + 16, 'nodes; full: held, hollow: not', 'end'))
    return '\n'.join([*parts, '</svg>', ''])
