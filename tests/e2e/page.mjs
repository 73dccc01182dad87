// Pages of the collector at TELLTALE_URL in headless Chromium, what may never happen on one, and pictures of them.
// TELLTALE_SHOTS: a directory for the pictures.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { chromium } = createRequire(new URL('../../collector/web/ui/package.json', import.meta.url))('playwright-core');
export const url = process.env.TELLTALE_URL;
const shots = process.env.TELLTALE_SHOTS;
const kWait = 60_000;  // for the browser on a busy machine; nothing is measured by it

if (shots) mkdirSync(shots, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'], timeout: kWait });

// `certificate`: 'operator', true for a viewer's, false for none.
export async function open(certificate, scheme = 'dark', more = {}) {
  const own = certificate === 'operator' ? 'TELLTALE_OPERATOR' : 'TELLTALE_TLS';
  const context = await browser.newContext({
    ignoreHTTPSErrors: true, viewport: { width: 1400, height: 900 }, colorScheme: scheme, ...more,
    clientCertificates: certificate
      ? [{ origin: url, certPath: process.env[`${own}_CERT`], keyPath: process.env[`${own}_KEY`] }] : [],
  });
  context.setDefaultTimeout(kWait);
  return watched(await context.newPage());
}

// What may never happen on a page, whatever it shows. Answers that failed are judged by the step that wants them.
function watched(page) {
  page.complaints = [];
  page.on('console', (message) => message.type() === 'error' && !message.text().startsWith('Failed to load resource')
    && page.complaints.push(message.text()));
  page.on('pageerror', (error) => page.complaints.push(error.stack));
  page.on('request', (request) => request.url().startsWith(url) || page.complaints.push(`asked ${request.url()}`));
  page.on('dialog', (dialog) => page.complaints.push(`dialog ${dialog.message()}`));
  return page;
}

export async function sibling(page) {
  return watched(await page.context().newPage());
}

// By the browser's own protocol, for playwright would inject a style sheet, which the policy refuses.
export async function shot(page, name) {
  if (!shots) return;
  await page.evaluate(() => scrollTo(0, 0));
  const session = await page.context().newCDPSession(page);
  const { cssContentSize: size } = await session.send('Page.getLayoutMetrics');
  const { data } = await session.send('Page.captureScreenshot', {
    captureBeyondViewport: true, clip: { x: 0, y: 0, width: size.width, height: Math.min(size.height, 4000), scale: 1 } });
  writeFileSync(`${shots}/${name}.png`, Buffer.from(data, 'base64'));
  await session.detach();
}

// What fits a page of the guide: the top of the view, small.
export async function picture(page, name) {
  if (!shots) return;
  const before = page.viewportSize();
  await page.setViewportSize({ width: 1040, height: 560 });
  await settled(page, 'main');
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', {});
  writeFileSync(`${shots}/guide-${name}.png`, Buffer.from(data, 'base64'));
  await session.detach();
  await page.setViewportSize(before);
}

// Names must be seen as they are, and nothing of them may have become an element or have run.
export async function harmless(page) {
  assert.equal(await page.locator('img, main script, main b[onclick]').count(), 0, 'a name became an element');
  assert.equal(await page.title(), 'Telltale', 'a name was run');
  assert.deepEqual(page.complaints, [], 'the browser complained');
}

// Nothing is being asked any more, so what is seen stays.
export async function settled(page, shown) {
  await page.locator(shown).first().waitFor();
  // What was just done has reached the screen.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.waitForFunction(() => document.querySelector('[aria-busy=true], p.state') === null);
}

export async function close() {
  await browser.close();
}
