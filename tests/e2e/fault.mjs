// What an engineer does in the browser while a program burns a CPU on a watched node, at the collector of TELLTALE_URL:
// from what was unusual to the process and the function, compared with the day before. TELLTALE_CULPRIT: what the
// program is called, as the kernel keeps it. Each step waits for what it needs, never for a time.
import assert from 'node:assert/strict';
import { close, harmless, open, picture, settled, shot, url } from './page.mjs';

const kPatience_ms = 150_000;  // an agent may start slowly, and filters then wait for what comes late
const culprit = process.env.TELLTALE_CULPRIT;
const page = await open(true);
page.setDefaultTimeout(kPatience_ms);

async function seen(name) {
  await harmless(page);
  await shot(page, `fault-${name}`);
  await picture(page, name);
  console.log(`ok ${name}`);
}

try {
  await page.goto(`${url}/node?node=web-1&last=900`);
  await page.getByText('● live').waitFor();
  await page.locator('.tile', { hasText: 'cpu' }).first().getByText('CPUs').waitFor();
  // For the picture: a line needs some seconds in a row, which a busy machine may not have.
  await page.waitForFunction(() => [...document.querySelectorAll('.tile polyline')].some((line) =>
    line.getAttribute('points').split(' ').length > 5), null, { timeout: 15_000 }).catch(() => undefined);
  await settled(page, '.plot canvas');
  await seen('live');

  await page.goto(`${url}/anomalies?last=900&node=web-1&vital=cpu`);
  const found = page.locator('.anomalies tbody tr').first();
  await found.waitFor();
  await found.locator('summary').click();
  await found.getByText('judged by').waitFor();
  await seen('anomalies');
  await page.goto(`${url}/?last=3600`);
  await settled(page, '.map canvas');
  await seen('fleet');
  await page.goto(`${url}/incidents`);
  await page.locator('.incidents a').first().click();
  await settled(page, '.incident');
  await seen('incident');

  await page.goto(`${url}/anomalies?last=900&node=web-1&vital=cpu`);
  await found.getByRole('link').first().click();
  await page.waitForURL(/\/selection\?/);
  assert.equal(new URL(page.url()).searchParams.get('vital'), 'cpu');
  // The first unusual epoch may be one in which it had only begun.
  await page.getByRole('button', { name: '15 m' }).click();
  await page.locator('.top td.name').getByText(culprit).first().waitFor();
  await settled(page, '.flame canvas');
  await seen('selection');
  await page.locator('.top td.name').getByText(culprit).first().click();
  await page.waitForURL(/process=/);
  await page.getByText('spin_forever').first().waitFor();
  await settled(page, '.across');
  await seen('process');

  const params = new URL(page.url()).searchParams;
  await page.goto(`${url}/selection?node=web-1&last=${params.get('last')}`);
  const host = page.locator('.card.host');
  await host.getByText('memory available').waitFor();
  await host.getByText('cpu idle', { exact: true }).waitFor();
  await host.scrollIntoViewIfNeeded();
  await seen('host');
  await page.goto(`${url}/compare?node=web-1&vital=cpu&last=${params.get('last')}&against=day`);
  await page.locator('.diff').getByText(culprit).first().waitFor();
  await settled(page, '.flame canvas');
  await seen('compare');
  console.log('found');
} catch (error) {
  console.log(error.stack);
  if (page.complaints.length > 0) console.log('the browser complained:', page.complaints);
  console.log('at', page.url(), '\n', (await page.locator('body').innerText()).slice(0, 3000));
  await shot(page, 'fault-failed');
  process.exitCode = 1;
} finally {
  await close();
}
