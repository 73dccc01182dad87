"""The table of `run collector`: fleets of growing size against one collector, each by itself; the largest
once more while its streams break and people ask."""
import time

import pairs
from fleet_site import FleetFailed
from rows import Row, once

FLEET, LARGEST, QUESTIONS = 'Fleets', 'The largest fleet that ran', 'Questions while it reports, one after the other'
ACK_LIMIT_MS = 250
# Measured are five, as long as the windows of a fleet take to come round.
WARMUP_EPOCHS, EPOCHS, TROUBLED_EPOCHS = 1, 6, 3


def held(report):
    """Whether this fleet was borne: nobody refused or left behind, acks in time, and both sides together
    left the machine room to tell so."""
    return bool(report['connected_most'] == report['nodes'] and report['drained'] and report['latency_claim']
                and report['good_refused'] == 0 and report['verified_wrong'] == 0
                and report['ack_p99_ms'] is not None and report['ack_p99_ms'] < ACK_LIMIT_MS)


def knee(reports):
    """Nodes of the largest fleet held; 0: none."""
    return max((int(report['nodes']) for report in reports if held(report)), default=0)


def why_not(report):
    if report['connected_most'] < report['nodes']:
        return f"only {report['connected_most']:.0f} were connected at once"
    if not report['drained'] or report['verified_wrong']:
        return 'not every epoch was settled'
    if report['good_refused']:
        return f"{report['good_refused']:.0f} epochs refused"
    if not report['latency_claim']:
        return report['latency_claim_words']
    return '' if held(report) else f"ack p99 over {ACK_LIMIT_MS} ms"


class CollectorTable:
    """site: a FleetSite; sizes: ascending numbers of nodes; progress(text) is told what runs."""

    def __init__(self, site, sizes, epoch_s, recordings, progress):
        self._site, self._sizes, self._epoch_s = site, sizes, epoch_s
        self._recordings, self._progress = recordings, progress
        # troubled: None also where that run failed, which failure says.
        self.reports, self.troubled, self.failure = [], None, ''
        self._asked = {}

    def rows(self):
        for size in self._sizes:
            self.reports.append(self._run(size))
        # Handshakes and questions would be taken for what the fleet costs.
        try:
            self.troubled = self._run(self._sizes[-1], troubled=True)
        except FleetFailed as failure:
            self.failure = f'the run with questions and a storm failed: {failure}'
        rows = [self._fleet_row(report) for report in self.reports]
        return [self._knee_row(), *rows, *self._largest_rows(self.reports[-1]), *self._question_rows()]

    def _run(self, size, troubled=False):
        epochs = TROUBLED_EPOCHS if troubled else EPOCHS
        options = ['--epoch', f'{self._epoch_s}s', '--epochs', str(epochs), '--warmup', str(WARMUP_EPOCHS), '--verify', '50', '--seed', str(size)]
        if self._recordings:
            options += ['--recordings', ','.join(str(path) for path in self._recordings)]
        if troubled:
            # In the last measured epoch; what is acked from then on is told apart.
            options += ['--storm-at', f'{self._epoch_s * 3 // 2}s']
        with self._site.fleet(size, options) as fleet:
            while (said := fleet.progress()) is not None:
                self._progress(f'{size} nodes: {said}')
                if troubled and f'{size * 2} epochs cut' in said:
                    self._ask(size)
                time.sleep(1)
            return fleet.result()

    def _ask(self, size):
        """Each question once a turn; which nodes, so that no answer is one remembered from before."""
        now = time.time()
        turn = len(self._asked.get('metrics', []))
        nodes = [f'sim-{1 + (turn + at) % size:05}' for at in range(min(1000, size))]
        hour = {'start_s': now - 3600 - turn, 'end_s': now}
        for key, method, path, question in (
                ('top', 'POST', '/api/v1/top', {'selection': {'nodes': nodes, **hour}, 'vital': 'cpu', 'by': 'DIMENSION_SITE'}),
                ('series', 'POST', '/api/v1/series', {'selection': {'nodes': nodes, 'start_s': now - 30 * 86400 - turn, 'end_s': now},
                                                      'vitals': ['cpu']}),
                ('node', 'POST', '/api/v1/series', {'selection': {'nodes': nodes[:1], 'start_s': now - 3 * 86400 - turn, 'end_s': now}}),
                ('diff', 'POST', '/api/v1/diff', {
                    'top': {'selection': {'nodes': nodes[:1], 'start_s': now - 86400 - turn, 'end_s': now}, 'vital': 'cpu'},
                    'against': {'nodes': nodes[:1], 'start_s': now - 2 * 86400 - turn, 'end_s': now - 86400}}),
                ('metrics', 'GET', '/metrics', None)):
            try:
                self._asked.setdefault(key, []).append(self._site.ask(method, path, question)[0])
            except FleetFailed as failure:
                self._asked.setdefault(key + ' failed', []).append(str(failure))

    def _knee_row(self):
        best = knee(self.reports)
        largest = self._sizes[-1]
        note = ('the largest that was tried' if best == largest else
                '; '.join(f"{report['nodes']:.0f}: {why_not(report)}" for report in self.reports if not held(report)))
        return Row(FLEET, 'largest fleet held', once(best), 'nodes', target='fleet.held', note=note)

    def _fleet_row(self, report):
        figure = once(report['ack_p99_ms']) if report['ack_p99_ms'] is not None else None
        note = (f"collector {report['collector_cores']:.2f} cores, {report['collector_rss_mb']:.0f} MB; simulator "
                f"{report['simulator_cores']:.2f} cores; both {report['both_share']:.0f} % of the machine; "
                f"ack p50 {report['ack_p50_ms']} ms, longest {report['ack_max_ms']} ms; fsync p99 {report['fsync_p99_ms']} ms")
        # Beyond the limit of the machine both wait for each other: a figure, no claim.
        target = 'fleet.ack' if report['latency_claim'] else ''
        return Row(FLEET, f"durable ack p99, {report['nodes']:.0f} nodes", figure, 'ms', target=target, note=note)

    def _largest_rows(self, report):
        troubled = self.troubled

        def of_troubled(name, key, unit, target='', note=lambda: ''):
            figure = once(troubled[key]) if troubled and troubled[key] is not None else None
            return Row(LARGEST, name, figure, unit, target=target, note=note() if troubled else self.failure)

        runs = [report, troubled] if troubled else [report]
        return [
            Row(LARGEST, f"CPU of the collector, {report['nodes']:.0f} nodes", once(report['collector_cores']), 'cores',
                target='fleet.cores', note='while the fleet reports'),
            of_troubled('while it is asked and all connect anew', 'collector_cores', 'cores', note=lambda: (
                f"simulator {troubled['simulator_cores']:.2f} cores; both {troubled['both_share']:.0f} % of the machine; "
                f"acks before the storm: p99 {troubled['ack_p99_ms']} ms")),
            Row(LARGEST, 'its memory, at most', once(max(one['collector_rss_most_mb'] for one in runs)), 'MB', target='fleet.rss'),
            of_troubled('epochs lost or counted twice', 'verified_wrong', '', 'fleet.lost', lambda: (
                f"of {troubled['verified_acked']:.0f} acknowledged, with a reconnect storm of {troubled['storm_reconnected']:.0f}")),
            of_troubled('reconnect storm, until the last was back', 'storm_back_max_s', 's', note=lambda: (
                'no storm was measured' if troubled['storm_back_max_s'] is None else f"half of them within {troubled['storm_back_p50_s']} s")),
            of_troubled('acks from the storm on: p99', 'storm_ack_p99_ms', 'ms', note=lambda: f"longest {troubled['storm_ack_max_ms']} ms"),
            self._entropy_row(report),
            Row(LARGEST, 'distinct stacks of a node', once(report['stacks_per_node']), '',
                note=f"{report['private_stacks_share']} % of them no other node's; {report['stacks_of_fleet']:.0f} of the fleet, "
                     f"{report['other_builds_share']} % of nodes with other builds"),
        ]

    def _entropy_row(self, report):
        """An epoch that is easier to compress than a real one would flatter the disk and the wire; a harder one wrongs them."""
        if not self._recordings:
            return Row(LARGEST, 'entropy of an epoch', None, target='fleet.entropy', note='the epochs were made up: no recording was given')
        note = f"{report['epoch_bytes']:.0f} bytes compressed, {report['recorded_epoch_bytes']:.0f} as recorded"
        return Row(LARGEST, 'entropy of an epoch', once(report['entropy_ratio']), target='fleet.entropy', note=note)

    def _question_rows(self):
        size = min(1000, self._sizes[-1])
        rows = []
        for key, name, target in (('top', f'top labels of 1 h, {size} nodes', 'ask.top'),
                                  ('series', f'one vital, 30 d, {size} nodes', 'ask.series'),
                                  ('node', 'all vitals of one node, 3 d', 'ask.node'),
                                  ('diff', 'two days of one node compared', 'ask.diff'),
                                  ('metrics', f'/metrics of {self._sizes[-1]} nodes', 'ask.metrics')):
            seconds = self._asked.get(key, [])
            failed = self._asked.get(key + ' failed', [])
            note = failed[-1] if failed else f'{len(seconds)} times, over what had been stored by then: minutes' if seconds else 'was not asked'
            figure = pairs.figure([1000 * one for one in seconds])
            rows.append(Row(QUESTIONS, name, figure, 'ms', target=target, note=note))
        return rows
