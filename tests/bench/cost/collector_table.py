"""The table of `run collector`: fleets of growing size against one collector, each by itself, until one is not held.
Then the largest held, at most of as many nodes as the targets speak of, three times more: in bad company, while people
ask and then its streams break, and without a spread of sending."""
import dataclasses
import time

import pairs
import questions
from fleet_site import FleetFailed
from queries_table import SCRAPED, percentile
from rows import Row, once
from targets import all_targets

FLEET, CHOSEN, QUESTIONS = 'Fleets', 'The largest fleet held, up to 10,000 nodes', 'Questions while it reports, one after the other'
ACK_LIMIT_MS = 250
# Measured are five, as long as the windows of a fleet take to come round.
# Of a troubled run: in the second people ask, in the fourth the streams break, and then all must come back.
WARMUP_EPOCHS, EPOCHS, TROUBLED_EPOCHS = 1, 6, 8
ASKED_EPOCH = 2
NO_SPREAD = ('--ingest-spread', '0s')
SKEW_S = 30


def bad_company(size):
    """Clocks are off, one node in twenty leaves each minute, and a few are no good."""
    few = str(max(1, size // 1000))
    return ['--skew', f'{SKEW_S}s', '--churn', str(max(1, size // 20)), '--slow-readers', few, '--garbage', few, '--oversize', few,
            '--flood', few]


def held(report):
    """Whether this fleet was borne: nobody refused or left behind, acks in time, and both sides together
    left the machine room to tell so."""
    return bool(report['connected_most'] == report['nodes'] and report['drained'] and report['latency_claim']
                and report['good_refused'] == report['good_too_late'] == report['good_kept_apart'] == 0
                and report['verified_wrong'] == 0
                and report['ack_p99_ms'] is not None and report['ack_p99_ms'] < ACK_LIMIT_MS)


def judged(key, value, nodes):
    """The target's key, or '': a fleet smaller than the target's proves nothing by keeping it, only by breaking it."""
    return key if nodes >= SCRAPED or value > all_targets(1)[key].limit else ''


def knee(reports):
    """Nodes of the largest fleet held; 0: none."""
    return max((int(report['nodes']) for report in reports if held(report)), default=0)


def chosen(reports):
    """That of the fleet which all the rest is about."""
    borne = [report for report in reports if held(report) and report['nodes'] <= SCRAPED]
    return max(borne or reports[:1], key=lambda report: report['nodes'])


def within(report):
    """Whether it took no more than the targets allow a fleet of 10,000."""
    limits = all_targets(1)
    return report['collector_cores'] <= limits['fleet.cores'].limit and report['collector_rss_most_mb'] <= limits['fleet.rss'].limit


def why_not(report):
    if report['connected_most'] < report['nodes']:
        return f"only {report['connected_most']:.0f} were connected at once"
    if not report['drained'] or report['verified_wrong']:
        return 'not every epoch was settled'
    for key, what in (('good_refused', 'refused'), ('good_too_late', 'too late'), ('good_kept_apart', 'kept apart')):
        if report[key]:
            return f'{report[key]:.0f} epochs {what}'
    if not report['latency_claim']:
        return report['latency_claim_words']
    return '' if held(report) else f"ack p99 over {ACK_LIMIT_MS} ms"


class CollectorTable:
    """site: a FleetSite on a directory filled for so many nodes; sizes: ascending numbers of nodes; progress(text) is
    told what runs."""

    def __init__(self, site, filled, sizes, epoch_s, recordings, progress):
        self._site, self._sizes, self._epoch_s = site, sizes, epoch_s
        self._recordings, self._progress = recordings, progress
        # Each None also where its run failed, which its failure says.
        self.reports, self.troubled, self.failure = [], None, ''
        self.in_company, self.company_failure = None, ''
        self.at_once, self.at_once_failure = None, ''  # without a spread, likewise
        self._filled, self._turn = filled, 0
        self._asked, self._rested, self._failed = {}, {}, {}  # by question: ms; what the first rested on; why not

    def rows(self):
        for size in self._sizes:
            self.reports.append(self._run(size))
            if not held(self.reports[-1]):
                break
        self._chosen = chosen(self.reports)
        size = int(self._chosen['nodes'])
        # Handshakes and questions would be taken for what the fleet costs.
        try:
            self.in_company = self._run(size, more=bad_company(size))
        except FleetFailed as failure:
            self.company_failure = f'the run in bad company failed: {failure}'
        try:
            self.troubled = self._run(size, troubled=True)
        except FleetFailed as failure:
            self.failure = f'the run with questions and a storm failed: {failure}'
        self._run_at_once(size)
        rows = [self._fleet_row(report) for report in self.reports]
        return [self._knee_row(), *rows, *self._chosen_rows(self._chosen), *self._question_rows()]

    def _run_at_once(self, size):
        """Every node sends as soon as its epoch ends, and all end with the minute."""
        try:
            self._site.restart(NO_SPREAD)
            self._site.settle()
            self.at_once = self._run(size)
        except FleetFailed as failure:
            self.at_once_failure = f'the run without a spread failed: {failure}'

    def _run(self, size, troubled=False, more=()):
        epochs = TROUBLED_EPOCHS if troubled else EPOCHS
        options = ['--epoch', f'{self._epoch_s}s', '--epochs', str(epochs), '--warmup', str(WARMUP_EPOCHS), '--verify', '50', '--seed', str(size), *more]
        if self._recordings:
            options += ['--recordings', ','.join(str(path) for path in self._recordings)]
        if troubled:
            # What is acked from then on is told apart.
            options += ['--storm-at', f'{self._epoch_s * 5 // 2}s']
        with self._site.fleet(size, options) as fleet:
            while (said := fleet.progress()) is not None:
                self._progress(f'{size} nodes: {said}')
                if troubled and f' {size * ASKED_EPOCH} epochs cut' in said:
                    self._ask()
                time.sleep(1)
            return fleet.result()

    def _ask(self):
        """Each question once a turn, of the nodes that have weeks behind them."""
        self._turn += 1
        for question in questions.questions(self._filled, time.time(), self._turn):
            try:
                self._asked.setdefault(question.key, []).append(1000 * questions.put(self._site, question))
                if question.key not in self._rested:
                    self._rested[question.key] = questions.rested_on(self._site, question)
            except FleetFailed as failure:
                self._failed[question.key] = str(failure)

    def _knee_row(self):
        notes = ['; '.join(f"{report['nodes']:.0f}: {why_not(report)}" for report in self.reports if not held(report)) or
                 'the largest that was tried']
        if best := max((report['nodes'] for report in self.reports if held(report) and within(report)), default=0):
            notes.append(f'within one core and 2.5 GB: {best:,.0f}')
        return Row(FLEET, 'largest fleet held', once(knee(self.reports)), 'nodes', target='fleet.held', note='; '.join(notes))

    def _again_row(self, report, how, failure):
        """What acks took when it ran once more; no target speaks of that."""
        if report is None:
            return Row(CHOSEN, f'durable ack p99, {how}', None, 'ms', note=failure)
        return dataclasses.replace(self._fleet_row(report), group=CHOSEN, name=f'durable ack p99, {how}', target='')

    def _fleet_row(self, report):
        figure = once(report['ack_p99_ms']) if report['ack_p99_ms'] is not None else None
        note = (f"collector {report['collector_cores']:.2f} cores, {report['collector_rss_mb']:.0f} MB; simulator "
                f"{report['simulator_cores']:.2f} cores; both {report['both_share']:.0f} % of the machine; "
                f"ack p50 {report['ack_p50_ms']} ms, longest {report['ack_max_ms']} ms; fsync p99 {report['fsync_p99_ms']} ms")
        # Beyond the limit of the machine both wait for each other: a figure, no claim.
        target = 'fleet.ack' if report['latency_claim'] else ''
        return Row(FLEET, f"durable ack p99, {report['nodes']:.0f} nodes", figure, 'ms', target=target, note=note)

    def _chosen_rows(self, report):
        troubled, nodes = self.troubled, report['nodes']

        def of_troubled(name, key, unit, target='', note=lambda: ''):
            figure = once(troubled[key]) if troubled and troubled[key] is not None else None
            return Row(CHOSEN, name, figure, unit, target=target, note=note() if troubled else self.failure)

        most_mb = max(one['collector_rss_most_mb'] for one in (report, self.in_company, troubled) if one)
        return [
            Row(CHOSEN, f'CPU of the collector, {nodes:.0f} nodes', once(report['collector_cores']), 'cores',
                target=judged('fleet.cores', report['collector_cores'], nodes), note='while the fleet reports'),
            of_troubled('while it is asked and all connect anew', 'collector_cores', 'cores', note=lambda: (
                f"simulator {troubled['simulator_cores']:.2f} cores; both {troubled['both_share']:.0f} % of the machine; "
                f"acks before the storm: p99 {troubled['ack_p99_ms']} ms")),
            Row(CHOSEN, 'its memory, at most', once(most_mb), 'MB', target=judged('fleet.rss', most_mb, nodes),
                note='of these runs, but the one without a spread'),
            self._lost_row(),
            self._company_lost_row(),
            self._again_row(self.in_company, 'in bad company', self.company_failure),
            self._again_row(self.at_once, 'all sent with the minute', self.at_once_failure),
            of_troubled('reconnect storm, until the last was back', 'storm_back_max_s', 's', note=lambda: (
                'no storm was measured' if troubled['storm_back_max_s'] is None else f"half of them within {troubled['storm_back_p50_s']} s")),
            of_troubled('acks from the storm on: p99', 'storm_ack_p99_ms', 'ms', note=lambda: f"longest {troubled['storm_ack_max_ms']} ms"),
            self._entropy_row(report),
            Row(CHOSEN, 'distinct stacks of a node', once(report['stacks_per_node']), '',
                note=f"{report['private_stacks_share']} % of them no other node's; {report['stacks_of_fleet']:.0f} of the fleet, "
                     f"{report['other_builds_share']} % of nodes with other builds"),
        ]

    def _lost_row(self):
        """None were lost only if every epoch was settled and all came back; else what was seen is told, without a verdict."""
        name, troubled = 'epochs lost or counted twice', self.troubled
        if not troubled:
            return Row(CHOSEN, name, target='fleet.lost', note=self.failure)
        back, all_of_them = troubled['storm_reconnected'], troubled['connected_most']
        note = f"of {troubled['verified_acked']:.0f} acknowledged, with a reconnect storm of {back:.0f}"
        whole = troubled['drained'] and back >= all_of_them
        if troubled['verified_wrong'] or whole:
            return Row(CHOSEN, name, once(troubled['verified_wrong']), '', target='fleet.lost', note=note)
        why = 'not every epoch was settled when it ended' if not troubled['drained'] else f'{all_of_them - back:.0f} had not come back'
        return Row(CHOSEN, name, target='fleet.lost', note=f'not told: {why}; none {note}')

    def _company_lost_row(self):
        name, report = 'epochs lost or counted twice in bad company', self.in_company
        if report is None:
            return Row(CHOSEN, name, target='fleet.lost', note=self.company_failure)
        note = (f"of {report['verified_acked']:.0f} acknowledged; clocks up to {SKEW_S} s off, one node in twenty leaves each minute, "
                'one in a thousand reads slowly, sends garbage, too much at once, everything a hundred times')
        if report['verified_wrong'] or report['drained']:
            return Row(CHOSEN, name, once(report['verified_wrong']), '', target='fleet.lost', note=note)
        return Row(CHOSEN, name, target='fleet.lost', note=f'not told: not every epoch was settled when it ended; none {note}')

    def _entropy_row(self, report):
        """An epoch that is easier to compress than a real one would flatter the disk and the wire; a harder one wrongs them."""
        if not self._recordings:
            return Row(CHOSEN, 'entropy of an epoch', None, target='fleet.entropy', note='the epochs were made up: no recording was given')
        note = f"{report['epoch_bytes']:.0f} bytes compressed, {report['recorded_epoch_bytes']:.0f} as recorded"
        return Row(CHOSEN, 'entropy of an epoch', once(report['entropy_ratio']), target='fleet.entropy', note=note)

    def _question_rows(self):
        rows = []
        for question in questions.questions(self._filled, 0, 0):
            times = self._asked.get(question.key, [])
            # Everybody's page has all who report.
            name = f"/metrics of {self._chosen['nodes']:,.0f} nodes" if question.key == 'metrics' else question.name
            if not times:
                rows.append(Row(QUESTIONS, name, target=question.target, note=self._failed.get(question.key, 'was not asked')))
                continue
            p95, median = percentile(times, 95), pairs.figure(times).value
            target = judged(question.target, p95, self._chosen['nodes']) if question.key == 'metrics' else question.target
            notes = [f'p95 of {len(times)}, median {median:.1f}, longest {max(times):.1f}',
                     self._rested[question.key], self._failed.get(question.key, '')]
            rows.append(Row(QUESTIONS, name, once(p95), 'ms', target=target, note='; '.join(filter(None, notes)),
                            more={'median': median, 'p95': p95, 'times': len(times)}))
        return rows
