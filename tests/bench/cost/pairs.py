"""The statistics of interleaved runs: A B B A C C A ..., where A is the load alone.

A run with a watcher is compared with the run without that stands next to it, so that what drifts
slowly (clock, caches, neighbours) disturbs both alike; the two runs of a watcher lean on one A
before and one after them. A figure is the median over all pairs, its spread the quartiles.
"""
import dataclasses
import statistics

ALONE = 'alone'


def order(watchers, turn):
    """Names in the order they run: ALONE, then each watcher twice and ALONE again; every other turn
    the watchers come the other way round."""
    sequence = [ALONE]
    for watcher in watchers if turn % 2 == 0 else reversed(watchers):
        sequence += [watcher, watcher, ALONE]
    return sequence


def pair(runs, watcher):
    """[(run with the watcher, its neighbour alone)] of one turn's runs in their order."""
    pairs = []
    for at, run in enumerate(runs):
        if run.watcher != watcher:
            continue
        second = runs[at - 1].watcher == watcher
        pairs.append((run, runs[at + 1] if second else runs[at - 1]))
    return pairs


@dataclasses.dataclass(frozen=True)
class Figure:
    value: float
    low: float
    high: float
    cases: int

    def scaled(self, factor):
        return Figure(self.value * factor, self.low * factor, self.high * factor, self.cases)


def figure(values):
    """Median and quartiles; None of nothing. Of a single value the spread is not known: nan."""
    values = sorted(values)
    if not values:
        return None
    if len(values) == 1:
        return Figure(values[0], float('nan'), float('nan'), 1)
    low, middle, high = statistics.quantiles(values, n=4, method='inclusive')
    return Figure(middle, low, high, len(values))


def verdict(spread, target):
    """OK or OVER by the median; with a question mark where the target lies within the spread, or a cost
    comes out below zero by more than the target: noise is at least that large."""
    if target is None:
        return ''
    kept = spread.value >= target.limit if target.at_least else spread.value <= target.limit
    kept &= target.floor is None or spread.value >= target.floor
    limits = [target.limit] if target.floor is None else [target.floor, target.limit]
    doubtful = spread.cases > 1 and any(spread.low <= limit <= spread.high for limit in limits)
    doubtful |= not target.at_least and -spread.value > target.limit
    return ('OK' if kept else 'OVER') + ('?' if doubtful else '')
