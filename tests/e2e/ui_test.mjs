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
