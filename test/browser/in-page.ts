import { mkdirSync } from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { Pool } from '../../src/engine/quote.js';
import { assertDocumentedFrame } from '../e2e/documented-answers.js';
import { startTestService, type TestService, type TestServiceOptions } from '../e2e/running-service.js';
import { decodeMessage } from '../feed/decode-message.js';
import { browserPath, launch } from './browser.js';
import { MarketMaker } from './market-maker.js';

export const DESKTOP = { width: 1440, height: 1000 };
/** Where pictures of tests are put, to look at. */
const PICTURES = process.env.QUOTEBOOK_SCREENSHOTS ?? path.join('dist', 'screenshots');

export interface Surroundings {
  readonly browser: Browser;
  /** Gives the page its key. */
  readonly service: TestService;
  readonly maker: MarketMaker;
  /** The first two of the chain's pools: of one strike and expiry. */
  readonly call: Pool;
  readonly put: Pool;
}

/** Runs tests of a file of its own in a browser, where there is one. */
export async function withPage(
  tests: (surroundings: Surroundings) => Promise<void>,
  options: TestServiceOptions = {},
): Promise<void> {
  const executable = browserPath();
  if (executable === null) return t.plan(0, 'there is no Chromium here: apt-get install chromium');
  const browser = await launch(executable);
  t.teardown(() => browser.close());
  const service = await startTestService({ page: { givesKey: true }, limits: { wsHeartbeatMs: 200 }, ...options });
  t.teardown(() => service.stop());
  const [call, put] = service.chain.pools;
  if (call === undefined || put === undefined) throw new Error('a chain has pools');
  await tests({ browser, service, maker: new MarketMaker(service), call, put });
}

interface Opening {
  readonly service: TestService;
  readonly options: BrowserContextOptions;
  /** The one that the page's address names; without one nothing is waited for. */
  readonly pool?: Pool;
  /** Addresses that may be 404, as what they name is hidden while the page reads it. */
  readonly hides?: RegExp;
}

/**
 * Uses the page in a browser window of its own. Whatever goes wrong in it fails the test; so does a word to another
 * server.
 */
export async function inPage(
  t: Test,
  browser: Browser,
  { service: { httpUrl, chain }, options, pool, hides }: Opening,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext(options);
  t.teardown(() => context.close());
  const page = await context.newPage();
  const strangers: string[] = [];
  const problems: string[] = [];
  page.on('request', (request) => {
    // The node of the local chain signs for its funded accounts.
    const isOwn = [httpUrl, chain.rpcUrl].some((url) => request.url().startsWith(url));
    if (!isOwn) strangers.push(request.url());
  });
  page.on('websocket', (socket) => {
    socket.on('framereceived', ({ payload }) => {
      const frame: unknown = typeof payload === 'string' ? JSON.parse(payload) : decodeMessage(payload);
      try {
        assertDocumentedFrame(frame, 'v2');
      } catch (error) {
        problems.push(String(error));
      }
    });
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    const isRefusal = /status of (401 \(Unauthorized\)|403 \(Forbidden\)|503 \(Service Unavailable\))$/.test(
      message.text(),
    );
    // A vault trades some options alone, and refuses a price for others.
    const isOfVault = message.location().url.includes('/vaults/quote');
    const isHidden = message.text().endsWith('404 (Not Found)') && hides?.test(message.location().url) === true;
    if (message.type() === 'error' && !isRefusal && !isOfVault && !isHidden) problems.push(message.text());
  });
  await page.goto(`${httpUrl}/${pool === undefined ? '' : `#${pool.poolAddress}`}`);
  if (pool !== undefined) {
    await page.waitForSelector('#connection[data-state=OPEN]');
    await page.waitForSelector('#pool[aria-busy=false]', { state: 'attached' });
  }
  await use(page);
  t.strictSame(strangers, [], 'nothing is fetched from elsewhere');
  t.strictSame(problems, [], 'nothing went wrong in the page');
}

export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.waitForFunction(() => document.getAnimations().length === 0);
  await page.screenshot({ path: path.join(PICTURES, name) });
}

/** Replaces the answer to GET /pools: `change` receives the pools and the number of the request, from 1. */
export async function changePools(
  page: Page,
  change: (listed: readonly Pool[], time: number) => readonly Pool[],
): Promise<void> {
  let times = 0;
  await page.route(/\/pools(\?|$)/, async (route) => {
    times += 1;
    const response = await route.fetch();
    await route.fulfill({ response, json: change((await response.json()) as readonly Pool[], times) });
  });
}

/** Connects the wallet of the local chain's account with this number. */
export async function connect(page: Page, account: number): Promise<void> {
  await page.click('#wallet');
  await page.click(`#wallets-list li:nth-child(${account + 1}) button`);
  await page.waitForSelector('#wallets', { state: 'hidden' });
}

/** Gives the page another key, under "Settings". */
export async function giveKey(page: Page, key: string): Promise<void> {
  await page.click('header summary');
  await page.click('#change-key');
  await page.fill('#key', key);
  await page.click('#connect button[value=connect]');
  await page.click('header summary', { force: true });
}

/** The page's wallet refuses the second transaction from now on, as a user may. */
export async function refuseSecondTransaction(page: Page, rpcUrl: string): Promise<void> {
  let sent = 0;
  await page.route(rpcUrl, async (route) => {
    const { id, method } = route.request().postDataJSON() as { readonly id: number; readonly method: string };
    if (method === 'eth_sendTransaction') sent += 1;
    if (method !== 'eth_sendTransaction' || sent !== 2) return route.fallback();
    return route.fulfill({ json: { jsonrpc: '2.0', id, error: { code: 4001, message: 'The user refuses' } } });
  });
}

/** Waits until an element has a text that holds this. */
export async function until(page: Page, selector: string, text: string): Promise<void> {
  await page.waitForFunction(
    ([where = '', what = '']) => document.querySelector(where)?.textContent.includes(what) === true,
    [selector, text],
  );
}

/** Types into fields; by their ids. */
export async function fillIn(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [id, value] of Object.entries(values)) await page.fill(`#${id}`, value);
}
