import { mkdirSync } from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import type { Browser, BrowserContextOptions, Page, WebSocketRoute } from 'playwright-core';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { assertDocumentedFrame } from '../e2e/documented-answers.js';
import { startTestService, type TestService } from '../e2e/running-service.js';
import { decodeMessage } from '../feed/decode-message.js';
import { browserPath, launch } from './browser.js';
import { MarketMaker } from './market-maker.js';

const ONE = 10n ** 18n;
const DESKTOP = { width: 1440, height: 1000 };
const PHONE = { width: 390, height: 844 };
/** Where pictures of the page are put; those of the README are made with `docs/images`. */
const PICTURES = process.env.QUOTEBOOK_SCREENSHOTS ?? path.join('dist', 'screenshots');

const executable = browserPath();
if (executable === null) {
  t.plan(0, 'there is no Chromium here: apt-get install chromium');
} else {
  mkdirSync(PICTURES, { recursive: true });
  const browser = await launch(executable);
  t.teardown(() => browser.close());
  await testPage(browser);
}

async function testPage(browser: Browser): Promise<void> {
  const service = await startTestService({ page: { givesKey: true }, limits: { wsHeartbeatMs: 200 } });
  t.teardown(() => service.stop());
  const { pools } = service.chain;
  const ofOneExpiry = pools.slice(0, 10);
  const [call, put] = pools;
  if (call === undefined || put === undefined) throw new Error('a chain has pools');
  const maker = new MarketMaker(service);

  await t.test('the chain, the ladder, the chart and the tape show what is in the book', async (t) => {
    const options = { viewport: DESKTOP, colorScheme: 'light' } as const;
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await maker.quote(ofOneExpiry, 6);
      await maker.requestQuotes(call, 3n * ONE);
      await maker.fill(call, ONE / 4n);
      await until(page, '#tape-rows', 'Fill');
      const cell = (pool: Hex, side: string) => page.textContent(`td[data-side=${side}] [data-pool="${pool}"]`);
      t.equal(await cell(call.poolAddress, 'bid'), '0.0290');
      t.equal(await cell(call.poolAddress, 'ask'), '0.0310');
      t.equal(await cell(put.poolAddress, 'bid'), '56.00', 'of a put, in the quote token');
      t.match(await page.textContent('#pool-title'), /testWETH .* 1600 C/);
      await until(page, '#ladder-rows .ask:nth-child(9)', '0.75');
      t.match(await page.textContent('#ladder-rows .spread'), 'spread 0.0020');
      t.match(await page.getAttribute('#depth .bid', 'd'), /^M.*V240Z$/);
      t.match(await page.textContent('#tape-rows'), /RFQ/);
      t.equal(await page.textContent('#connection'), 'live');
      await until(page, '#settlement', 'block');
      await picture(page, 'page-light.png');
    });
  });

  await t.test('choosing another option shows its book, and its address is kept', async (t) => {
    const options = { viewport: DESKTOP, colorScheme: 'dark' } as const;
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await page.click(`td[data-side=ask] [data-pool="${put.poolAddress}"]`);
      await until(page, '#ladder-rows .ask:nth-child(9)', '62.40');
      t.equal(new URL(page.url()).hash, `#${put.poolAddress}`);
      await page.click('#pairs button:nth-child(2)');
      t.match(await page.textContent('#call-unit'), /Calls, WBTC/);
      await page.click('#pairs button:nth-child(1)');
      await picture(page, 'page-dark.png');
    });
  });

  await t.test('on a phone everything is there, and nothing sticks out', async (t) => {
    const options = {
      viewport: PHONE,
      deviceScaleFactor: 2,
      isMobile: true,
      hasTouch: true,
      colorScheme: 'light',
    } as const;
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await page.waitForFunction(() => document.querySelector('#ladder-rows .bid')?.textContent !== '');
      const { width, tooWide } = await page.evaluate(() => ({
        width: document.documentElement.scrollWidth,
        tooWide: [...document.querySelectorAll('main *')]
          .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
          .map(({ id, tagName }) => `${tagName} ${id}`),
      }));
      t.equal(width, PHONE.width);
      t.strictSame(tooWide, []);
      await picture(page, 'page-phone.png');
    });
  });

  await t.test('nothing moves while quotes, fills and requests come in', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: call }, async (page) => {
      await page.evaluate(() => {
        const shifts: number[] = [];
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
        }).observe({ type: 'layout-shift' });
        Object.assign(globalThis, { shifts });
      });
      for (let round = 1n; round <= 6n; round++) {
        await maker.quote(ofOneExpiry, 3);
        await maker.ask(call, ONE / 20n + round, round * 12_345n * ONE);
        await maker.fill(call, ONE / 100n);
        await maker.requestQuotes(put, round * ONE);
      }
      await page.waitForFunction(() => document.querySelectorAll('#tape-rows tr:last-child td')[1]?.textContent !== '');
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      t.strictSame(await page.evaluate(() => (globalThis as unknown as { shifts: number[] }).shifts), []);
    });
  });

  await t.test('a pool that is not listed is sought once, however much is told of it', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: put }, async (page) => {
      let lists = 0;
      await page.route(/\/pools(\?|$)/, async (route) => {
        lists += 1;
        const response = await route.fetch();
        const listed = (await response.json()) as readonly Pool[];
        const json = listed.filter(({ poolAddress }) => poolAddress !== call.poolAddress);
        t.equal(json.length, listed.length - 1);
        await route.fulfill({ response, json });
      });
      await page.reload();
      await page.waitForSelector('#pool[aria-busy=false]');
      t.equal(lists, 1);
      for (let n = 1n; n <= 5n; n++) await maker.ask(call, ONE / 20n + n, ONE);
      await maker.ask(put, ONE / 2n, 654_321n * ONE);
      await until(page, '#tape-rows', '654.3k');
      t.equal(lists, 2);
    });
  });

  await t.test('the tape names a pool that is listed later, and one that a request names by its key', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: put }, async (page) => {
      let lists = 0;
      await page.route(/\/pools(\?|$)/, async (route) => {
        lists += 1;
        const response = await route.fetch();
        const listed = (await response.json()) as readonly Pool[];
        const isLate = ({ poolAddress }: Pool): boolean => poolAddress === call.poolAddress;
        await route.fulfill({ response, json: lists === 1 ? listed.filter((pool) => !isLate(pool)) : listed });
      });
      await page.reload();
      await page.waitForSelector('#pool[aria-busy=false]');
      await maker.ask(call, ONE / 2n, 765_432n * ONE);
      await until(page, '#tape-rows', '765.4k');
      await page.waitForFunction(() => document.querySelector('#tape-rows tr')?.textContent.includes('1600 C'));
      t.equal(lists, 2);
      await maker.requestQuotesByKey(put, 876_543n * ONE);
      await until(page, '#tape-rows', '876.5k');
      t.match(await page.textContent('#tape-rows tr'), /RFQtestWETH .* 1600 P/);
    });
  });

  await t.test('a page whose first answers were errors is whole as soon as they are not', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: call }, async (page) => {
      const failed: string[] = [];
      /** Fails the first call of each. */
      await page.route(/\/(page\.json|pools)$/, (route) => {
        const { pathname } = new URL(route.request().url());
        if (failed.includes(pathname)) return route.continue();
        failed.push(pathname);
        return route.fulfill({ status: 503, json: { message: 'The chains have not been reached yet' } });
      });
      await page.clock.install();
      await page.reload();
      await page.clock.runFor(1_000);
      await page.waitForSelector('#connection[data-state=OPEN]');
      t.equal(await page.textContent('#pool-title'), 'No pool chosen');
      await page.clock.runFor(30_000);
      await until(page, '#pool-title', '1600 C');
      await page.waitForSelector('#pool[aria-busy=false]');
      t.strictSame(failed, ['/page.json', '/pools']);
    });
  });

  await t.test(
    'strikes rise, expiries follow each other, and an option that is not listed cannot be chosen',
    async (t) => {
      await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: call }, async (page) => {
        await page.route(/\/pools(\?|$)/, async (route) => {
          const response = await route.fetch();
          const listed = (await response.json()) as readonly Pool[];
          const isListed = ({ poolAddress }: Pool): boolean => poolAddress !== put.poolAddress;
          await route.fulfill({ response, json: listed.filter(isListed).reverse() });
        });
        await page.reload();
        await page.waitForSelector('#pool[aria-busy=false]');
        const texts = (selector: string): Promise<string[]> => page.locator(selector).allTextContents();
        t.strictSame(await texts('#chain-rows th'), ['1600', '1700', '1800', '1900', '2000']);
        const expiries = await texts('#expiries button');
        const days = expiries.map((expiry) => Date.parse(expiry.replace(/(\d\d)(\w{3})(\d\d)/, '$1 $2 20$3')));
        t.strictSame(
          days,
          [...days].sort((a, b) => a - b),
        );
        t.equal(days.length, 3);
        const ofFirstRow = page.locator('#chain-rows tr:first-child button');
        const isDisabled = await ofFirstRow.evaluateAll((all) => all.map((button) => button.hasAttribute('disabled')));
        t.strictSame(isDisabled, [false, false, true, true]);
        t.equal(await page.textContent('#expiries [aria-pressed=true]'), expiries[0]);
        t.equal(await page.locator('#chain-rows td[data-chosen]').count(), 4);
      });
    },
  );

  await t.test('amounts are short, and none that is there looks like nothing', async (t) => {
    const [, , other] = ofOneExpiry;
    if (other === undefined) throw new Error('a chain has pools');
    await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: other }, async (page) => {
      await maker.ask(other, ONE / 1_000_000n, (12_345n * ONE) / 100n);
      await until(page, '#ladder-rows .ask:nth-child(9)', '0.00000100');
      const best = page.locator('#ladder-rows .ask:nth-child(9) td');
      t.strictSame(await best.allTextContents(), ['0.00000100', '123', '123', '1']);
      await maker.ask(other, ONE / 1_000_000n, ONE / 1_000n);
      await until(page, '#ladder-rows .ask:nth-child(9)', '1232');
      await maker.ask(other, ONE / 2_000_000n, ONE / 1_000n);
      await until(page, '#ladder-rows .ask:nth-child(9)', '0.00000050');
      t.strictSame(await best.allTextContents(), ['0.00000050', '0.00100000', '0.00100000', '1']);
      const second = page.locator('#ladder-rows .ask:nth-child(8) td');
      t.strictSame((await second.allTextContents()).slice(0, 2), ['0.00000100', '123']);
    });
  });

  await t.test('while the connection is lost, what is shown of the chains and the pool counts as old', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP } }, async (page) => {
      const sockets: WebSocketRoute[] = [];
      await page.routeWebSocket('**/*', (socket) => {
        // Only the first gets through.
        if (sockets.push(socket) === 1) socket.connectToServer();
        else void socket.close();
      });
      await page.reload();
      await page.waitForSelector('#chains[aria-busy=false]');
      await page.waitForSelector('#pool[aria-busy=false]');
      await sockets[0]?.close();
      await page.waitForSelector('#connection[data-state=WAITING]');
      const busy = (id: string): Promise<string | null> => page.getAttribute(id, 'aria-busy');
      t.strictSame([await busy('#chains'), await busy('#pool'), await busy('#chain')], ['true', 'true', 'true']);
    });
  });

  await t.test('the address names a pool, in any letter case and whenever it changes', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: put }, async (page) => {
      const upper = (pool: Hex): string => `#0x${pool.slice(2).toUpperCase()}`;
      await page.goto(`${service.httpUrl}/${upper(call.poolAddress)}`);
      await until(page, '#pool-title', '1600 C');
      await page.goto(`${service.httpUrl}/${upper(put.poolAddress)}`);
      await page.reload();
      await until(page, '#pool-title', '1600 P');
    });
  });

  await t.test('by keyboard each price says which option and side it is of, and whether it is chosen', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: put }, async (page) => {
      const button = page.locator(`td[data-side=ask] [data-pool="${call.poolAddress}"]`);
      const price = (await button.textContent()) ?? '';
      t.equal(await button.getAttribute('aria-current'), 'false');
      await button.focus();
      t.match(
        await page.locator(':focus').getAttribute('aria-label'),
        new RegExp(`^testWETH \\w+ 1600 C ask ${price}$`),
      );
      await page.keyboard.press('Enter');
      await until(page, '#pool-title', '1600 C');
      t.equal(await button.getAttribute('aria-current'), 'true');
    });
  });

  await t.test('without a local set-up a key is asked for, and asked for again when it is wrong', async (t) => {
    const plain = await startTestService({ page: { givesKey: false }, chain: service.chain });
    t.teardown(() => plain.stop());
    await inPage(t, browser, { service: plain, options: { viewport: DESKTOP } }, async (page) => {
      await page.fill('#key', 'half a k');
      await page.press('#key', 'Escape');
      t.equal(await page.evaluate(() => sessionStorage.length), 0, 'a dialog that is left gives no key');
      await page.click('#change-key');
      t.equal(await page.inputValue('#key'), '');
      await page.fill('#key', 'qb_not_a_key');
      await page.press('#key', 'Enter');
      await page.waitForFunction(() => document.querySelector('#connect-problem')?.textContent !== '');
      t.equal(await page.textContent('#connect-problem'), 'The server does not know this key.');
      await page.fill('#key', plain.apiKey);
      await page.click('#connect button');
      await page.waitForSelector('#connection[data-state=OPEN]');
      await page.reload();
      await page.waitForSelector('#connection[data-state=OPEN]');
      t.pass('the tab keeps the key');
    });
  });
}

interface Opening {
  readonly service: TestService;
  readonly options: BrowserContextOptions;
  /** The one that the page's address names; without one nothing is waited for. */
  readonly pool?: Pool;
}

/**
 * Uses the page in a browser window of its own. Whatever goes wrong in it fails the test; so does a word to another
 * server.
 */
async function inPage(
  t: Test,
  browser: Browser,
  { service: { httpUrl }, options, pool }: Opening,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext(options);
  t.teardown(() => context.close());
  const page = await context.newPage();
  const strangers: string[] = [];
  const problems: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(httpUrl)) strangers.push(request.url());
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
    const isRefusal = /status of (401 \(Unauthorized\)|503 \(Service Unavailable\))$/.test(message.text());
    if (message.type() === 'error' && !isRefusal) problems.push(message.text());
  });
  await page.goto(`${httpUrl}/${pool === undefined ? '' : `#${pool.poolAddress}`}`);
  if (pool !== undefined) {
    await page.waitForSelector('#connection[data-state=OPEN]');
    await page.waitForSelector('#pool[aria-busy=false]');
  }
  await use(page);
  t.strictSame(strangers, [], 'nothing is fetched from elsewhere');
  t.strictSame(problems, [], 'nothing went wrong in the page');
}

async function picture(page: Page, name: string): Promise<void> {
  await page.waitForFunction(() => document.getAnimations().length === 0);
  await page.screenshot({ path: path.join(PICTURES, name) });
}

/** Waits until an element has a text that holds this. */
async function until(page: Page, selector: string, text: string): Promise<void> {
  await page.waitForFunction(
    ([where = '', what = '']) => document.querySelector(where)?.textContent.includes(what) === true,
    [selector, text],
  );
}
