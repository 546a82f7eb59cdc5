import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import type { Hex } from '../../src/engine/quote.js';
import { RestClient } from '../e2e/rest-client.js';
import { changePools, DESKTOP, inPage, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;

await withPage(
  async ({ browser, service, maker, call, put }) => {
    await t.test('what is written on a coloured ground can be read (WCAG 2.2, 1.4.3)', async (t) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const options = { viewport: DESKTOP, colorScheme };
        await inPage(t, browser, { service, options, pool: call }, async (page) => {
          const grounds = [
            ['#connection', '#connection'],
            ['#ladder-rows .bid span', '#ladder-rows .bid i'],
            ['#ladder-rows .ask span', '#ladder-rows .ask i'],
            ['#chain td[data-chosen][data-side=bid] button', '#chain td[data-chosen]'],
            ['#chain td[data-chosen][data-side=ask] button', '#chain td[data-chosen]'],
          ] as const;
          for (const [text, ground] of grounds) {
            const style = (selector: string, property: 'color' | 'backgroundColor'): Promise<string> =>
              page.$eval(selector, (element, name) => getComputedStyle(element)[name], property);
            const [light, dark] = [await style(text, 'color'), await style(ground, 'backgroundColor')].map(luminance);
            const [high, low] = [Math.max(light ?? 0, dark ?? 0), Math.min(light ?? 0, dark ?? 0)];
            t.ok((high + 0.05) / (low + 0.05) >= 4.5, `${colorScheme} ${text}`);
          }
        });
      }
    });

    await t.test(
      'strikes rise, expiries follow each other, and an option that is not listed cannot be chosen',
      async (t) => {
        await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: call }, async (page) => {
          await changePools(page, (listed) =>
            listed.filter(({ poolAddress }) => poolAddress !== put.poolAddress).reverse(),
          );
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
          const isDisabled = await ofFirstRow.evaluateAll((all) =>
            all.map((button) => button.hasAttribute('disabled')),
          );
          t.strictSame(isDisabled, [false, false, true, true]);
          t.equal(await page.textContent('#expiries [aria-pressed=true]'), expiries[0]);
          t.equal(await page.locator('#chain-rows button[aria-current=true]').count(), 2);
        });
      },
    );

    await t.test('the chain values options, and shows what is in the money', async (t) => {
      const ofExpiry = service.chain.pools.slice(10, 20);
      await maker.quote(ofExpiry, 1);
      await maker.fill(ofExpiry[4] ?? call, ONE / 4n);
      const wide = { viewport: { width: 1440, height: 900 } };
      await inPage(t, browser, { service, options: wide, pool: ofExpiry[0] ?? call }, async (page) => {
        const { tickers } = (await page.evaluate(async (key) => {
          const answer = await fetch('/tickers?chainId=421613&fields=valuation', { headers: { 'x-apikey': key } });
          return (await answer.json()) as unknown;
        }, service.apiKey)) as { tickers: { poolAddress: string; valuation: Record<string, number | null> }[] };
        const pool = ofExpiry[4];
        if (pool === undefined) throw new Error('an expiry has five strikes');
        const {
          delta = 0,
          usdValue = 0,
          bidVolatility = 0,
        } = tickers.find(({ poolAddress }) => poolAddress === pool.poolAddress)?.valuation ?? {};
        t.equal(pool.poolKey.strike, 1800n * ONE);
        await until(page, '#chain-rows tr:nth-child(3)', (delta ?? 0).toFixed(2));
        const texts = await page.locator('#chain-rows tr:nth-child(3) > *').allTextContents();
        t.strictSame(texts[0], '0.25', 'filled in 24 hours');
        t.match(texts[1], /^0\.0/, 'the last price');
        // Each is rounded for the column, and a little time passes between the two answers.
        t.ok(Math.abs(Number(texts[2]) - (usdValue ?? 0)) < 0.05, `$${texts[2]} of ${usdValue}`);
        const shown = Number.parseFloat(texts[5] ?? '');
        t.ok(Math.abs(shown - (bidVolatility ?? 0) * 100) < 0.06, `${shown} % of ${bidVolatility}`);
        await until(page, '#chain-note', 'testWETH at 1\u202f800.00 USDC; expires 08:00 UTC, in ');
        const rows = (attribute: string): Promise<string[]> =>
          page.locator(`#chain-rows tr[${attribute}] th`).allTextContents();
        t.strictSame(await rows('data-call-in'), ['1600', '1700']);
        t.strictSame(await rows('data-put-in'), ['1900', '2000']);
        t.strictSame(await rows('data-at-money'), ['1700'], 'the line is below the last strike under the price');
      });
    });

    await t.test('columns are chosen and kept, and all expiries fit in one table', async (t) => {
      await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: call }, async (page) => {
        const titles = (): Promise<string[]> => page.locator('#chain-table thead tr:last-child th').allTextContents();
        const calls = ['24 h', 'Last', 'Mark $', 'Mark', 'Delta', 'IV', 'Size', 'Bid', 'Ask', 'Size', 'IV'];
        const puts = ['IV', 'Size', 'Bid', 'Ask', 'Size', 'IV', 'Delta', 'Mark', 'Mark $', 'Last', '24 h'];
        t.strictSame(await titles(), [...calls, ...puts]);
        await page.click('details summary:has-text("Columns")');
        for (const name of ['Sizes', 'Mark in USD', 'Last price', '24 h volume']) await page.uncheck(`text=${name}`);
        await page.reload();
        await page.waitForSelector('#pool[aria-busy=false]');
        t.strictSame(await titles(), [
          ...['Mark', 'Delta', 'IV', 'Bid', 'Ask', 'IV'],
          ...['IV', 'Bid', 'Ask', 'IV', 'Delta', 'Mark'],
        ]);
        await page.click('#all-expiries');
        t.equal(await page.locator('#chain-rows tr.expiry').count(), 3);
        t.equal(await page.locator('#chain-rows tr:not(.expiry)').count(), 15);
        await page.click('#expiries button:nth-child(2)');
        t.equal(await page.locator('#chain-rows tr').count(), 5);
      });
    });

    await t.test('arrow keys walk through the prices', async (t) => {
      await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: call }, async (page) => {
        const focused = async (): Promise<string> => {
          const label = (await page.locator(':focus').getAttribute('data-key')) ?? '';
          const [address, side] = label.split(' ');
          const key = service.chain.pools.find(({ poolAddress }) => poolAddress === address)?.poolKey;
          return `${(key?.strike ?? 0n) / ONE} ${key?.isCallPool === true ? 'C' : 'P'} ${side}`;
        };
        await page.click('#all-expiries');
        await page.focus(`td[data-side=bid] [data-pool="${call.poolAddress}"]`);
        const seen: string[] = [];
        for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp', 'ArrowUp', 'ArrowLeft']) {
          await page.keyboard.press(key);
          seen.push(await focused());
        }
        t.strictSame(seen, [
          '1600 C ask',
          '1600 P bid',
          '1700 P bid',
          '1700 C ask',
          '1600 C ask',
          '1600 C ask',
          '1600 C bid',
        ]);
        await page.focus('#chain-rows tr:nth-child(6) button:nth-of-type(1)');
        await page.keyboard.press('ArrowDown');
        t.equal(await focused(), '1600 C bid', 'over the heading of the next expiry');
      });
    });

    await t.test('keys lead to the parts of the page, and can be turned off', async (t) => {
      await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: put }, async (page) => {
        const focused = (): Promise<string | null> => page.locator(':focus').getAttribute('id');
        await page.keyboard.press('s');
        t.equal(await focused(), 'ticket-size');
        t.ok(await page.isChecked('#ticket-sell'));
        await page.keyboard.press('b');
        t.match(await page.inputValue('#ticket-size'), /b/, 'in a field a key writes');
        await page.fill('#ticket-size', '1');
        await page.locator('#ticket-size').blur();
        for (const [key, id] of [
          ['q', 'quote-bid'],
          ['r', 'rfq-size'],
          ['d', 'depth'],
          ['h', 'history-at'],
        ] as const) {
          await page.keyboard.press(key);
          t.equal(await focused(), id, key);
          await page.locator(':focus').blur();
        }
        await page.keyboard.press('o');
        t.equal(await page.locator(':focus').getAttribute('data-pool'), put.poolAddress);
        await page.keyboard.press('?');
        t.ok(await page.isVisible('#help'));
        t.equal(await page.locator('#help dt').count(), 10);
        await page.keyboard.press('s');
        t.ok(await page.isVisible('#help'), 'a dialog keeps the keys');
        await page.keyboard.press('Escape');
        await page.click('header summary');
        await page.uncheck('#shortcuts');
        await page.reload();
        await page.waitForSelector('#pool[aria-busy=false]');
        await page.keyboard.press('?');
        t.ok(await page.isHidden('#help'));
      });
    });

    await t.test('amounts are short, and none that is there looks like nothing', async (t) => {
      const [, , other] = service.chain.pools;
      if (other === undefined) throw new Error('a chain has pools');
      await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: other }, async (page) => {
        await maker.ask(other, ONE / 1_000_000n, (12_345n * ONE) / 100n);
        await until(page, '#ladder-rows .ask:nth-child(9)', '0.000001000');
        const best = page.locator('#ladder-rows .ask:nth-child(9) td:not(:nth-child(2))');
        t.strictSame(await best.allTextContents(), ['0.000001000', '123', '123', '1']);
        await maker.ask(other, ONE / 1_000_000n, ONE / 1_000n);
        await until(page, '#ladder-rows .ask:nth-child(9)', '1232');
        await maker.ask(other, ONE / 2_000_000n, ONE / 1_000n);
        await until(page, '#ladder-rows .ask:nth-child(9)', '0.0000005000');
        t.strictSame(await best.allTextContents(), ['0.0000005000', '0.00100000', '0.00100000', '1']);
        const second = page.locator('#ladder-rows .ask:nth-child(8) td:not(:nth-child(2))');
        t.strictSame((await second.allTextContents()).slice(0, 2), ['0.0000010000', '123']);
      });
    });

    await t.test('prices have the significant digits of the best one, rounded against the taker', async (t) => {
      const [, , , , cheap] = service.chain.pools;
      if (cheap === undefined) throw new Error('a chain has pools');
      await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: cheap }, async (page) => {
        // 0.00110001, and eight more that are dearer by 0.000001 each.
        for (let n = 0n; n < 9n; n++)
          await maker.ask(cheap, ONE / 1_000n + ONE / 10_000n + ONE / 100_000_000n + n * (ONE / 1_000_000n), ONE);
        await maker.bid(cheap, ONE / 1_000n + (ONE * 9_999n) / 100_000_000n, ONE);
        await maker.bid(cheap, ONE / 1_000_000_000n, ONE);
        await until(page, '#ladder-rows .bid:nth-child(12)', '0.000000001');
        const prices = (side: string): Promise<string[]> =>
          page.locator(`#ladder-rows .${side} span`).allTextContents();
        const asks = Array.from({ length: 9 }, (_, n) => `0.00110${n + 1}`);
        t.strictSame((await prices('ask')).reverse(), asks, 'asks are rounded up');
        t.strictSame((await prices('bid')).slice(0, 2), ['0.001099', '0.000000001000'], 'bids are rounded down');
        t.equal(await page.textContent('#ladder-rows .spread'), 'spread 0.00000002000', 'never nothing');
        for (const [side, price] of [
          ['bid', '0.001099'],
          ['ask', '0.001101'],
        ]) {
          t.equal(await page.textContent(`td[data-side=${side}] [data-pool="${cheap.poolAddress}"]`), price);
        }
        t.equal(await page.textContent('#depth-high'), '0.001109');
        await until(page, '#tape-rows', '0.001109');
      });
    });

    await t.test('levels are grouped in the chosen steps, rounded against the taker', async (t) => {
      const pool = service.chain.pools[8];
      if (pool === undefined) throw new Error('a chain has pools');
      await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool }, async (page) => {
        const tick = ONE / 100_000n;
        for (const [side, ticks, size] of [
          ['ask', 5001n, 1n],
          ['ask', 5010n, 2n],
          ['ask', 5011n, 4n],
          ['bid', 4999n, 1n],
          ['bid', 4990n, 2n],
          ['bid', 4989n, 4n],
        ] as const)
          await maker[side](pool, ticks * tick, size * ONE);
        const rows = (side: string): Promise<string[][]> =>
          page.locator(`#ladder-rows .${side}`).evaluateAll((all) =>
            all
              .map((row) => [...row.querySelectorAll('td')].map(({ textContent }) => textContent))
              .filter(([price]) => price !== '')
              .map(([price = '', , size = '', sum = '', count = '']) => [price, size, sum, count]),
          );
        await until(page, '#ladder-rows .bid:nth-child(13)', '0.04989');
        t.strictSame(await page.locator('#step option').allTextContents(), [
          'each price',
          '0.00001',
          '0.00005',
          '0.0001',
          '0.0005',
          '0.001',
        ]);
        await page.selectOption('#step', { label: '0.0001' });
        await until(page, '#ladder-rows .bid:nth-child(12)', '0.0498');
        t.strictSame(await rows('ask'), [
          ['0.0502', '4.00', '7.00', '1'],
          ['0.0501', '3.00', '3.00', '2'],
        ]);
        t.strictSame(await rows('bid'), [
          ['0.0499', '3.00', '3.00', '2'],
          ['0.0498', '4.00', '7.00', '1'],
        ]);
        t.equal(await page.textContent('#ladder-rows .spread'), 'spread 0.00002', 'the spread is that of the book');
        t.equal(await page.textContent('#depth-high'), '0.0502');
      });
    });

    await t.test('the charts say what they have at the pointer, or where arrow keys move it', async (t) => {
      const pool = service.chain.pools[22];
      if (pool === undefined) throw new Error('a chain has pools');
      await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool }, async (page) => {
        await maker.ask(pool, ONE / 20n, 3n * ONE);
        await maker.ask(pool, ONE / 10n, 4n * ONE);
        await maker.bid(pool, ONE / 25n, 2n * ONE);
        await until(page, '#ladder-rows .ask:nth-child(8)', '0.10000');
        const box = await page.locator('#depth').boundingBox();
        if (box === null) throw new Error('the chart is there');
        await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2);
        await until(page, '#depth-reading', '7.00 asked up to 0.10000');
        await page.mouse.move(box.x + 2, box.y + box.height / 2);
        await until(page, '#depth-reading', '2.00 bid down to 0.04000');
        await maker.bid(pool, ONE / 50n, 5n * ONE);
        await until(page, '#depth-reading', '7.00 bid down to 0.02000');
        await page.mouse.move(0, 0);
        await page.waitForSelector('#depth-reading', { state: 'hidden' });
        await page.focus('#depth');
        await page.keyboard.press('ArrowRight');
        await until(page, '#depth-reading', 'nothing at this price');
        for (let presses = 0; presses < 60; presses++) await page.keyboard.press('ArrowRight');
        await until(page, '#depth-reading', '7.00 asked up to 0.10000');
        await maker.fill(pool, ONE);
        await until(page, '#chart-middle', '1.00 traded');
        await page.focus('#chart');
        await page.keyboard.press('ArrowLeft');
        await until(page, '#chart-reading', ': 0.05000, 1.00 traded');
        t.ok(await page.isHidden('#depth-reading'));
      });
    });

    await t.test('the slider shows the book as it was, marked as past, and leads back to the present', async (t) => {
      const pool = service.chain.pools[24];
      if (pool === undefined) throw new Error('a chain has pools');
      await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool }, async (page) => {
        const best = '#ladder-rows .ask:nth-child(9)';
        await maker.ask(pool, ONE / 20n, 3n * ONE);
        await until(page, best, '0.05000');
        // Engine time follows block timestamps, which are whole seconds: it may stand still for that long.
        await pause(1_000);
        await maker.ask(pool, ONE / 25n, 7n * ONE);
        await until(page, best, '0.04000');
        // Of the engine, whose time goes on with the blocks.
        const times = async (path: string): Promise<unknown> =>
          (await new RestClient(service.httpUrl, service.apiKey).get(`${path}chainId=421613`)).body;
        const { messages } = (await times('/events?channel=QUOTES&fromSeq=0&')) as {
          readonly messages: { readonly tsMs: number; readonly body: { readonly poolAddress: string } }[];
        };
        const [first = 0, second = 0] = messages.flatMap(({ tsMs, body }) =>
          body.poolAddress === pool.poolAddress ? [tsMs] : [],
        );
        t.ok(first < second);
        const before = Math.floor((first + second) / 2);
        const { tsMs } = (await times(`/book/${pool.poolAddress}?asOfSeq=0&`)) as { readonly tsMs: number };
        const slideTo = (atMs: number): Promise<void> =>
          page.$eval(
            '#history-at',
            (slider, at) => {
              if (!(slider instanceof HTMLInputElement)) throw new Error('it is a slider');
              slider.value = String(Math.round((1000 * (at.atMs - at.tsMs)) / (Date.now() - at.tsMs)));
              slider.dispatchEvent(new Event('input'));
            },
            { atMs, tsMs },
          );
        await slideTo(before);
        await until(page, best, '0.05000');
        await until(page, '#history-text', 'as of ');
        await until(page, '#pool-unit', 'as it was at ');
        t.ok(await page.isVisible('#pool[data-past]'));
        await maker.ask(pool, ONE / 50n, ONE);
        await until(page, `td[data-side=ask] [data-pool="${pool.poolAddress}"]`, '0.02000');
        t.match(await page.textContent(best), /^0\.05000/, 'what happens now does not show in the past');
        await page.click('#history-live');
        await until(page, best, '0.02000');
        t.equal(await page.locator('#pool[data-past]').count(), 0);
        await slideTo(before);
        await until(page, best, '0.05000');
        await page.press('#history-at', 'End');
        await until(page, best, '0.02000');
        await slideTo(before);
        await until(page, best, '0.05000');
        await page.click('#chain-rows tr:first-child td[data-side=bid] button');
        t.equal(await page.textContent('#history-text'), 'live', 'another option begins in the present');

        let refuse = (): void => undefined;
        const asked = page.waitForRequest(/asOfTime=/);
        await page.route(/asOfTime=/, async (route) => {
          await new Promise<void>((resolve) => (refuse = resolve));
          await route.fulfill({ status: 503, json: { message: 'The chains have not been reached yet' } });
        });
        await slideTo(before);
        await asked;
        await page.press('#history-at', 'End');
        const refused = page.waitForResponse(/asOfTime=/);
        refuse();
        await refused;
        await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
        t.equal(await page.textContent('#history-text'), 'live', 'a refusal that comes late says nothing');
      });
    });

    await t.test('a crossed book says so, in the ladder and in the chart', async (t) => {
      const crossed = service.chain.pools[6];
      if (crossed === undefined) throw new Error('a chain has pools');
      await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: crossed }, async (page) => {
        await maker.ask(crossed, ONE / 20n, ONE);
        await until(page, '#ladder-rows .spread', 'no spread: a side is empty');
        await maker.bid(crossed, ONE / 20n + ONE / 500n, ONE);
        await until(page, '#ladder-rows .spread', 'crossed by 0.00200');
        t.equal(await page.textContent('#depth-middle'), 'crossed by 0.00200');
        t.match(await page.getAttribute('#depth', 'aria-label'), /, crossed by 0\.00200$/);
        t.match(
          await page.getAttribute('#depth .crossed', 'd'),
          /^M[\d.]+ 0H[\d.]+V240H[\d.]+Z$/,
          'a band between both',
        );
        await maker.fill(crossed, ONE);
        await maker.ask(crossed, ONE / 10n, ONE);
        await until(page, '#ladder-rows .spread', 'spread 0.04800');
        t.equal(await page.textContent('#depth-middle'), 'cumulative size');
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
        await maker.quote([call], 1);
        await page.waitForFunction(
          (pool) => document.querySelector(`td[data-side=ask] [data-pool="${pool}"]`)?.textContent !== '–',
          call.poolAddress,
        );
        const price = (await button.textContent()) ?? '';
        t.equal(await button.getAttribute('aria-current'), 'false');
        await button.focus();
        t.match(
          await page.locator(':focus').getAttribute('aria-label'),
          new RegExp(`^testWETH \\w+ 1600 C ask ${price}$`),
        );
        await maker.ask(put, ONE / 2n, 432_109n * ONE);
        await until(page, '#tape-rows', '432.1k');
        t.equal(
          await page.locator(':focus').getAttribute('data-pool'),
          call.poolAddress,
          'what comes in takes it nowhere',
        );
        await page.keyboard.press('Enter');
        await until(page, '#pool-title', '1600 C');
        t.equal(await button.getAttribute('aria-current'), 'true');
      });
    });
  },
  { keepsLog: true },
);

/** Of a computed colour, such as `rgb(9, 112, 68)`: WCAG 2.2, "relative luminance". */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/g) ?? []).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
