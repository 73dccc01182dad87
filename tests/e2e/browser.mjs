// What a person does in the interface, step by step, at the collector of TELLTALE_URL, whose node evil-1 has programs
// named like markup and an anomaly to be found. Each step waits for what it needs, never for a time, and says what it
// saw instead.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { close, harmless, open, settled, shot, sibling, url } from './page.mjs';

const kHostile = '<img src=x onerror=';
const kMany = 1000;

let steps = 0;
async function step(what, action) {
  try {
    await action();
  } catch (error) {
    throw new Error(`step "${what}": ${error.message}`, { cause: error });
  }
  ++steps;
  console.log(`ok ${what}`);
}

async function lengthOf(page) {
  const params = new URL(page.url()).searchParams;
  return Number(params.get('to')) - Number(params.get('from'));
}

const page = await open(true);
try {
  await step('the fleet shows its nodes', async () => {
    await page.goto(`${url}/?last=3600&sort=name`);
    await page.locator('.names').getByRole('link', { name: 'evil-1' }).waitFor();
    assert.equal(await page.locator('.names a').count(), 3);
    await page.getByText('not watched, or in part').waitFor();
    await settled(page, '.map canvas');
    await harmless(page);
    await shot(page, 'fleet');
  });

  await step('the filter leaves what it names', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('evil');
    await page.waitForFunction(() => document.querySelectorAll('.names a').length === 1);
    assert.equal(new URL(page.url()).searchParams.get('filter'), 'evil');
  });

  await step('the anomaly is in the list, with what it rests on', async () => {
    await page.getByRole('link', { name: 'Anomalies' }).click();
    await page.waitForURL(/\/anomalies/);
    await page.locator('.anomalies summary').first().click();
    await page.getByText('judged by').waitFor();
    await page.getByText('Still learning what is usual on 2 nodes, the least far: ewma 9 of 30 epochs; seasonal 0 of 3 weeks').waitFor();
    await settled(page, '.anomalies');
    await harmless(page);
    await shot(page, 'anomalies');
  });

  await step('its incident says what speaks for it and against it', async () => {
    const other = await sibling(page);
    await other.goto(`${url}/incidents`);
    await other.locator('.incidents a').first().click();
    await other.waitForURL(/incident=1/);
    await other.getByText('16 CPUs of <em>16</em>').waitFor();
    await other.getByText('a batch job looks the same').waitFor();
    await other.getByText('looking at <s>it</s>').waitFor();
    await settled(other, '.incident');
    await harmless(other);
    await shot(other, 'incident');
    await other.getByRole('link', { name: 'Who and where in the code' }).click();
    await other.waitForURL(/\/selection\?.*node=evil-1/);
    await other.getByText(kHostile).first().waitFor();
    await harmless(other);
    await other.close();
  });

  await step('an operator acknowledges it and takes that back, silences it and ends that, resolves it and opens it again', async () => {
    const operator = await open('operator');
    await operator.goto(`${url}/incidents?incident=1`);
    const button = (name) => operator.getByRole('button', { name, exact: true });
    await button('Acknowledge').waitFor();
    assert.ok(await button('8 h').isDisabled(), 'a silence without a reason');
    await operator.getByLabel('What is known').fill('looking <i>again</i>');
    await button('Acknowledge').click();
    await operator.getByText('◐ acknowledged').waitFor();
    await operator.locator('.facts').getByText('by operator/olga').waitFor();
    await operator.locator('.notes').getByText('acknowledged: looking <i>again</i>').waitFor();
    await harmless(operator);
    await shot(operator, 'acknowledged');
    // Typed while the order is on its way: it stays, and none of its characters is a command meanwhile.
    let letGo;
    const held = new Promise((done) => (letGo = done));
    await operator.route('**/api/v1/incidents/change', async (route) => {
      await held;
      await route.continue();
    });
    await button('Take the acknowledgement back').click();
    await operator.getByText('taking it back …').waitFor();
    const at = operator.url();
    await operator.getByLabel('What is known').pressSequentially('known <i>since</i> monday, 15.4?');
    letGo();
    await button('Acknowledge').waitFor();
    await operator.getByText('taking it back …').waitFor({ state: 'detached' });
    assert.equal(await operator.getByLabel('What is known').inputValue(), 'known <i>since</i> monday, 15.4?');
    assert.equal(operator.url(), at);
    await button('8 h').click();
    await operator.getByText('by operator/olga: known <i>since</i> monday').waitFor();
    await operator.getByText('● open, silenced').waitFor();
    await harmless(operator);
    await operator.getByRole('link', { name: 'All incidents' }).click();
    await operator.getByText('No open incident').waitFor();
    await operator.getByLabel('silenced ones, too').check();
    await operator.locator('.incidents a').first().click();
    await button('End the silence').click();
    await operator.getByText('● open, silenced').waitFor({ state: 'detached' });
    await button('Resolve').click();
    await operator.getByText('○ resolved').waitFor();
    await button('Open it again').click();
    await button('Resolve').waitFor();
    await operator.context().close();
  });

  await step('an order on its way, one that failed, and who may give none', async () => {
    const operator = await open('operator');
    let answer;
    const answered = new Promise((done) => (answer = done));
    await operator.route('**/api/v1/incidents/change', async (route) => {
      await answered;
      await route.fulfill({ status: 503, contentType: 'application/json', body: '{"error": "store: disk full"}' });
    });
    await operator.goto(`${url}/incidents?incident=1`);
    await operator.getByLabel('What is known').fill('mine');
    await operator.getByRole('button', { name: 'Acknowledge' }).click();
    await operator.getByText('acknowledging …').waitFor();
    assert.ok(await operator.getByRole('button', { name: 'Acknowledge' }).isDisabled(), 'given twice');
    answer();
    await operator.getByText('Not done (acknowledging): store: disk full').waitFor();
    assert.equal(await operator.getByLabel('What is known').inputValue(), 'mine');
    await operator.getByText('● open').waitFor();
    await harmless(operator);
    await operator.context().close();
    const viewer = await sibling(page);
    await viewer.goto(`${url}/incidents?incident=1`);
    await viewer.getByText('You are viewer/someone.').waitFor();
    assert.ok(await viewer.getByRole('button', { name: 'Acknowledge' }).isDisabled());
    await viewer.close();
  });

  await step('incidents are told as they change; where the stream is refused they are asked for, and it says so', async () => {
    const operator = await open('operator');
    await operator.goto(`${url}/incidents`);
    const change = (action, note) => operator.evaluate(async (order) => {
      const answer = await fetch('/api/v1/incidents/change',
        { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(order) });
      if (!answer.ok) throw new Error(await answer.text());
    }, { number: '1', action: `INCIDENT_ACTION_${action}`, note });
    const told = await sibling(page);
    await told.addInitScript(() => (window.setInterval = () => 0));  // it never asks by itself
    await told.goto(`${url}/incidents`);
    await told.getByText('● told as they change').waitFor();
    await told.getByText('● open').waitFor();
    await change('ACKNOWLEDGE', '');
    await told.getByText('◐ acknowledged').waitFor();
    await told.goto(`${url}/incidents?incident=1`);
    await told.getByText('● told as they change').waitFor();
    await change('NOTE', 'heard <u>of</u> it');
    await told.getByText('heard <u>of</u> it').waitFor();
    await harmless(told);
    await told.close();
    const asked = await sibling(page);
    const refused = (route) => route.fulfill({ status: 429, contentType: 'application/json', body: '{"error": "too many"}' });
    await asked.route('**/api/v1/incidents/follow', refused);
    await asked.goto(`${url}/incidents`);
    await asked.locator('.tools').getByText('asked anew every 10 s: the collector’s live stream').waitFor();
    await asked.getByText('◐ acknowledged').waitFor();
    await change('REOPEN', '');
    await asked.getByText('● open').waitFor();
    await asked.unroute('**/api/v1/incidents/follow', refused);
    await asked.getByText('● told as they change').waitFor();
    await asked.close();
    await operator.context().close();
  });

  await step('incidents are as they are now: no time to choose', async () => {
    const other = await sibling(page);
    await other.goto(`${url}/incidents`);
    await other.getByText('1 open incident').waitFor();
    assert.equal(await other.getByLabel('At a time, local').count(), 0);
    await other.close();
  });

  await step('what cannot be judged yet is not shown as calm', async () => {
    const other = await sibling(page);
    await other.goto(`${url}/?vital=anomalies&last=1800&sort=name`);
    await settled(other, '.map canvas');
    const map = other.locator('.map canvas').first();
    const box = await map.boundingBox();
    const rows = await other.locator('.names a').allInnerTexts();
    const read = async (node) => {
      await map.hover({ position: { x: box.width / 2, y: box.height * (rows.indexOf(node) + 0.5) / rows.length } });
      return other.locator('.heat .read').innerText();
    };
    assert.match(await read('calm-1'), /^calm-1 .*not watched, or not judged yet$/);
    assert.match(await read('calm-2'), /^calm-2 .* nothing found$/);
    await other.close();
  });

  await step('its node opens around it', async () => {
    await page.locator('.anomalies').getByRole('link', { name: 'evil-1' }).click();
    await page.waitForURL(/\/node\?.*node=evil-1/);
    await settled(page, '.plot canvas');
    await page.keyboard.press('-');
    await page.keyboard.press('-');
    await settled(page, '.plot canvas');
    await page.locator('.events li', { hasText: 'deploy' }).getByText('1.2</u>').waitFor();
    await harmless(page);
    await shot(page, 'node');
  });

  await step('kinds, backlog and an overlay are drawn', async () => {
    const cpu = page.locator('.vital', { has: page.locator('h3', { hasText: /^cpu / }) }).last();
    await cpu.getByRole('link', { name: 'by kind' }).click();
    await page.locator('.vital .lines').first().waitFor();
    await cpu.getByRole('link', { name: 'overlay' }).click();
    await page.locator('.overlaid').waitFor();
    await page.locator('.vital:not(.overlaid)', { hasText: 'blocking' })
      .getByRole('link', { name: 'overlay' }).click();
    await page.waitForFunction(() => document.querySelectorAll('.overlaid .lines > span').length === 2);
    await page.getByRole('link', { name: 'backlog' }).first().click();
    await page.waitForURL(/backlog=/);
    await settled(page, '.overlaid canvas');
    await harmless(page);
    await shot(page, 'overlay');
  });

  await step('a drag over a graph zooms to what was dragged over', async () => {
    const before = await lengthOf(page);
    const plot = page.locator('.plot .u-over').nth(1);
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 30, { steps: 4 });
    await page.mouse.move(box.x + box.width * 0.7, box.y + 30, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction((long) => {
      const params = new URL(location.href).searchParams;
      return Number(params.get('to')) - Number(params.get('from')) < long * 0.6;
    }, before);
    await settled(page, '.plot canvas');
  });

  await step('a drag with Shift moves the time', async () => {
    const from = () => Number(new URL(page.url()).searchParams.get('from'));
    const [before, long] = [from(), await lengthOf(page)];
    const plot = page.locator('.plot .u-over').nth(1);
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    await page.keyboard.down('Shift');
    await page.mouse.move(box.x + box.width * 0.3, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.4, box.y + 30, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    await page.waitForFunction((at) => Number(new URL(location.href).searchParams.get('from')) !== at, before);
    // A tenth of the width to the right shows what was a tenth earlier.
    assert.ok(Math.abs(before - from() - long / 10) < long / 50, `from ${before} to ${from()} of ${long}`);
    await settled(page, '.plot canvas');
  });

  await step('what the pointer reads does not lie over the heading', async () => {
    const other = await sibling(page);
    await other.route('**/api/v1/nodes', async (route) => {  // a heading of several lines
      const answer = await (await route.fetch()).json();
      const { vitals } = await (await other.request.get(`${url}/api/v1/vitals`)).json();
      const reason = 'watched 1/8 of the time, at random, to stay within 1 % of the host; '.repeat(4);
      for (const node of answer.nodes) {
        node.info = { ...node.info, labels: [], vitals: vitals.map(({ id }) => ({ id, state: 'VITAL_STATE_DEGRADED', reason })) };
      }
      await route.fulfill({ json: answer });
    });
    await other.goto(page.url());
    await settled(other, '.plot canvas');
    const graph = other.locator('.vital', { hasText: 'blocking' }).last();
    await graph.locator('.u-over').hover();
    const read = await graph.locator('.read').boundingBox();
    const heading = await graph.locator('h3').boundingBox();
    assert.ok(read.width > 50 && read.y >= heading.y + heading.height - 3, `${read.y} under ${heading.y + heading.height}`);
    await other.close();
  });

  await step('a click on a second explains its whole epoch', async () => {
    const other = await sibling(page);
    await other.goto(page.url().replace(/&step=[^&]*/, '') + '&step=1s');
    await settled(other, '.plot canvas');
    await other.locator('.vital', { hasText: 'blocking' }).last().locator('.u-over').click();
    await other.waitForURL(/\/selection\?/);
    assert.equal(Math.round(await lengthOf(other)), 60);
    await other.close();
  });

  await step('a time is typed as in a terminal; what is none is said in words', async () => {
    const other = await sibling(page);
    await other.goto(page.url());
    const field = other.getByLabel('At a time, local');
    await field.fill('10 minutes ago');
    await field.press('Enter');
    await other.waitForFunction((before) => location.search !== before, new URL(page.url()).search);
    const { searchParams } = new URL(other.url());
    const middle = (Number(searchParams.get('from')) + Number(searchParams.get('to'))) / 2;
    assert.ok(Math.abs(Date.now() / 1000 - 600 - middle) < 60, `${middle}`);
    await field.fill('soon');
    await field.press('Enter');
    await other.getByText('Not a time. Write 17:05, -1h').waitFor();
    await other.close();
  });

  await step('all times are of one zone, which is said', async () => {
    const there = await open(true, 'dark', { timezoneId: 'Asia/Kolkata' });
    await there.goto(`${url}/?last=3600`);
    await there.locator('header').getByText('UTC+05:30').waitFor();
    assert.match(await there.locator('header .zone').getAttribute('title'), / UTC$/);
    await there.context().close();
  });

  await step('a click on an epoch explains it: processes, as text', async () => {
    const plot = page.locator('.vital', { hasText: 'blocking' }).last().locator('.u-over');
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    await plot.click({ position: { x: box.width * 0.5, y: box.height * 0.5 } });
    await page.waitForURL(/\/selection\?/);
    assert.equal(Math.round(await lengthOf(page)), 60);
    await page.getByText(kHostile).first().waitFor();
    await harmless(page);
  });

  await step('and the stack: flame graph, single samples', async () => {
    await page.getByRole('navigation', { name: 'Vital' }).getByRole('link', { name: 'blocking' }).click();
    await page.locator('.flame canvas').waitFor();
    await page.locator('.sample summary').first().click();
    await page.getByText('<b onclick=').first().waitFor();
    await page.locator('.sample .stack li').first().waitFor();
    await settled(page, '.card');
    await harmless(page);
    await shot(page, 'selection');
  });

  await step('the stacks are to be had as a file', async () => {
    const [download] = await Promise.all([page.waitForEvent('download'),
                                          page.getByRole('link', { name: 'folded' }).click()]);
    assert.equal(download.suggestedFilename(), 'telltale-stacks.folded');
    assert.match(readFileSync(await download.path(), 'utf8'), /^.*<img src=x onerror=.*;.* [0-9]+$/m);
    const [picture] = await Promise.all([page.waitForEvent('download'),
                                         page.getByRole('link', { name: 'svg' }).click()]);
    assert.equal(picture.suggestedFilename(), 'telltale-flame.svg');
    const svg = readFileSync(await picture.path(), 'utf8');
    assert.match(svg, /^<svg .*&lt;img src=x onerror=.*<\/svg>\n$/s);
    assert.ok(!svg.includes('<img'), 'a name became an element');
    await harmless(page);
  });

  await step('the address reproduces the view', async () => {
    const other = await sibling(page);
    await other.goto(page.url());
    // Each answer comes when it comes; the page is the same once all are there.
    const wanted = JSON.stringify(await page.locator('.card').allInnerTexts());
    await other.waitForFunction((text) =>
      JSON.stringify([...document.querySelectorAll('.card')].map((card) => card.innerText)) === text, wanted);
    await other.locator('.flame canvas').waitFor();
    await harmless(other);
    await other.close();
  });

  await step('an epoch later by a key', async () => {
    const from = () => Number(new URL(page.url()).searchParams.get('from'));
    const before = from();
    await page.locator('body').press(',');
    await page.waitForFunction((at) => Number(new URL(location.href).searchParams.get('from')) === at - 60, before);
    await page.locator('body').press('.');
    await page.waitForFunction((at) => Number(new URL(location.href).searchParams.get('from')) === at, before);
    await settled(page, '.card');
  });

  await step('a frame and a process are shown in all vitals', async () => {
    const flame = page.locator('.flame canvas');
    await flame.focus();
    for (let i = 0; i < 3; ++i) await flame.press('ArrowDown');
    const other = await sibling(page);
    await other.goto(new URL(await page.locator('.flame').getByRole('link', { name: 'in all vitals' })
      .getAttribute('href'), url).href);
    await settled(other, '.across');
    await harmless(other);
    await shot(other, 'frame');
    await other.close();
    await page.locator('.top td.name a').first().click();
    await page.waitForURL(/process=/);
    await settled(page, '.across');
    await harmless(page);
    await shot(page, 'process');
    await page.locator('.chips .only').click();
  });

  await step('a process is drawn over time, beside the totals', async () => {
    const other = await sibling(page);
    await other.goto(page.url());
    await other.locator('.top td.name a').first().click();
    await other.waitForURL(/process=/);
    await other.getByRole('link', { name: 'over time' }).click();
    await other.waitForURL(/\/node\?.*process=/);
    await settled(other, '.plot canvas');
    const params = new URL(other.url()).searchParams;
    assert.ok(Number(params.get('to')) - Number(params.get('from')) >= 1800, 'an epoch alone');
    const label = params.get('process').replace(/^\d+$/, 'pid $&');
    const count = async () => (await other.locator('.vital .lines > span').allInnerTexts())
      .filter((text) => text.trim() === label).length;
    const drawn = await count();
    assert.ok(drawn > 5, `${drawn} graphs with the process`);
    await harmless(other);
    await shot(other, 'node-process');
    await other.goto(other.url());
    await settled(other, '.plot canvas');
    assert.equal(await count(), drawn);
    await other.goto(other.url().replace(/process=[^&]*/, 'process=nobody'));
    await other.getByText('Totals alone: series: no process "nobody"').waitFor();
    await other.locator('.chips .only').click();
    await other.waitForURL((at) => !at.searchParams.has('process'));
    await settled(other, '.plot canvas');
    assert.equal(await count(), 0);
    await other.close();
  });

  await step('escape sequences and what reorders or hides text are seen, not obeyed', async () => {
    const kTurned = '\u001b[2Jevil\u202etxt.exe\u009b31m\u200b<i>';
    const kSeen = '\\x1b[2Jevil\\u{202e}txt.exe\\x9b31m\\u{200b}<i>';
    const other = await sibling(page);
    const renamed = async (route) => {
      const text = JSON.stringify(await (await route.fetch()).json(), (name, value) =>
        ['name', 'exe', 'comm', 'binary', 'title'].includes(name) && typeof value === 'string' ? kTurned : value);
      await route.fulfill({ contentType: 'application/json', body: text });
    };
    for (const answer of ['top', 'samples', 'flame', 'incidents']) await other.route(`**/api/v1/${answer}`, renamed);
    await other.goto(page.url());
    await other.locator('.top td.name').getByText(kSeen).first().waitFor();
    await other.locator('.sample').getByText(kSeen).first().waitFor();
    await settled(other, '.card');
    await harmless(other);
    await other.goto(`${url}/incidents`);
    await other.locator('.incidents').getByText(kSeen).waitFor();
    const text = await other.locator('body').innerText();
    assert.doesNotMatch(text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/);
    await harmless(other);
    await other.close();
  });

  await step('it is compared with the time before', async () => {
    await page.getByRole('link', { name: 'Compare' }).first().click();
    await page.waitForURL(/\/compare\?/);
    await page.locator('.diff').first().waitFor();
    await page.locator('.flame canvas').waitFor();
    await settled(page, '.diff');
    await harmless(page);
    await shot(page, 'compare-vital');
    await page.getByRole('navigation', { name: 'Vital' }).getByRole('link', { name: 'all', exact: true }).click();
    await settled(page, '.cards .diff');
    await harmless(page);
    await shot(page, 'compare');
    await page.getByLabel('Of the node').selectOption('calm-1');
    await page.waitForURL(/anode=calm-1/);
    await settled(page, '.cards .diff');
  });

  await step('in light, too', async () => {
    const light = await open(true, 'light');
    await light.goto(page.url());
    await settled(light, '.cards .diff');
    assert.equal(await light.locator('html').getAttribute('data-theme'), 'light');
    await shot(light, 'compare-light');
    await light.goto(`${url}/node?node=evil-1&last=3600`);
    await settled(light, '.plot canvas');
    await shot(light, 'node-light');
    await harmless(light);
    // Enter explains the time on the screen, but follows a link that has the focus.
    await light.getByRole('navigation').getByRole('link', { name: 'Fleet' }).press('Enter');
    await light.waitForURL((at) => at.pathname === '/');
    await light.context().close();
  });

  await step('a live view is told each second, and when an epoch is there', async () => {
    const live = await sibling(page);
    await live.goto(`${url}/node?node=evil-1&last=60`);
    await live.getByText('● live').waitFor();
    await live.locator('.tile', { hasText: 'blocking' }).locator('polyline').waitFor();
    await live.waitForRequest('**/api/v1/series');
    await live.locator('.now').getByText('The second until').waitFor();
    // Its agent looks at it in every other second.
    await live.locator('.tile', { hasText: 'signal' }).getByText('not looked at').waitFor();
    await live.locator('.tile', { hasText: 'signal' }).getByText('signals/s').waitFor();
    await harmless(live);
    await shot(live, 'live');
    await live.goto(`${url}/node?node=calm-1&last=3600`);
    await live.getByText('node calm-1 is <i>not</i> connected').waitFor();
    await harmless(live);
    await live.close();
  });

  await step('when the stream fails the view says so and asks again and again', async () => {
    const live = await sibling(page);
    const refused = (route) => route.fulfill({ status: 429, contentType: 'application/json', body: '{"error": "too many"}' });
    await live.route('**/api/v1/live*', refused);
    await live.goto(`${url}/node?node=evil-1&last=60`);
    await live.getByText('asked anew every 5 s: the collector’s live stream').waitFor();
    await live.waitForRequest('**/api/v1/series');
    await live.unroute('**/api/v1/live*', refused);
    await live.getByText('● live').waitFor();
    await live.close();
  });

  await step('the fleet is told of epochs, too', async () => {
    const live = await sibling(page);
    await live.goto(`${url}/?last=3600`);
    await live.getByText('● live').waitFor();
    await live.close();
  });

  await step('a thousand nodes fit', async () => {
    const many = await sibling(page);
    await many.route('**/api/v1/nodes', async (route) => {
      const answer = await (await route.fetch()).json();
      const one = answer.nodes[0];
      for (let i = answer.nodes.length; i < kMany; ++i) answer.nodes.push({ ...one, name: `made-up-${i}` });
      await route.fulfill({ json: answer });
    });
    await many.goto(`${url}/?last=3600`);
    await many.getByText('1,000 nodes').first().waitFor();
    await settled(many, '.map canvas');
    const box = await many.locator('.map canvas').boundingBox();
    assert.ok(box.height >= kMany, `${box.height} pixels for ${kMany} rows`);
    await shot(many, 'thousand');
    await many.close();
  });

  await step('a failing answer says so, in its place', async () => {
    const other = await sibling(page);
    await other.route('**/api/v1/diff', (route) =>
      route.fulfill({ status: 503, contentType: 'application/json', body: '{"error": "store: disk full"}' }));
    await other.goto(page.url());
    await other.getByText('store: disk full').first().waitFor();
    assert.equal(await other.getByRole('link', { name: 'Fleet' }).count(), 1);
    await other.close();
  });

  await step('a slow answer says that it is waited for', async () => {
    const other = await sibling(page);
    let release;
    const released = new Promise((done) => (release = done));
    await other.route('**/api/v1/diff', async (route) => {
      await released;
      await route.continue();
    });
    await other.goto(page.url());
    await other.getByText('Asking the collector').first().waitFor();
    release();
    await settled(other, '.diff');
    await other.close();
  });

  await step('when the collector is gone the view stays and says so, until it is back', async () => {
    const other = await sibling(page);
    await other.clock.install();
    await other.goto(page.url());
    await settled(other, '.diff');
    const gone = (route) => route.abort();
    await other.route('**/api/v1/**', gone);
    await other.clock.fastForward(31_000);  // when it is asked again
    await other.getByText(/^Collector not reachable since .* What you see is from before/).waitFor();
    assert.ok(await other.locator('.diff').count() > 0);
    await other.unroute('**/api/v1/**', gone);
    await other.clock.fastForward(31_000);
    await other.getByText('What you see is from before').waitFor({ state: 'detached' });
    await other.close();
  });

  await step('a live node keeps its graphs then, greyed, and is no longer called reporting', async () => {
    const other = await sibling(page);
    await other.goto(`${url}/node?node=evil-1&last=900`);
    await settled(other, '.plot canvas');
    await other.locator('.facts .good').waitFor();
    const gone = (route) => route.abort();
    await other.route('**/api/v1/**', gone);
    await other.keyboard.press('-');  // another time is asked about
    await other.keyboard.press('2');
    await other.getByText('Collector not reachable since').waitFor();
    await other.locator('.gone .plot canvas').first().waitFor();
    assert.equal(await other.locator('.facts .good').count(), 0, 'still called reporting');
    await shot(other, 'gone');
    await other.unroute('**/api/v1/**', gone);
    await other.locator('.gone').waitFor({ state: 'detached' });
    await other.locator('.facts .good').waitFor();
    await other.close();
  });

  await step('a list of incidents stays then, too', async () => {
    const other = await sibling(page);
    await other.clock.install();
    await other.goto(`${url}/incidents`);
    await other.getByText('1 open incident').waitFor();
    await other.route('**/api/v1/**', (route) => route.abort());
    await other.clock.fastForward(61_000);
    await other.locator('.gone .incidents').waitFor();
    await other.close();
  });

  await step('what watches is told with its record, and a filter that was disabled with its reason', async () => {
    const other = await sibling(page);
    await other.goto(`${url}/anomalies?node=evil-1`);
    await other.getByRole('link', { name: 'Filters' }).click();
    await other.waitForURL(/\/filters/);
    const row = (text) => other.locator('.filters tr', { hasText: text });
    await row('rule_blocked').getByText('27 of 29 found (78 to 98 %), 1 false alarm').waitFor();
    await row('ewma').getByText('learning on 1 of 3 nodes').waitFor();
    await row('crowded').getByText(/flooded: more than 256 <b>marks<.b> in one epoch; tried again at/).waitFor();
    await row('crowded').getByText('7 outputs not kept').waitFor();
    await harmless(other);
    await shot(other, 'filters');
    await other.close();
  });

  await step('what is not there is said', async () => {
    const other = await sibling(page);
    const answer = await other.goto(`${url}/nonsense`);
    assert.equal(answer.status(), 404);
    await other.getByText('There is no page “/nonsense”').waitFor();
    for (const view of ['', 'anomalies', 'selection', 'compare']) {
      await other.goto(`${url}/${view}?node=evil-1&vital=cpuu&last=900`);
      await other.getByText('There is no vital “cpuu”; there are cpu, ').waitFor();
    }
    await harmless(other);
    await other.close();
  });

  await step('no view is wider than a telephone, and the keys do not stand alone in a line', async () => {
    const phone = await open(true, 'dark', { viewport: { width: 400, height: 800 } });
    const range = new URL(page.url()).searchParams;
    const when = `from=${range.get('from')}&to=${range.get('to')}`;
    const views = { 'phone-fleet': '/?last=3600', 'phone-map': '/?vital=anomalies&last=3600', 'phone-anomalies': '/anomalies',
                    'phone-incidents': '/incidents', 'phone-incident': '/incidents?incident=1', 'phone-filters': '/filters',
                    'phone-node': `/node?node=evil-1&${when}`, 'phone-live': '/node?node=evil-1&last=60',
                    'phone-selection': `/selection?node=evil-1&vital=blocking&${when}`,
                    'phone-compare': `/compare?node=evil-1&vital=blocking&${when}` };
    for (const [name, view] of Object.entries(views)) {
      await phone.goto(url + view);
      await settled(phone, 'main > section');
      const width = await phone.evaluate(() => document.documentElement.scrollWidth);
      await shot(phone, name);
      // A pixel more was seen once, of /selection; why is not known.
      assert.ok(width <= 401, `${view} is ${width} pixels wide`);
    }
    await phone.context().close();
    const other = await sibling(page);
    await other.goto(`${url}/compare?node=evil-1&last=900`);
    const top = async (where) => (await where.boundingBox()).y;
    assert.ok(Math.abs(await top(other.getByTitle('Keys (?)')) - await top(other.locator('.brand'))) < 20);
    await other.close();
  });

  await step('an expired certificate says how to get in again', async () => {
    const other = await sibling(page);
    await other.route('**/api/v1/**', (route) =>
      route.fulfill({ status: 401, contentType: 'application/json', body: '{"error": "certificate expired"}' }));
    await other.goto(page.url());
    await other.getByText('You may not read here').first().waitFor();
    await other.getByText('certificate expired').first().waitFor();
    await other.close();
  });

  await step('without a certificate one is told how to get in', async () => {
    const stranger = await open(false);
    await stranger.goto(url);
    await stranger.getByText('You may not read here').waitFor();
    assert.equal(await stranger.getByText('evil-1').count(), 0);
    await harmless(stranger);
    await shot(stranger, 'stranger');
  });
  console.log(`all ${steps} steps`);
} catch (error) {
  console.log(error.stack);
  if (page.complaints.length > 0) console.log('the browser complained:', page.complaints);
  console.log('at', page.url(), '\n', (await page.locator('body').innerText()).slice(0, 2000));
  await shot(page, 'failed');
  process.exitCode = 1;
} finally {
  await close();
}
