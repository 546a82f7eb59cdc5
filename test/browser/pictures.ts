// Takes the pictures of the documents: the page with a market, at three sizes, light and dark (`npm run pictures`).
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import type { PostedQuote } from '../../src/client/node.js';
import type { Pool } from '../../src/engine/quote.js';
import { startTestService, type TestService } from '../e2e/running-service.js';
import { browserPath, launch } from './browser.js';
import { connect, until } from './in-page.js';
import { MarketMaker } from './market-maker.js';

const DIRECTORY = path.join('docs', 'images');
const QUALITY = 80;
const SIZES = [
  { name: 'desktop', viewport: { width: 1440, height: 1000 } },
  { name: 'tablet', viewport: { width: 820, height: 1180 } },
  { name: 'phone', viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
] as const;
const SCHEMES = ['light', 'dark'] as const;
const ONE = 10n ** 18n;
const LEVELS = 14;
/** A year. */
const VOLATILITY = 0.62;
const YEAR_SECONDS = 31_557_600;

const executable = browserPath();
if (executable === null) throw new Error('There is no Chromium here: apt-get install chromium');
const service = await startTestService({ page: { givesKey: true }, limits: { wsHeartbeatMs: 200 }, keepsLog: true });
const browser = await launch(executable);
try {
  const shown = await makeMarket(service);
  await mkdir(DIRECTORY, { recursive: true });
  for (const size of SIZES) for (const colorScheme of SCHEMES) await take(browser, service, shown, size, colorScheme);
} finally {
  await browser.close();
  await service.stop();
}

/** Quotes around the value of each option, and trades in the one that is resolved to. */
async function makeMarket(running: TestService): Promise<Pool> {
  const maker = new MarketMaker(running);
  const { pools } = running.chain;
  const shown = pools.slice(10).find(({ poolKey }) => poolKey.isCallPool && poolKey.strike === 1800n * ONE);
  if (shown === undefined) throw new Error('A chain has a call at 1,800');
  for (const [n, pool] of pools.entries()) {
    const value = valueOf(pool);
    const quotes: Promise<PostedQuote>[] = [];
    for (let level = 0; value > ONE / 10_000n && level < LEVELS; level++) {
      const away = BigInt(40 + level * 45 + ((level * level * 7) % 31));
      const size = (ONE * BigInt(1 + ((level * 7 + n * 3) % 9))) / 4n;
      quotes.push(maker.sign(pool, 'bid', (value * (10_000n - away)) / 10_000n, size));
      quotes.push(maker.sign(pool, 'ask', (value * (10_000n + away)) / 10_000n, size));
    }
    if (quotes.length > 0) await maker.post(await Promise.all(quotes));
  }
  for (const part of [8n, 5n, 3n, 7n]) await maker.fill(shown, ONE / part);
  await maker.openRfq(shown, 5n * ONE, Math.floor(Date.now() / 1000) + 900);
  return shown;
}

/** By Black and Scholes without interest, for a spot price between the strikes: as on the wire, 1e-18. */
function valueOf({ poolKey: { strike, maturity, isCallPool } }: Pool): bigint {
  const at = Number(strike / ONE);
  const spot = at > 10_000 ? 30_000 : 1_800;
  const spread = VOLATILITY * Math.sqrt((maturity - Date.now() / 1000) / YEAR_SECONDS);
  const d1 = Math.log(spot / at) / spread + spread / 2;
  const call = spot * normal(d1) - at * normal(d1 - spread);
  const price = isCallPool ? call / spot : (call - spot + at) / at;
  return BigInt(Math.round(price * 1e9)) * 10n ** 9n;
}

/** Of the standard normal distribution, to 1e-7 (Abramowitz and Stegun, 26.2.17). */
function normal(x: number): number {
  const k = 1 / (1 + 0.2316419 * Math.abs(x));
  const series = [1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.31938153];
  const tail = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * series.reduce((sum, each) => (sum + each) * k, 0);
  return x > 0 ? 1 - tail : tail;
}

async function take(
  from: Browser,
  { httpUrl }: TestService,
  pool: Pool,
  { name, ...options }: (typeof SIZES)[number],
  colorScheme: (typeof SCHEMES)[number],
): Promise<void> {
  const context = await from.newContext({ ...options, colorScheme, timezoneId: 'UTC', reducedMotion: 'reduce' });
  const page = await context.newPage();
  await page.goto(`${httpUrl}/#${pool.poolAddress}`);
  await page.waitForSelector('#pool[aria-busy=false]', { state: 'attached' });
  await connect(page, 4);
  await until(page, '#positions-rows', 'long');
  await until(page, '#ticket-pays', '$');
  await until(page, '#feed', 'verified');
  await until(page, '#ladder-rows .ask:nth-child(9)', '$');
  if (name === 'phone') await page.click('#tabs button:has-text("Book")');
  const devtools = await context.newCDPSession(page);
  const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  await writeFile(path.join(DIRECTORY, `page-${name}-${colorScheme}.webp`), Buffer.from(data, 'base64'));
  await context.close();
}
