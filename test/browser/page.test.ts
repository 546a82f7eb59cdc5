import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import t from 'tap';
import type { Page, WebSocketRoute } from 'playwright-core';
import type { Hex } from '../../src/engine/quote.js';
import { startTestService } from '../e2e/running-service.js';
import { connect, DESKTOP, inPage, picture, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;
const PHONE = { width: 390, height: 844 };

interface Axe {
  readonly axe: {
    run(): Promise<{ violations: { readonly id: string; readonly nodes: { readonly html: string }[] }[] }>;
  };
}

/** An entry of the browser's Layout Instability API, and what it moved. */
interface LayoutShift {
  readonly value: number;
  readonly sources: readonly {
    readonly node: Node | null;
    readonly previousRect: DOMRectReadOnly;
    readonly currentRect: DOMRectReadOnly;
  }[];
}

await withPage(async ({ browser, service, maker, call, put }) => {
  const ofOneExpiry = service.chain.pools.slice(0, 10);
  /** For the debugger, which the page's policy for scripts does not bind. */
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

  await t.test('the chain, the ladder, the chart and the tape show what is in the book', async (t) => {
    const options = { viewport: DESKTOP, colorScheme: 'light' } as const;
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await maker.quote(ofOneExpiry, 6);
      await maker.requestQuotes(call, 3n * ONE);
      await maker.fill(call, ONE / 4n);
      await until(page, '#tape-rows', 'Fill');
      const cell = (pool: Hex, side: string) => page.textContent(`td[data-side=${side}] [data-pool="${pool}"]`);
      t.equal(await cell(call.poolAddress, 'bid'), '0.02900');
      t.equal(await cell(call.poolAddress, 'ask'), '0.03100');
      t.equal(await cell(put.poolAddress, 'bid'), '56.00', 'of a put, in the quote token');
      t.match(await page.textContent('#pool-title'), /testWETH .* 1600 C/);
      await until(page, '#ladder-rows .ask:nth-child(9)', '0.75');
      t.match(await page.textContent('#ladder-rows .spread'), 'spread 0.00200');
      t.match(await page.getAttribute('#depth .bid', 'd'), /^M.*H0V240Z$/, 'to the left edge');
      const ask = (await page.getAttribute('#depth .ask', 'd')) ?? '';
      t.match(ask, /^M.*H400V240Z$/, 'to the right edge');
      const heights = [...ask.matchAll(/V([\d.]+)/g)].map(([, y]) => Number(y)).slice(0, -1);
      t.equal(heights.length, 6);
      t.ok(
        heights.every((y, i) => i === 0 || y < (heights[i - 1] ?? 0)),
        'each level adds to the one before',
      );
      t.match(await page.textContent('#tape-rows'), /RFQ/);
      t.equal(await page.textContent('#connection'), 'live');
      await until(page, '#settlement', 'block');
      await picture(page, 'page-light.png');
    });
  });

  await t.test('choosing another option shows its book, and its address is kept', async (t) => {
    const options = { viewport: DESKTOP, colorScheme: 'dark' } as const;
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      t.match(await page.textContent('#tape-rows'), /Quote/, 'what is in the book already');
      let sockets = 0;
      page.on('websocket', () => (sockets += 1));
      await page.click(`td[data-side=bid] [data-pool="${call.poolAddress}"]`);
      await page.click(`td[data-side=ask] [data-pool="${put.poolAddress}"]`);
      await until(page, '#ladder-rows .ask:nth-child(9)', '62.40');
      t.equal(new URL(page.url()).hash, `#${put.poolAddress}`);
      await page.click('#pairs button:nth-child(2)');
      t.match(await page.textContent('#call-unit'), /Calls, WBTC/);
      await page.click('#pairs button:nth-child(1)');
      t.equal(sockets, 0, 'the one connection is enough');
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
      for (const tab of ['Book', 'Trade', 'Account', 'Requests', 'Activity', 'Options']) {
        await page.click(`#tabs button:has-text("${tab}")`);
        const { width, tooWide, tooSmall } = await page.evaluate(() => ({
          width: document.documentElement.scrollWidth,
          tooWide: [...document.querySelectorAll('main *')]
            .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > innerWidth + 1)
            .map(({ id, tagName }) => `${tagName} ${id}`),
          tooSmall: [...document.querySelectorAll('button, select, summary, input:not([type=checkbox], [type=radio])')]
            .filter((element) => element.checkVisibility() && element.getBoundingClientRect().height < 44)
            .map(({ id, tagName, textContent }) => `${tagName} ${id} ${textContent}`),
        }));
        t.equal(width, PHONE.width, tab);
        t.strictSame(tooWide, [], tab);
        t.strictSame(tooSmall, [], tab);
      }
      await picture(page, 'page-phone.png');
    });
  });

  await t.test('the header has one row where there is room, else two, and cuts nothing off', async (t) => {
    for (const [width, expected] of [
      [1440, 1],
      [820, 2],
      [390, 2],
    ] as const) {
      await inPage(t, browser, { service, options: { viewport: { ...PHONE, width } }, pool: call }, async (page) => {
        await connect(page, 4);
        const { rows, cut } = await page.evaluate(() => {
          const boxes = [...document.querySelectorAll('header > *')].map((element) => element.getBoundingClientRect());
          // A row begins where everything before has ended.
          const begins = ({ top }: DOMRect): boolean => boxes.every((box) => box.top >= top || box.bottom <= top);
          const texts = [...document.querySelectorAll('header dd, #connection, #wallet')];
          return {
            rows: new Set(boxes.filter(begins).map(({ top }) => Math.round(top))).size,
            cut: texts
              .filter((each) => each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight + 1)
              .map(({ id }) => id),
          };
        });
        t.equal(rows, expected, `${width} wide`);
        t.strictSame(cut, [], `${width} wide`);
      });
    }
  });

  await t.test('automatic rules of WCAG find nothing, at any size, in light and dark (axe-core)', async (t) => {
    for (const viewport of [DESKTOP, { width: 820, height: 1180 }, PHONE]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await inPage(t, browser, { service, options: { viewport, colorScheme }, pool: call }, async (page) => {
          await page.click('#wallet');
          await page.click('#wallets-list li:nth-child(5) button');
          await until(page, '#balances-rows', 'USDC');
          await page.evaluate(axe);
          const parts = viewport === PHONE ? ['Options', 'Book', 'Trade', 'Account', 'Requests', 'Activity'] : [null];
          for (const tab of [...parts, 'list of keys']) {
            if (tab === 'list of keys') await page.keyboard.press('?');
            else if (tab !== null) await page.click(`#tabs button:has-text("${tab}")`);
            t.strictSame(await violations(page), [], `${viewport.width} wide, ${colorScheme}, ${tab ?? 'all'}`);
          }
          if (viewport.width === 820 && colorScheme === 'dark') await picture(page, 'page-tablet.png');
        });
      }
    }
  });

  await t.test('what is old because the connection is lost can be read (axe-core)', async (t) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await inPage(t, browser, { service, options: { viewport: DESKTOP, colorScheme } }, async (page) => {
        const sockets: WebSocketRoute[] = [];
        await page.routeWebSocket('**/*', (socket) => {
          sockets.push(socket);
          if (sockets.length === 1) socket.connectToServer();
          else void socket.close();
        });
        await page.reload();
        await page.waitForSelector('#pool[aria-busy=false]');
        await sockets[0]?.close();
        for (const id of ['chains', 'chain', 'pool']) await page.waitForSelector(`#${id}[aria-busy=true]`);
        await page.evaluate(axe);
        t.strictSame(await violations(page), [], colorScheme);
      });
    }
  });

  await t.test('theme, density and time zone are chosen and kept', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP, timezoneId: 'Asia/Tokyo' } }, async (page) => {
      await page.waitForSelector('#connection[data-state=OPEN]');
      const ground = (): Promise<string> =>
        page.evaluate(() => getComputedStyle(document.body.parentElement ?? document.body).backgroundColor);
      const hour = async (): Promise<number> => Number((await page.textContent('#tape-rows td'))?.slice(0, 2));
      await page.waitForFunction(() => document.querySelector('#tape-rows td')?.textContent !== '');
      const [light, tokyo] = [await ground(), await hour()];
      await page.click('header summary');
      await page.selectOption('#theme', 'dark');
      await page.selectOption('#zone', 'UTC');
      await page.check('#compact');
      await page.reload();
      await page.waitForFunction(() => document.querySelector('#tape-rows td')?.textContent !== '');
      t.not(await ground(), light);
      t.equal(((await hour()) + 9) % 24, tokyo % 24);
      t.ok(await page.evaluate(() => document.documentElement.hasAttribute('data-compact')));
    });
  });

  await t.test('the boxes of the columns follow the width of the window, until one is chosen', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: call }, async (page) => {
      await page.click('header summary');
      await page.click('details summary:has-text("Columns")');
      const checked = (): Promise<string[]> => page.locator('#columns label:has(input:checked)').allTextContents();
      t.equal((await checked()).length, 7);
      await page.setViewportSize({ width: 1000, height: 1000 });
      await page.waitForFunction(() => document.querySelectorAll('#columns input:checked').length === 1);
      t.strictSame(await checked(), [' Sizes']);
      await page.check('#columns label:has-text("Delta") input');
      await page.setViewportSize(DESKTOP);
      await page.waitForFunction(() => innerWidth === 1440);
      t.strictSame(await checked(), [' Sizes', ' Delta']);
      t.equal(await page.locator('#chain-table thead th', { hasText: 'Mark' }).count(), 0);
    });
  });

  await t.test('a browser that keeps nothing shows the page all the same, and what is chosen counts', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP, timezoneId: 'Asia/Tokyo' } }, async (page) => {
      // As where its user forbids the page to keep anything.
      await page.addInitScript(() => {
        for (const name of ['localStorage', 'sessionStorage']) {
          Object.defineProperty(globalThis, name, {
            get: () => {
              throw new DOMException('The user forbids it', 'SecurityError');
            },
          });
        }
      });
      await page.reload();
      await page.waitForSelector('#connection[data-state=OPEN]');
      await page.waitForFunction(() => document.querySelector('#tape-rows td')?.textContent !== '');
      const time = async (): Promise<string> => (await page.textContent('#tape-rows td')) ?? '';
      const tokyo = await time();
      await page.click('header summary');
      await page.selectOption('#zone', 'UTC');
      await page.waitForFunction((text) => document.querySelector('#tape-rows td')?.textContent !== text, tokyo);
      t.equal((Number((await time()).slice(0, 2)) + 9) % 24, Number(tokyo.slice(0, 2)) % 24);
      await page.uncheck('#shortcuts');
      await page.click('details summary:has-text("Columns")');
      await page.uncheck('text=Delta');
      await page.waitForFunction(() => !document.querySelector('#chain-table thead')?.textContent.includes('Delta'));
      await page.click('#change-key');
      await page.fill('#key', service.apiKey);
      await page.click('#connect button');
      await page.waitForSelector('#connection[data-state=OPEN]');
    });
  });

  await t.test('nothing moves while quotes, fills and requests come in', async (t) => {
    for (const viewport of [DESKTOP, PHONE])
      await inPage(t, browser, { service, options: { viewport }, pool: call }, async (page) => {
        await page.evaluate(() => {
          const shifts: string[] = [];
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) {
              const { value, sources } = entry as unknown as LayoutShift;
              const moved = sources.map(({ node, previousRect, currentRect }) => {
                const what = node instanceof Element ? node.outerHTML : (node?.textContent ?? '');
                return `${what.slice(0, 200)} from ${JSON.stringify(previousRect)} to ${JSON.stringify(currentRect)}`;
              });
              shifts.push(`${value}: ${moved.join('; ')}`);
            }
          }).observe({ type: 'layout-shift' });
          Object.assign(globalThis, { shifts });
        });
        for (let round = 1n; round <= 6n; round++) {
          await maker.quote(ofOneExpiry, 3);
          await maker.ask(call, ONE / 20n + round, round * 12_345n * ONE);
          await maker.fill(call, ONE / 100n);
          await maker.requestQuotes(put, round * ONE);
        }
        await page.waitForFunction(
          () => document.querySelectorAll('#tape-rows tr:last-child td')[1]?.textContent !== '',
        );
        await page.evaluate(
          () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        );
        t.strictSame(
          await page.evaluate(() => (globalThis as unknown as { shifts: string[] }).shifts),
          [],
          `${viewport.width} wide`,
        );
      });
  });

  await t.test('without a local set-up a key is asked for, and asked for again when it is wrong', async (t) => {
    const plain = await startTestService({ page: { givesKey: false }, chain: service.chain });
    t.teardown(() => plain.stop());
    await inPage(t, browser, { service: plain, options: { viewport: DESKTOP } }, async (page) => {
      await page.fill('#key', 'half a k');
      await page.press('#key', 'Escape');
      t.equal(await page.evaluate(() => sessionStorage.length), 0, 'a dialog that is left gives no key');
      await page.click('header summary');
      for (const typed of ['', 'half a k']) {
        await page.click('#change-key');
        await page.fill('#key', typed);
        await page.click('#connect button:has-text("Close")');
        await page.waitForSelector('#connect', { state: 'hidden' });
        t.equal(await page.evaluate(() => sessionStorage.length), 0);
      }
      await page.click('header summary', { force: true });
      await until(page, '#chain-rows', 'If it asks for an API key, give one under “Settings”.');
      await page.click('header summary');
      await page.click('#change-key');
      t.equal(await page.inputValue('#key'), '');
      await page.fill('#key', 'qb_not_a_key');
      await page.press('#key', 'Enter');
      await page.waitForFunction(() => document.querySelector('#connect-problem')?.textContent !== '');
      t.equal(await page.textContent('#connect-problem'), 'The server does not know this key.');
      t.equal(await page.evaluate(() => sessionStorage.length), 0, 'it is not kept');
      await page.fill('#key', plain.apiKey);
      await page.click('#connect button');
      await page.waitForSelector('#connection[data-state=OPEN]');
      await page.reload();
      await page.waitForSelector('#connection[data-state=OPEN]');
      t.pass('the tab keeps the key');
    });
  });
});

/** Of the rules of axe, which the page has. */
async function violations(page: Page): Promise<string[]> {
  await page.waitForFunction(() => document.getAnimations().length === 0);
  return page.evaluate(async () => {
    const found = await (globalThis as unknown as Axe).axe.run();
    return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 120)}`));
  });
}
