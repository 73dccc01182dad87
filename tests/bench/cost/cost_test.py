"""What the cost table is made of, on made-up runs and summaries. Run by ctest (label unit)."""
import collections
import contextlib
import json
import math
import pathlib
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import collector_table  # noqa: E402
import crash_page  # noqa: E402
import event_rows  # noqa: E402
import fleet_plot  # noqa: E402
import fleet_site  # noqa: E402
import one_run_rows  # noqa: E402
import pairs  # noqa: E402
import queries_table  # noqa: E402
import questions  # noqa: E402
import rows  # noqa: E402
import targets  # noqa: E402
import watchers  # noqa: E402

Run = collections.namedtuple('Run', 'watcher cpu')


class Pairs(unittest.TestCase):
    def test_each_watcher_stands_between_two_runs_alone(self):
        self.assertEqual(pairs.order(['b', 'c'], 0), ['alone', 'b', 'b', 'alone', 'c', 'c', 'alone'])
        self.assertEqual(pairs.order(['b', 'c'], 1), ['alone', 'c', 'c', 'alone', 'b', 'b', 'alone'])

    def test_a_run_is_compared_with_its_neighbour_alone(self):
        runs = [Run(w, c) for w, c in zip(pairs.order(['b', 'c'], 0), [100, 102, 204, 200, 303, 404, 400])]
        self.assertEqual([(x.cpu, y.cpu) for x, y in pairs.pair(runs, 'b')], [(102, 100), (204, 200)])
        self.assertEqual([(x.cpu, y.cpu) for x, y in pairs.pair(runs, 'c')], [(303, 200), (404, 400)])

    def test_steady_drift_cancels(self):
        # The host gets slower by 1 % a run; the watcher costs 5 %.
        runs = [Run(w, (1 + 0.01 * at) * (1.05 if w == 'b' else 1))
                for at, w in enumerate(pairs.order(['b'], 0))]
        mean = sum(x.cpu / y.cpu for x, y in pairs.pair(runs, 'b')) / 2
        self.assertAlmostEqual(mean, 1.05, delta=0.001)

    def test_figure_is_median_and_quartiles(self):
        figure = pairs.figure([5, 1, 2, 3, 4])
        self.assertEqual((figure.value, figure.low, figure.high, figure.cases), (3, 2, 4, 5))
        # One run that a neighbour disturbed moves nothing.
        self.assertEqual(pairs.figure([5000, 1, 2, 3, 4]).value, 3)
        self.assertIsNone(pairs.figure([]))
        self.assertTrue(math.isnan(pairs.figure([7]).low))

    def test_verdict(self):
        most, least = targets.Target(4, ''), targets.Target(95, '', at_least=True)
        self.assertEqual(pairs.verdict(pairs.Figure(3, 2, 3.5, 8), most), 'OK')
        self.assertEqual(pairs.verdict(pairs.Figure(3, 2, 4.5, 8), most), 'OK?')
        self.assertEqual(pairs.verdict(pairs.Figure(5, 3, 6, 8), most), 'OVER?')
        self.assertEqual(pairs.verdict(pairs.Figure(5, 4.1, 6, 8), most), 'OVER')
        self.assertEqual(pairs.verdict(pairs.Figure(4, 4, 4, 1), most), 'OK')
        # Nothing makes a load cheaper: what says so by more than the target cannot judge by it.
        self.assertEqual(pairs.verdict(pairs.Figure(-5, -6, -4.5, 8), most), 'OK?')
        self.assertEqual(pairs.verdict(pairs.Figure(-1, -2, 1, 8), most), 'OK')
        self.assertEqual(pairs.verdict(pairs.Figure(94, 93, 94.5, 8), least), 'OVER')
        self.assertEqual(pairs.verdict(pairs.Figure(96, 95.5, 97, 8), least), 'OK')
        self.assertEqual(pairs.verdict(pairs.Figure(1, 1, 1, 1), None), '')

    def test_verdict_of_a_figure_that_may_be_neither_high_nor_low(self):
        near = targets.Target(1.1, '', floor=0.9)
        for value, said in ((0.89, 'OVER'), (0.9, 'OK'), (1, 'OK'), (1.1, 'OK'), (1.11, 'OVER')):
            self.assertEqual(pairs.verdict(rows.once(value), near), said)
        self.assertEqual(pairs.verdict(pairs.Figure(0.95, 0.85, 1, 8), near), 'OK?')
        self.assertEqual(pairs.verdict(pairs.Figure(1.2, 1.05, 1.3, 8), near), 'OVER?')


class Samples(unittest.TestCase):
    def test_what_many_samples_cost_beyond_few(self):
        few = {'on_alloc': (1000, 100), 'on_free': (1000, 50)}, {'kernel_page': 100}
        many = {'on_alloc': (2000, 600), 'on_free': (2000, 50)}, {'kernel_page': 700}
        # Twice the events would have had 200 of the 700 samples at the old cost: 1 ms more for 500.
        self.assertAlmostEqual(event_rows.sample_us(event_rows.WITH_STACK, few, many), 2)
        self.assertIsNone(event_rows.sample_us(event_rows.WITHOUT_STACK, few, many))


class Summaries(unittest.TestCase):
    def test_coverage_counts_what_was_missed_and_refused(self):
        vital = {'id': 8, 'tLog2': 3, 'subs': [{'events': '80'}, {'weight': '7'}, {'events': '10'}],
                 'samples': [{'samples': '3'}], 'foldedAway': {'samples': '1'},
                 'losses': [{'reason': 'LOSS_REASON_TOKENS', 'events': '4'}, {'reason': 'LOSS_REASON_DUTY', 'events': '10'},
                            {'reason': 'LOSS_REASON_RECURSION', 'events': '99'}],
                 'knobs': [{'knob': 'KNOB_TOKENS', 'to': '1'}, {'knob': 'KNOB_DUTY_PPM', 'to': '250000'}]}
        seen = rows.coverage({'epoch': {'startMonoNs': '1000000000', 'endMonoNs': '3000000000'}, 'vitals': [vital, {}]})
        self.assertAlmostEqual(seen.pop('counted'), 80 / 90)  # the totals stand for what was not looked at
        self.assertEqual(seen, {'events': 90, 'there': 90, 'samples': 4, 'kept': 0.5, 'duty': 0.25, 't': 8, 'seconds': 2})
        self.assertEqual(rows.coverage_words({**seen, 'counted': 0.9}),
                         '90 % of events counted, 50 % of due samples kept, least duty 25 %, t up to 8')

    def test_what_was_not_looked_at_of_waits_is_beside_their_totals(self):
        vital = {'id': 3, 'subs': [{'events': '30'}], 'losses': [{'reason': 'LOSS_REASON_DUTY', 'events': '10'}]}
        seen = rows.coverage({'epoch': {'startMonoNs': '0', 'endMonoNs': '1'}, 'vitals': [vital]})
        self.assertEqual((seen['there'], seen['counted']), (40, 0.75))

    def test_labels_without_a_sample_are_summed_over_epochs(self):
        def body(heavy, missed):
            return {'vitals': [{'id': 9, 'sketch': {'controlHeavy': heavy, 'controlHeavyMissed': missed, 'controlHeavyUnlisted': 4}},
                               {'id': 1, 'sketch': {}}, {'id': 7}]}
        self.assertEqual(one_run_rows.missed_labels([body(30, 1), body(20, 2)]), {9: (50, 3, 8)})
        self.assertEqual(one_run_rows.worst({9: (50, 3, 8), 1: (10, 0, 0)}, 2), ', 8 of 50 of signal')

    def test_vitals_have_their_names(self):
        self.assertEqual([one_run_rows.vital_names()[number] for number in (1, 4, 11)], ['cpu', 'blocking', 'lock'])

    def test_documents_one_after_the_other(self):
        self.assertEqual(watchers.concatenated('{"a":\n1}\n{"b": 2}\n\n'), [{'a': 1}, {'b': 2}])

    def test_lengths_of_a_message(self):
        # 1: varint 300, 8: 3 bytes, 3: fixed64, 9: 130 bytes, 8 again: 1 byte
        message = (b'\x08\xac\x02' + b'\x42\x03abc' + b'\x19' + b'\x0a' * 8 + b'\x4a\x82\x01' + bytes(130) + b'\x42\x01x')
        self.assertEqual(watchers.field_lengths(message), {8: 4, 9: 130})


def fleet(nodes, ack_p99_ms, **more):
    """A report of telltale-fleetsim of a fleet that was borne."""
    return {'nodes': nodes, 'connected_most': nodes, 'drained': True, 'latency_claim': True, 'good_refused': 0,
            'good_too_late': 0, 'good_kept_apart': 0, 'verified_wrong': 0, 'ack_p99_ms': ack_p99_ms, 'collector_cores': nodes / 10_000,
            'collector_rss_most_mb': nodes / 4, **more}


class Site:
    """Runs no fleet; keeps what was asked of it."""

    def __init__(self):
        self.fleets, self.in_company, self.asked, self.restarts = [], [], [], []

    @contextlib.contextmanager
    def fleet(self, size, options):
        self.fleets.append((size, '--storm-at' in options))
        if '--garbage' in options:
            self.in_company.append(len(self.fleets))
        self._said = [f'{size} of {size} nodes connected, {cut * size} epochs cut' for cut in (4, 3, 2, 1)]
        storm = {'storm_back_max_s': 20, 'storm_back_p50_s': 10, 'storm_ack_p99_ms': 900, 'storm_ack_max_ms': 950,
                 'storm_reconnected': size}
        more = {'simulator_cores': 0.1, 'both_share': 20, 'collector_rss_mb': 1, 'ack_p50_ms': 1, 'ack_max_ms': 9,
                'fsync_p99_ms': 1, 'entropy_ratio': 1.12, 'epoch_bytes': 11_200, 'recorded_epoch_bytes': 10_000,
                'private_stacks_share': 25, 'verified_acked': size, 'stacks_per_node': 1,
                'stacks_of_fleet': 1, 'other_builds_share': 1}
        self._report = fleet(size, 20, **more, **(storm if '--storm-at' in options else {}))
        yield self

    def restart(self, options=()):
        self.restarts.append((len(self.fleets), options))

    def settle(self):
        pass

    def progress(self):
        return self._said.pop() if self._said else None

    def result(self):
        return self._report

    def ask(self, method, path, question=None, accept=''):
        self.asked.append((len(self.fleets), path))
        return 0.1, b'{}'


class Fleets(unittest.TestCase):
    @mock.patch('time.sleep')
    def test_what_a_fleet_costs_is_measured_without_a_storm_or_questions(self, _):
        site = Site()
        table = collector_table.CollectorTable(site, 10, [10, 20], 60, [], lambda text: None)
        named = {row.name: row for row in table.rows()}
        self.assertEqual(site.fleets, [(10, False), (20, False), (20, False), (20, True), (20, False)])
        self.assertEqual(site.in_company, [3])
        # Each question once in its turn, before the streams break.
        self.assertEqual({number for number, _ in site.asked}, {4})
        self.assertEqual(site.asked.count((4, '/metrics')), 1)
        self.assertEqual(site.restarts, [(4, ('--ingest-spread', '0s'))])
        for how in ('in bad company', 'all sent with the minute'):
            self.assertEqual(named[f'durable ack p99, {how}'].figure.value, 20)
        self.assertEqual(named['epochs lost or counted twice in bad company'].figure.value, 0)
        # Of the nodes that have weeks behind them; the page is everybody's.
        self.assertEqual(named['one vital, 30 d, 10 nodes'].figure.value, 100)
        self.assertEqual(named['/metrics of 20 nodes'].figure.value, 100)
        self.assertEqual(named['CPU of the collector, 20 nodes'].figure.value, 20 / 10_000)
        self.assertEqual(named['acks from the storm on: p99'].figure.value, 900)

    @mock.patch('time.sleep')
    def test_epochs_of_another_entropy_than_the_recordings_are_over(self, _):
        def row(recordings):
            table = collector_table.CollectorTable(Site(), 10, [10], 60, recordings, lambda text: None)
            return next(row for row in table.rows() if row.name == 'entropy of an epoch')

        target = targets.all_targets(2)[row(['spool']).target]
        self.assertEqual(pairs.verdict(row(['spool']).figure, target), 'OVER')
        # Made-up epochs are no measure of real ones.
        self.assertIsNone(row([]).figure)

    @mock.patch('time.sleep')
    def test_a_storm_that_fails_takes_no_other_figure_with_it(self, _):
        class Overrun(Site):
            def result(self):
                if self.fleets[-1][1]:
                    raise fleet_site.FleetFailed('it does not answer')
                return super().result()

        table = collector_table.CollectorTable(Overrun(), 10, [10, 20], 60, [], lambda text: None)
        named = {row.name: row for row in table.rows()}
        self.assertEqual(named['CPU of the collector, 20 nodes'].figure.value, 20 / 10_000)
        self.assertIsNone(named['epochs lost or counted twice'].figure)
        self.assertIn('it does not answer', named['epochs lost or counted twice'].note)
        self.assertIsNone(table.troubled)

    @mock.patch('time.sleep')
    def test_that_nothing_was_lost_is_told_only_of_what_was_settled(self, _):
        def row(**more):
            class Troubled(Site):
                def result(self):
                    return {**super().result(), **(more if self.fleets[-1][1] else {})}
            table = collector_table.CollectorTable(Troubled(), 10, [10], 60, [], lambda text: None)
            return next(row for row in table.rows() if row.name == 'epochs lost or counted twice')

        self.assertEqual(row().figure.value, 0)
        self.assertIsNone(row(drained=False).figure)
        self.assertIn('7 had not come back', row(storm_reconnected=3).note)
        self.assertEqual(row(drained=False, verified_wrong=2).figure.value, 2)

    @mock.patch('time.sleep')
    def test_beyond_a_fleet_that_is_not_held_none_is_run(self, _):
        class Slow(Site):
            def result(self):
                return {**super().result(), 'ack_p99_ms': 20 if self.fleets[-1][0] < 7000 else 251}
        site = Slow()
        named = {row.name: row for row in collector_table.CollectorTable(site, 10, [5000, 7000, 9000], 60, [], lambda text: None).rows()}
        self.assertEqual([size for size, _ in site.fleets], [5000, 7000, 5000, 5000, 5000])
        self.assertEqual(named['largest fleet held'].figure.value, 5000)
        self.assertEqual(named['largest fleet held'].note, '7000: ack p99 over 250 ms; within one core and 2.5 GB: 5,000')

    def test_what_the_targets_say_is_asked_of_a_fleet_of_their_size(self):
        held = [fleet(size, 20) for size in (5000, 10_000, 15_000)]
        self.assertEqual(collector_table.chosen(held)['nodes'], 10_000)
        self.assertEqual(collector_table.chosen([fleet(5000, 20), fleet(10_000, 300)])['nodes'], 5000)
        self.assertEqual(collector_table.chosen([fleet(5000, 300)])['nodes'], 5000)

    @mock.patch('time.sleep')
    def test_in_bad_company_nothing_may_be_lost(self, _):
        def row(**more):
            class Worse(Site):
                def result(self):
                    return {**super().result(), **(more if self.in_company == [len(self.fleets)] else {})}
            table = collector_table.CollectorTable(Worse(), 10, [10], 60, [], lambda text: None)
            return next(row for row in table.rows() if row.name == 'epochs lost or counted twice in bad company')

        self.assertEqual(row().figure.value, 0)
        self.assertIsNone(row(drained=False).figure)
        self.assertEqual(row(drained=False, verified_wrong=2).figure.value, 2)

    def test_the_knee_is_the_largest_fleet_held(self):
        reports = [fleet(1000, 20), fleet(2500, 240), fleet(5000, 260), fleet(9000, 30, verified_wrong=1)]
        self.assertEqual(collector_table.knee(reports), 2500)
        for more in ({'latency_claim': False}, {'good_too_late': 1}, {'good_kept_apart': 2}):
            self.assertEqual(collector_table.knee([fleet(1000, 20, **more)]), 0)

    def test_a_fleet_smaller_than_the_targets_keeps_none_of_them(self):
        self.assertEqual(collector_table.judged('fleet.cores', 0.4, 1000), '')
        self.assertEqual(collector_table.judged('fleet.cores', 1.4, 1000), 'fleet.cores')
        self.assertEqual(collector_table.judged('fleet.cores', 0.4, 10_000), 'fleet.cores')

    def test_the_picture_tells_fleets_held_from_others(self):
        drawn = fleet_plot.picture([fleet(1000, 20), fleet(2500, 240), fleet(5000, 260)])
        self.assertEqual(drawn.count('fill="#0072b2"'), 2 * 3)
        self.assertEqual(drawn.count('fill="white"/>'), 1 + 1 * 3)
        self.assertIn('5,000', drawn)

    def test_a_fleet_without_a_single_ack_is_drawn_too(self):
        self.assertIn('CPU of the collector', fleet_plot.picture([fleet(1000, None)]))


class CrashPage(unittest.TestCase):
    STORAGE = {'trials': 4, 'power cuts': 2, 'acknowledged': 1000, 'stored before': 1, 'lost': 3, 'missing': 7, 'windows': 50, 'days': 2,
               'whole backups': 1, 'found': 1000, 'counted': 1000, 'explained': 10, 'refused by a full disk': 6,
               'refused by a failing disk': 1, 'died in computing windows: the log': 1, 'died in a compaction: a manifest': 1,
               'died in a compaction: a table file': 2}
    COLLECTOR = {'trials': 2, 'acknowledged': 200, 'stored before': 5, 'whole backups': 1, 'torn backups': 0, 'windows': 9,
                 'torn rollups': 1, 'latest ms': 2500, 'found': 200, 'counted': 200}
    AGENTS = {'agents killed': 3, 'sensors killed': 1, 'uplinks killed': 1, 'collectors killed': 2, 'stored': 30, 'partial': 2, 'lost': 0,
              'seen': 12, 'found': 12, 'counted': 30, 'cut': 30}
    PLANTED = {'power cuts': 2, 'found': 'node 1: epoch 6 was taken for a new one'}

    def results(self, **changed):
        tests = {crash_page.STORAGE: self.STORAGE, crash_page.COLLECTOR: self.COLLECTOR, crash_page.AGENTS: self.AGENTS,
                 crash_page.PLANTED: self.PLANTED}
        cases = [{'name': name, 'result': 'COMPLETED', **{key: str(value) for key, value in figures.items()}, **changed.get(name, {})}
                 for name, figures in tests.items()]
        return {'time': '90s', 'testsuites': [{'testsuite': cases}]}

    def test_it_adds_up_what_the_tests_recorded(self):
        about = {'date': '', 'system': '', 'kernel': '', 'cpu': '', 'cpus': 2, 'virtual': True, 'memory_gb': 8, 'agent': '1'}
        page = crash_page.page(crash_page.Soak(self.results()), about, 'tests/soak crash 6')
        self.assertIn("| storage on a disk of the test's | 4 | 2 power cuts | 1,000 | 1,000 | 1,000 | 0 | 0 | "
                      '6 batches by a full one, 1 by a failing one |', page)
        self.assertIn('| 12 | 12 | 30 | 0 | 0 |', page)
        self.assertIn('in the ledger 10 of these', page)
        self.assertIn('| a compaction | 3 | a table file 2, a manifest 1 |', page)
        self.assertLess(page.index('| a compaction |'), page.index('| computing windows | 1 |'))
        self.assertIn('2 power cuts: node 1: epoch 6 was taken for a new one.', page)

    def test_runs_side_by_side_took_as_long_as_the_longest(self):
        storage, others = self.results(), self.results()
        of = {crash_page.STORAGE: storage, **dict.fromkeys((crash_page.COLLECTOR, crash_page.AGENTS, crash_page.PLANTED), others)}
        for results in (storage, others):
            results['testsuites'][0]['testsuite'] = [test for test in results['testsuites'][0]['testsuite'] if of[test['name']] is results]
        others['time'] = '120s'
        soak = crash_page.Soak(storage, others)
        self.assertEqual((soak.seconds, soak.number(crash_page.STORAGE, 'trials'), soak.number(crash_page.COLLECTOR, 'trials')), (120, 4, 2))

    def test_what_is_lost_or_counted_twice_is_worked_out_from_what_was_found_and_counted(self):
        about = {'date': '', 'system': '', 'kernel': '', 'cpu': '', 'cpus': 2, 'virtual': True, 'memory_gb': 8, 'agent': '1'}
        changed = {crash_page.COLLECTOR: {'found': '199', 'counted': '203'}, crash_page.AGENTS: {'counted': '31'}}
        page = crash_page.page(crash_page.Soak(self.results(**changed)), about, 'tests/soak crash 6')
        self.assertIn('| 200 | 199 | 203 | 1 | 3 |', page)
        self.assertIn('| 12 | 12 | 31 | 0 | 1 |', page)

    def test_a_soak_that_found_something_has_no_page(self):
        failed = {'failures': [{'failure': 'crash_test.cc:50\ntrial 7 of kind 3'}]}
        with self.assertRaisesRegex(crash_page.Incomplete, 'trial 7'):
            crash_page.Soak(self.results(**{crash_page.COLLECTOR: failed}))
        with self.assertRaisesRegex(crash_page.Incomplete, 'did not run'):
            crash_page.Soak(self.results(**{crash_page.AGENTS: {'result': 'SUPPRESSED'}}))


class FilledSite:
    """Answers at once from memory, else in the time of `slow` of the next question; keeps what happened to it."""

    def __init__(self, slow=()):
        self.happened, self._slow, self._known = [], list(slow), set()

    def restart(self):
        self.happened.append('restart')
        self._known.clear()

    def settle(self):
        self.happened.append('settle')

    def ask(self, method, path, question=None, accept=''):
        asked = f'{path} {question}'
        self.happened.append('remembered' if asked in self._known else path)
        took = 0.001 if asked in self._known else self._slow.pop(0) if self._slow and accept == questions.BINARY else 0.01
        self._known.add(asked)
        coverage = {'selected_s': 100, 'watched_s': 50, 'epochs_received': 1234, 'used': [{'tier': 'TIER_1H', 'rows': 5}]}
        return took, json.dumps({'coverage': coverage}).encode()


class Queries(unittest.TestCase):
    def table(self, site, drop, times=3):
        return queries_table.QueriesTable(site, 1000, 1_800_000_000, 2, times, drop, lambda text: None)

    def test_each_question_asked_cold_is_the_first_after_a_restart_without_page_cache(self):
        site = FilledSite()
        rows = self.table(site, lambda: site.happened.append('drop')).rows()
        cold = [row for row in rows if row.group == queries_table.COLD]
        self.assertEqual([row.figure.cases for row in cold], [2] * 5)
        drops = [at for at, what in enumerate(site.happened) if what == 'drop']
        self.assertEqual(len(drops), 2 * 5)
        for at in drops:
            self.assertEqual(site.happened[at - 2:at], ['restart', 'settle'])
        self.assertEqual([site.happened[at + 1] for at in drops[:5]],
                         ['/api/v1/series', '/api/v1/series', '/api/v1/top', '/api/v1/diff', '/metrics'])

    def test_without_root_nothing_is_called_cold(self):
        site = FilledSite()
        cold = [row for row in self.table(site, None).rows() if row.group == queries_table.COLD]
        self.assertEqual({row.figure for row in cold}, {None})
        self.assertIn('root', cold[0].note)
        self.assertNotIn('restart', site.happened)

    def test_warm_answers_are_computed_and_the_same_again_is_not(self):
        named = {(row.group, row.name): row for row in self.table(FilledSite(), None).rows()}
        name = 'one vital, 30 d, 1,000 nodes'
        self.assertAlmostEqual(named[queries_table.WARM, name].figure.value, 10)
        self.assertAlmostEqual(named[queries_table.AGAIN, name].figure.value, 1)
        self.assertIn('5 1h for 1,234 epochs, 50 % watched', named[queries_table.WARM, name].note)

    def test_what_is_slow_once_in_ten_is_over(self):
        # The graphs of the one node come first.
        slow = [0.01] * 20 + ([0.01] * 9 + [0.9]) * 2
        table = self.table(FilledSite(slow), None, times=20)
        row = next(row for row in table.rows() if (row.group, row.name) == (queries_table.WARM, 'one vital, 30 d, 1,000 nodes'))
        self.assertEqual(row.figure.value, 900)
        self.assertEqual(row.more['median'], 10)
        self.assertEqual(pairs.verdict(row.figure, targets.all_targets(2)[row.target]), 'OVER')

    def test_answers_of_fewer_nodes_than_the_budget_names_are_not_judged_by_it(self):
        targets_of = lambda nodes: {one.key: one.target for one in questions.questions(nodes, 0, 0)}  # noqa: E731
        self.assertEqual([targets_of(999)[key] for key in ('series', 'top', 'diff')], ['', '', 'ask.diff'])
        self.assertEqual(targets_of(1000)['series'], 'ask.series')

    def test_a_page_of_fewer_nodes_than_the_budget_names_is_not_judged_by_it(self):
        rows = [row for row in self.table(FilledSite(), None).rows() if row.name == '/metrics of 1,000 nodes']
        self.assertEqual({row.target for row in rows if row.group == queries_table.WARM}, {''})


if __name__ == '__main__':
    unittest.main()
