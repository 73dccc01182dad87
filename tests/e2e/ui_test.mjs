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
