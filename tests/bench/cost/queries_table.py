"""The table of `run queries`: what answers over weeks of a fleet take, cold, warm and asked again."""
import math
import os
import pathlib

import pairs
import questions
from rows import Row, once

COLD, WARM, AGAIN = ('Cold: collector restarted and page cache dropped', 'Warm: bounds moved each time',
                     'The same again: from memory')
SCRAPED = 10_000  # nodes the budget of /metrics is of
DROP_CACHES = pathlib.Path('/proc/sys/vm/drop_caches')


def percentile(values, percent):
    """The smallest value that so many per cent of them do not exceed."""
    values = sorted(values)
    return values[max(0, math.ceil(len(values) * percent / 100) - 1)]


def can_drop():
    return os.geteuid() == 0 and os.access(DROP_CACHES, os.W_OK)


def drop_page_cache():
    os.sync()
    DROP_CACHES.write_text('3\n')


class QueriesTable:
    """site: a FleetSite on a directory filled until then, in seconds since 1970; drop(): drops the page cache, None: it
    cannot be."""

    def __init__(self, site, nodes, until, restarts, times, drop, progress):
        self._site, self._nodes, self._until, self._drop, self._progress = site, nodes, until, drop, progress
        self._restarts, self._times = restarts, times
        self.measured = {}  # key -> {'cold', 'warm', 'again': [ms], 'rested_on': text}
        self._turn = 0

    def rows(self):
        asked = questions.questions(self._nodes, 0, 0)
        for question in asked:
            self.measured[question.key] = {'cold': [], 'warm': [], 'again': [], 'rested_on': ''}
        if self._drop is not None:
            for turn in range(self._restarts):
                for question in asked:
                    self._progress(f'cold {turn + 1} of {self._restarts}: {question.name}')
                    self._site.restart()
                    self._site.settle()
                    self._drop()
                    self._put(question.key, 'cold')
        for question in asked:
            self._progress(f'warm: {question.name}')
            # Reads whatever it alone needs, too.
            self.measured[question.key]['rested_on'] = questions.rested_on(self._site, self._question(question.key))
            for _ in range(self._times):
                self._put(question.key, 'warm')
            for _ in range(self._times):
                self._put(question.key, 'again', again=True)
        return [*self._rows_of(COLD, 'cold', asked), *self._rows_of(WARM, 'warm', asked),
                *self._rows_of(AGAIN, 'again', asked)]

    def _question(self, key, again=False):
        if not again:
            self._turn += 1
        return next(one for one in questions.questions(self._nodes, self._until, self._turn) if one.key == key)

    def _put(self, key, kept_as, again=False):
        seconds = questions.put(self._site, self._question(key, again))
        self.measured[key][kept_as].append(1000 * seconds)

    def _rows_of(self, group, kind, asked):
        rows = []
        for question in asked:
            times = self.measured[question.key][kind]
            target = question.target
            if question.key == 'metrics' and self._nodes < SCRAPED:
                target = ''
            if kind == 'again':
                target = 'ask.again' if question.key == 'node' else ''
                if question.key == 'metrics':
                    continue  # a scrape is never remembered
            if not times:
                rows.append(Row(group, question.name, target=target, note='the page cache can be dropped by root alone'))
                continue
            rows += self._row(group, question, kind, times, target)
        return rows

    def _row(self, group, question, kind, times, target):
        rested = self.measured[question.key]['rested_on']
        more = {'key': question.key, 'kind': kind, 'median': pairs.figure(times).value,
                'p95': percentile(times, 95), 'longest': max(times), 'rested_on': rested}
        if kind == 'cold':
            return [Row(group, question.name, pairs.figure(times), 'ms', target, f'{len(times)} restarts; {rested}', more)]
        words = f"p95 of {len(times)}, median {more['median']:.1f}, longest {more['longest']:.1f}"
        note = f'{words}; {rested}' if kind == 'warm' and rested else words
        return [Row(group, question.name, once(more['p95']), 'ms', target, note, more)]
