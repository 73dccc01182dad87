// How fast the user interface draws: a browser at made-up answers, so that neither collector nor network is in the
// figures. Prints one JSON object: milliseconds from the last answer to the drawn and idle page, and frames a second of
// panning, one value a run. Argument: runs.
import { createReadStream, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

const kUi = new URL('../../../collector/web/ui/', import.meta.url);
const { chromium } = createRequire(new URL('package.json', kUi))('playwright-core');
const kRuns = Number(process.argv[2] ?? 5);
const kVitals = 14;
const kLines = 20;
const kEpoch_s = 60;
const kEpochs = 4320;      // three days
const kAnswered = 2000;    // points a line the collector answers at most
const kBegin_s = 1_790_000_000;
const kEnd_s = kBegin_s + kEpochs * kEpoch_s;
const kMoves = 120;
const kWait = 60_000;
const kTypes = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

const subs = Array.from({ length: kLines }, (_, i) => ({ name: `kind-${i}`, idle: false }));
const vitals = Array.from({ length: kVitals }, (_, i) => ({
  id: i + 1, name: `vital-${i}`, unit: 's', subs: i === 0 ? subs : [], has_backlog: false, about: 'made up' }));
const coverage = {
  selected_s: 1, watched_s: 1, unwatched_s: 0, nodes: 1, nodes_selected: 1, epochs_received: kEpochs, epochs_lost: 0,
  epochs_partial: 0, lost_events: [], tier: 'TIER_RAW', notes: [], miss_probability_1pct: 0, data_start_s: kBegin_s,
  data_end_s: kEnd_s, tiers: [], values_start_s: kBegin_s, values_end_s: kEnd_s,
  used: [{ tier: 'TIER_RAW', rows: kEpochs, length_s: kEpoch_s }] };
const kNode = { name: 'made-up', state: 'REPORTING', last_s: kEnd_s, remarks: [], epoch_length_s: kEpoch_s,
                vitals_degraded: 0, vitals_unavailable: 0 };

function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
  return Buffer.from([...bytes, value]);
}
const field = (number, bytes) => Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
const text = (number, value) => field(number, Buffer.from(value));
const column = (number, values) => field(number, Buffer.from(Float64Array.from(values).buffer));

// A noisy line with a step and a spike; different for each seed.
function line(vital, sub, points, seed) {
  const length_s = (kEnd_s - kBegin_s) / points;
  const at = Array.from({ length: points }, (_, i) => i);
  const noise = (i) => Math.abs(Math.sin(i * 12.9898 + seed * 78.233) * 43758.5453) % 1;
  return field(1, Buffer.concat([
    text(1, vital), text(2, sub), text(4, 's'), column(5, at.map((i) => kBegin_s + i * length_s)),
    column(6, at.map(() => length_s)),
    column(7, at.map((i) => 1 + seed + noise(i) + (i > points / 2 ? 2 : 0) + (i % 977 === 0 ? 9 : 0))),
    column(11, at.map((i) => (i % 1500 === 1 ? 0 : 1)))]));
}
const totals = Buffer.concat(vitals.map(({ name }, i) => line(name, '', kAnswered, i)));
const kinds = Buffer.concat(subs.map(({ name }, i) => line('vital-0', name, kEpochs, i)));

function answer(name, question, only) {
  if (name === 'series') return question.vitals.length > 0 ? kinds : only ? Buffer.alloc(0) : totals;
  const answers = {
    status: { version: 'bench', now_s: kEnd_s, nodes_known: 1, nodes_reporting: 1, not_storing: '' },
    nodes: { nodes: [kNode] }, vitals: { vitals }, coverage: { coverage, gaps: [] },
    anomalies: { anomalies: [], next_page: '', learning: [] }, events: { events: [], coverage },
    marks: { marks: [], left_out: 0 },
    incidents: { incidents: [], open: '0', silenced: '0', missed_anomalies: '0', asker: '', may_change: false } };
  if (answers[name] === undefined) throw new Error(`the page asks for ${name}, of which nothing is made up here`);
  return Buffer.from(JSON.stringify(answers[name]));
}

let onlyKinds = false;
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://host');
  if (pathname.startsWith('/api/v1/')) {
    let body = '';
    request.on('data', (piece) => (body += piece));
    request.on('end', () => response.end(answer(pathname.slice(8), JSON.parse(body), onlyKinds)));
    return;
  }
  const asset = new URL(`dist${pathname}`, kUi);
  const file = pathname !== '/' && existsSync(asset) ? asset : new URL('dist/index.html', kUi);
  response.setHeader('Content-Type', kTypes[file.pathname.slice(file.pathname.lastIndexOf('.'))] ?? 'text/plain');
  createReadStream(file).pipe(response);
});
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const url = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'], timeout: kWait });

// In the page: notes when the last graph is there, painted, and the page idle again.
function noteDrawn(graphs) {
  new MutationObserver((_, observer) => {
    if (document.querySelectorAll('.plot canvas').length < graphs) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => (window.drawn = performance.now())));
  }).observe(document, { childList: true, subtree: true });
}

async function open(parameters, graphs) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  page.setDefaultTimeout(kWait);
  await page.addInitScript(noteDrawn, graphs);
  await page.goto(`${url}/node?node=made-up&from=${kBegin_s}&to=${kEnd_s}${parameters}`);
  await page.waitForFunction(() => window.drawn !== undefined);
  return page;
}

// In the page: Shift and drag, a step a frame.
function drag(moves) {
  const over = document.querySelector('.plot .u-over');
  const { left, top, width } = over.getBoundingClientRect();
  const at = (type, target, x) => target.dispatchEvent(new MouseEvent(type, {
    clientX: x, clientY: top + 20, shiftKey: true, button: 0, bubbles: true }));
  const from = left + width / 2;
  at('mousedown', over, from);
  return new Promise((done) => {
    let begun = 0;
    let moved = 0;
    const step = (now) => {
      if (moved === 0) begun = now;
      if (moved === moves) return done(moves * 1000 / (now - begun));
      at('mousemove', window, from + Math.sin(++moved / 20) * width / 4);
      return requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
}

const found = { interactive_ms: [], pan_fps: [], pan_all_fps: [] };
try {
  for (let run = 0; run < kRuns; ++run) {
    onlyKinds = false;
    const node = await open('', kVitals);
    found.interactive_ms.push(await node.evaluate(() => window.drawn - Math.max(
      ...performance.getEntriesByType('resource').filter(({ name, responseEnd }) =>
        name.includes('/api/v1/') && responseEnd < window.drawn).map(({ responseEnd }) => responseEnd))));
    found.pan_all_fps.push(await node.evaluate(drag, kMoves));
    await node.close();
    onlyKinds = true;
    const lines = await open('&split=vital-0', 1);
    found.pan_fps.push(await lines.evaluate(drag, kMoves));
    await lines.close();
  }
  console.log(JSON.stringify(found));
} finally {
  await browser.close();
  server.close();
}
