// Parts of the user interface that need no browser, as node runs them: what they say of an answer.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ui = new URL('../../collector/web/ui/', import.meta.url);
const { createServer } = await import(pathToFileURL(createRequire(new URL('package.json', ui)).resolve('vite')).href);
const vite = await createServer({
  root: fileURLToPath(ui), configFile: false, logLevel: 'error', appType: 'custom', server: { middlewareMode: true, hmr: false, ws: false },
  optimizeDeps: { noDiscovery: true }, ssr: { noExternal: true } });
after(() => vite.close());
const load = (name) => vite.ssrLoadModule(`/src/${name}`);

const learning = (filter, learned, needed, unit = 'epochs', node = 'a') =>
  ({ filter, node, learned_epochs: String(learned), needed_epochs: String(needed), unit });

test('what still learns is said with its own unit, and the nearest is not taken for the first', async () => {
  const { learningText } = await load('learning.tsx');
  assert.equal(learningText([learning('ewma', 9, 30), learning('leak', 9, 30), learning('seasonal', 0, 3, 'weeks')]),
               'ewma, leak 9 of 30 epochs; seasonal 0 of 3 weeks');
  assert.equal(learningText([learning('ewma', 9, 30), learning('ewma', 2, 30, 'epochs', 'b')]), 'ewma 2 of 30 epochs');
});

test('a node that is not judged yet is not called calm', async () => {
  const { unjudgedUntil } = await load('learning.tsx');
  const { heatGrid } = await load('heat_grid.ts');
  const column = (...values) => Float64Array.from(values);
  const at = Date.now() / 1000;
  const series = ['a', 'b'].map((node) => ({ node, unit: 's', start_s: column(at - 60), length_s: column(60),
                                             watched: column(1), rate: column(1) }));
  const unjudged = unjudgedUntil([learning('ewma', 9, 30), learning('seasonal', 0, 3, 'weeks', 'b')],
                                 [{ name: 'a', epoch_length_s: 10 }]);
  assert.ok(unjudged.get('a') > at + 200 && unjudged.get('a') < at + 220, String(unjudged.get('a') - at));
  const asked = { nodes: ['a', 'b'], start_s: at - 60, end_s: at, columns: 1, series, anomalies: [], unjudged };
  assert.deepEqual([...heatGrid({ ...asked, bySeverity: true }).values], [NaN, 0]);
  assert.deepEqual([...heatGrid({ ...asked, bySeverity: false }).values], [1, 1]);
});

const column = (...values) => Float64Array.from(values);
const series = (vital, start_s, length_s, rate, watched) => ({
  vital, sub: '', node: '', unit: 's', start_s: column(...start_s), length_s: column(...length_s), rate: column(...rate),
  watched: column(...watched) });

test('seconds in which a watched vital did not happen are zero; what was not watched stays unknown', async () => {
  const { withZeroSeconds, graphData } = await load('graph_data.ts');
  const seconds = [series('cpu', [0, 1, 2, 3], [1, 1, 1, 1], [2, 2, 2, 2], [1, 1, 1, 1]),
                   series('retransmit', [2, 3], [1, 1], [4, 0], [1, 1])];
  const epochs = [series('cpu', [0, 2], [2, 2], [2, 2], [1, 1]), series('retransmit', [0, 2], [2, 2], [0, 2], [1, 1]),
                  series('reclaim', [0, 2], [2, 2], [0, 0], [1, 0]), series('lock', [0, 2], [2, 2], [3, 3], [1, 1])];
  const filled = withZeroSeconds(seconds, epochs);
  const of = (vital) => filled.find((one) => one.vital === vital);
  assert.deepEqual([...of('retransmit').rate], [0, 0, 4, 0]);
  assert.deepEqual(graphData([of('retransmit')], 0, 4).unwatched, []);
  assert.deepEqual([...of('reclaim').start_s], [0, 1]);
  assert.deepEqual(graphData([of('reclaim')], 0, 4).unwatched, [{ start_s: 2, end_s: 4 }]);
  assert.equal(of('lock'), undefined, 'its seconds are not known, and are not zero');
  assert.deepEqual([...of('cpu').rate], [2, 2, 2, 2]);
});

test('a click on a second explains the whole epoch, of which the figures are', async () => {
  const { wholeStepAt } = await load('graph_data.ts');
  const second = series('cpu', [9, 10, 11], [1, 1, 1], [1, 1, 1], [1, 1, 1]);
  assert.deepEqual(wholeStepAt([series('cpu', [0, 10], [10, 10], [1, 1], [1, 1])], second, 11.5), [10, 20]);
  assert.deepEqual(wholeStepAt([], second, 11.5), [11, 12]);
});

test('moments are read as the command line reads them', async () => {
  const { readMoment } = await load('moment.ts');
  const now_s = new Date(2026, 10, 25, 16, 0).getTime() / 1000;  // a Wednesday
  const local = (...parts) => new Date(2026, 10, ...parts).getTime() / 1000;
  const expected = [
    ['-1h', now_s - 3600], ['-1h30m', now_s - 5400], ['now', now_s], ['an hour ago', now_s - 3600], ['1h ago', now_s - 3600],
    ['10 minutes ago', now_s - 600], ['a week ago', now_s - 604_800], ['15:05', local(25, 15, 5)],
    ['17:05', local(24, 17, 5)], ['yesterday 17:00', local(24, 17)], ['yesterday', local(24)],
    ['last wednesday 5pm', local(18, 17)], ['wednesday 5 pm', local(18, 17)], ['mon, 5:30pm', local(23, 17, 30)],
    ['on nov 18 at noon', local(18, 12)], ['18 nov', local(18)], ['2026-11-18 17:05', local(18, 17, 5)],
    ['2026-11-18T17:05', local(18, 17, 5)], ['2026-11-18T17:05:00Z', Date.UTC(2026, 10, 18, 17, 5) / 1000],
    ['dec 24', new Date(2025, 11, 24).getTime() / 1000], ['', undefined], ['5', undefined], ['25:00', undefined],
    ['31 june', undefined], ['soon', undefined], ['17:05 18:05', undefined], ['-1', undefined], ['-1x', undefined],
  ];
  for (const [text, at] of expected) assert.equal(readMoment(text, now_s), at, text);
});

test('the time zone of all times is said', async () => {
  const { zoneText } = await load('times.tsx');
  const zone = process.env.TZ;
  for (const [name, text] of [['Asia/Kolkata', /^UTC\+05:30 \(Asia\/(Kolkata|Calcutta)\)$/], ['UTC', /^UTC$/],
                              ['America/St_Johns', /^UTC−03:30 \(America\/St_Johns\)$/]]) {
    process.env.TZ = name;
    assert.match(zoneText(1_795_000_000), text);
  }
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

test('what was answered before belongs to a question if only its time moved', async () => {
  const { withoutMoments } = await load('use_answer.ts');
  assert.equal(withoutMoments('fleet cpu 1795573588 1795577188.25'), withoutMoments('fleet cpu 1795573600 1795577200'));
  assert.notEqual(withoutMoments('top db-1 1795573588 1795577188'), withoutMoments('top db-2 1795573588 1795577188'));
});

test('a kernel thread is called what it is called', async () => {
  const { programName } = await load('names.tsx');
  assert.equal(programName('[kworker/0:0H]'), '[kworker/0:0H]');
  assert.equal(programName('/usr/bin/fio'), 'fio');
});

test('a long symbol keeps its beginning and what is called', async () => {
  const { shortName } = await load('names.tsx');
  assert.equal(shortName('do_fsync'), 'do_fsync');
  const long = `std::map<std::string, ${'std::vector<int>, '.repeat(30)}>::insert(int)`;
  assert.equal(shortName(long), 'std::map<…>::insert(int)');
  const flat = `begin_${'x'.repeat(500)}_end(int)`;
  assert.ok(shortName(flat).length <= 90);
  assert.match(shortName(flat), /^begin_x+…x+_end\(int\)$/);
});

test('losses are told in the words of the command line, and all of them', async () => {
  const { lossText, namelessText } = await load('losses.ts');
  const folder = new URL('../../collector/cli/', import.meta.url);
  const sources = readdirSync(folder).filter((name) => name.endsWith('.cc'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
  const tableOf = (first) => {
    const from = sources.indexOf(`{"${first}",`);
    assert.ok(from >= 0, `no table with ${first}`);
    return [...sources.slice(from, sources.indexOf('};', from)).matchAll(/\{"(\w+)",\s*"([^"]*)"\}/g)];
  };
  const losses = tableOf('tokens');
  assert.ok(losses.length >= 15, String(losses.length));
  for (const [, reason, words] of losses) assert.equal(lossText(reason, 2000), `2,000 ${words.trim()}`);
  assert.equal(lossText('stack_unreadable', 1), '1 stack that could not be read');
  assert.equal(lossText('process_gone', 1), '1 process gone before they were named');
  const percent = (share) => `${Math.round(100 * share)} %`;
  for (const [, outcome, words] of tableOf('named')) {
    const counts = [{ outcome, frames: 3 }, { outcome: 'named', frames: 1 }];
    assert.equal(namelessText(counts, percent), words === '' ? '' : `75 % of user frames have no name: 75 % ${words}`);
  }
});

test('an acknowledged incident is not nothing', async () => {
  const { countText } = await load('incidents.tsx');
  assert.equal(countText({ open: '0', incidents: [{ state: 'acknowledged' }] }), '0 open incidents, 1 acknowledged');
  assert.equal(countText({ open: '1', incidents: [{ state: 'open' }] }), '1 open incident');
});

test('what a diagnosis explains stands under it and not beside it', async () => {
  const { timelineOf } = await load('incident_detail.tsx');
  const symptoms = [{ text: 'high', explained_by: 2 }, { text: 'busy loop', explained_by: 0 }, { text: 'own', explained_by: 0 }];
  assert.deepEqual(timelineOf(symptoms).map(({ symptom, explains }) => [symptom.text, explains.map(({ text }) => text)]),
                   [['busy loop', ['high']], ['own', []]]);
});

test('one is not many, and an anomaly keeps the unit of its text', async () => {
  const { amount, perSecond } = await load('units.ts');
  assert.equal(amount(1, 'signals'), '1 signal');
  assert.equal(amount(1000, 'signals'), '1k signals');
  assert.equal(amount(0, 'calls'), '0 calls');
  assert.equal(perSecond(0.108, 's'), '108 ms/s');
});

test('a vital there is not is known to be none', async () => {
  const { isKnownVital } = await load('unknown_vital.tsx');
  const vitals = [{ name: 'cpu', subs: [{ name: 'user' }] }];
  assert.deepEqual(['', 'cpu', 'cpu/user', 'cpuu', 'cpu/usr'].map((name) => isKnownVital(name, vitals)),
                   [true, true, true, false, false]);
});

test('bounds that are one figure are not written twice', async () => {
  const { betweenText } = await load('top_table.tsx');
  assert.equal(betweenText('2.62 min', '2.62 min'), '');
  assert.equal(betweenText('2.62 min', '3 min'), '2.62 min to 3 min');
});

// What components without state draw: text, and elements with what is in them.
function* drawn(node) {
  if (Array.isArray(node)) for (const child of node) yield* drawn(child);
  else if (typeof node === 'string' || typeof node === 'number') yield String(node);
  else if (typeof node?.type === 'function') yield* drawn(node.type(node.props));
  else if (node?.type) {
    yield node;
    yield* drawn(node.props.children);
  }
}
const textOf = (node) => [...drawn(node)].filter((part) => typeof part === 'string').join('');
const linksOf = (node) => [...drawn(node)].filter(({ type }) => type === 'a').map(({ props }) => new URL(props.href, 'http://ui').searchParams);

const sampleOf = (node, pid, time_s = 1_795_000_000) => ({
  node, pid, tid: pid, time_s, comm: 'fio', exe: '/usr/bin/fio', sub: '', unit: 's', weight: 1, low: 1, high: 1, label: [], detail: [],
  kernel_stack: [], user_stack: [] });

test('a process or sample of all nodes says which it is on, and a pid is chosen with its node', async () => {
  const { Top } = await load('top_table.tsx');
  const { SampleRows } = await load('samples.tsx');
  const row = { name: 'postgres', exe: '/usr/bin/postgres', pid: 4711, node: 'db-1', instances: 1, value: 1, low: 1, high: 1, share: 1 };
  const table = (rows) => ({ by: 'DIMENSION_PROCESS', unit: 's', total: 1, other: 0, exact: true, rows });
  const of = (rows, search) => Top({ table: table(rows), params: new URLSearchParams(search) });
  assert.match(textOf(of([row], 'last=900')), /postgres 4711 on db-1/);
  assert.doesNotMatch(textOf(of([row], 'node=db-1')), /on db-1/);
  const chosen = (rows) => linksOf(of(rows, 'last=900')).map((link) => [link.get('process'), link.get('node')]);
  assert.deepEqual(chosen([row]), [['4711', 'db-1']]);
  assert.deepEqual(chosen([{ ...row, pid: 0, instances: 3 }]), [['postgres', null]]);
  const text = (several) => textOf(SampleRows({ samples: [sampleOf('db-1', 4711)], several }));
  assert.match(text(true), /fio 4711 on db-1/);
  assert.doesNotMatch(text(false), /on db-1/);
});

test('a sample stays the same one when newer ones come before it', async () => {
  const { SampleRows } = await load('samples.tsx');
  const keys = (samples) => SampleRows({ samples, several: true }).props.children.map(({ key }) => key);
  const old = [sampleOf('a', 1), sampleOf('b', 1), sampleOf('a', 2), sampleOf('a', 1, 1_795_000_001)];
  assert.equal(new Set(keys(old)).size, old.length);
  assert.deepEqual(keys([sampleOf('a', 1, 1_795_000_060), ...old]).slice(1), keys(old));
});

test('a question is answered although time moves on meanwhile, and the newest is asked next', async () => {
  const { Asker } = await load('asker.ts');
  const put = [];
  const told = [];
  const asker = new Asker();
  const ask = (name, same = 'top db-1', address = '/selection?last=900') => asker.ask({
    same, address, answered: (value) => told.push(value), failed: (problem) => told.push(`no ${problem}`),
    put: (signal) => new Promise((answer, refuse) => put.push({ name, signal, answer, refuse })) });
  const settle = () => new Promise((done) => setTimeout(done));
  for (const name of ['first', 'second', 'third']) ask(name);
  assert.deepEqual(put.map(({ name, signal }) => [name, signal.aborted]), [['first', false]]);
  put[0].answer('first');
  await settle();
  assert.deepEqual(told, ['first']);
  assert.deepEqual(put.map(({ name }) => name), ['first', 'third']);
  ask('fourth');
  put[1].refuse('third');
  await settle();
  assert.deepEqual(told, ['first', 'no third']);
  ask('of another node', 'top db-2');
  ask('of a time that was chosen', 'top db-2', '/selection?from=1&to=2');
  assert.deepEqual(put.slice(2).map(({ name, signal }) => [name, signal.aborted]),
                   [['fourth', true], ['of another node', true], ['of a time that was chosen', false]]);
  put[3].answer('of another node');
  asker.stop();
  put[4].answer('of a time that was chosen');
  await settle();
  assert.deepEqual(told, ['first', 'no third'], 'told what nobody asks any more');
});

const anomaly = (filter, more = {}) => ({
  id: filter, filter, node: 'db-1', vital: 'cpu', sub: '', start_s: 1_795_000_000, end_s: 1_795_000_060, value: 1.6, expected: 0.4,
  deviation: 0.1, severity: 12, text: `found by ${filter}`, learned_epochs: 0, found_s: 0, subject: '', evidence: '', against: '', cause: '',
  next: '', rule: 0, open: false, ...more });
const cpu = { name: 'cpu', unit: 'UNIT_NANOSECONDS', subs: [] };

test('what a rule, or a filter of no rate, found has no usual rate', async () => {
  const { AnomalyList } = await load('anomaly_list.tsx');
  const text = (found) => textOf(AnomalyList({ anomalies: [found], params: new URLSearchParams(), vitals: [cpu] }));
  assert.match(text(anomaly('ewma')), /was1\.6 s\/susual400 ms\/s ± 100 ms\/s.*12compare$/);
  assert.match(text(anomaly('peer_outlier')), /was1\.6 s\/s a CPUusual400 ms\/s ± 100 ms\/s a CPU/);
  assert.match(text(anomaly('rule_blocked', { rule: 5 })), /rule 5compare$/);
  for (const found of [anomaly('rule_blocked', { rule: 5 }), anomaly('leak', { rule: 2 }), anomaly('descriptor_leak', { rule: 2 }),
                       anomaly('affinity'), anomaly('silence')]) {
    assert.doesNotMatch(text(found), /was1\.6|usual4|12compare/, found.filter);
  }
});

test('an anomaly of no vital leads to all vitals', async () => {
  const { AnomalyList } = await load('anomaly_list.tsx');
  const vitals = (found) => linksOf(AnomalyList({ anomalies: [found], params: new URLSearchParams('vital=lock'), vitals: [cpu] }))
    .map((link) => link.get('vital'));
  assert.deepEqual(vitals(anomaly('silence', { vital: 'node' })), [null, null]);
  assert.deepEqual(vitals(anomaly('ewma')), ['cpu', 'cpu']);
});

test('what is left out of an answer is said, and is not called calm', async () => {
  const { completeFrom, OlderLeftOut } = await load('anomaly_list.tsx');
  const { localText } = await load('times.tsx');
  const { heatGrid } = await load('heat_grid.ts');
  const at = 1_795_000_000;
  const cut = { anomalies: [anomaly('ewma', { start_s: at + 90, node: 'a' }), anomaly('ewma', { start_s: at + 60, node: 'a' })], next_page: '1 x' };
  assert.equal(textOf(OlderLeftOut({ found: cut })), `More than 2 anomalies; those that began before ${localText(at + 60)} are not shown.`);
  assert.equal(OlderLeftOut({ found: { ...cut, next_page: '' } }), null);
  const epochs = { node: 'a', unit: 's', start_s: column(at, at + 60), length_s: column(60, 60), watched: column(1, 1), rate: column(1, 1) };
  const values = (bySeverity, found) => [...heatGrid({
    nodes: ['a'], start_s: at, end_s: at + 120, columns: 2, series: [epochs], anomalies: [], unjudged: new Map(), bySeverity,
    complete_s: completeFrom(found) }).values];
  assert.deepEqual(values(true, cut), [NaN, 0]);
  assert.deepEqual(values(true, { ...cut, next_page: '' }), [0, 0]);
  assert.deepEqual(values(false, cut), [1, 1]);
});

test('events that are left out are said', async () => {
  const { askEvents } = await load('events.ts');
  const { EventList } = await load('event_list.tsx');
  const { localText } = await load('times.tsx');
  const at = 1_795_000_000;
  const event = (time_s) => ({ node: 'a', time_s, type: 'exit', text: 'cc1 killed by SIGSEGV', pid: 1 });
  const asked = async (left_out) => {
    const own = globalThis.fetch;
    globalThis.fetch = async (path, { body }) => Response.json(path.endsWith('marks') ? { marks: [], left_out: 0 }
      : body.includes('EVENT_TYPE_EXIT') ? { events: [event(at + 60), event(at + 90)], left_out } : { events: [], left_out: 0 });
    try {
      return await askEvents({ nodes: ['a'], start_s: at, end_s: at + 900 }, new AbortController().signal);
    } finally {
      globalThis.fetch = own;
    }
  };
  const text = async (left_out) => textOf(EventList({ found: await asked(left_out), params: new URLSearchParams() }));
  assert.match(await text(3), new RegExp(`Too many events: some of those before ${localText(at + 60)} are not shown`));
  assert.doesNotMatch(await text(0), /not shown/);
});

test('a sum of processes that are not all there is the least', async () => {
  const { AcrossTable, partsOfProcess } = await load('across.tsx');
  const row = { value: 2, low: 2, high: 3 };
  const text = (rows_after) => textOf(AcrossTable({ params: new URLSearchParams(), who: '', parts: partsOfProcess(
    [{ vital: 'cpu', unit: 's', by: 'DIMENSION_PROCESS', total: 10, rows: [row, row], rows_after }]) }));
  assert.match(text(7), /cpuat least 4 sat least 40 %$/);
  assert.match(text(0), /cpu4 s40 %4 s to 6 s$/);
});
