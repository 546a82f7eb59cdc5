import t from 'tap';
import type { WebSocketRoute } from 'playwright-core';
import { changePools, DESKTOP, inPage, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;

await withPage(async ({ browser, service, maker, call, put }) => {
  await t.test('an unlisted pool is looked up once, however many messages name it', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: put }, async (page) => {
      let lists = 0;
      await changePools(page, (listed, time) => {
        lists = time;
        const others = listed.filter(({ poolAddress }) => poolAddress !== call.poolAddress);
        t.equal(others.length, listed.length - 1);
        return others;
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
      await changePools(page, (listed, time) => {
        lists = time;
        return time > 1 ? listed : listed.filter(({ poolAddress }) => poolAddress !== call.poolAddress);
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

  await t.test('a pool or an expiry that is listed anew takes the focus from nobody', async (t) => {
    const [last] = service.chain.pools.slice(-1);
    if (last === undefined) throw new Error('a chain has pools');
    await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: call }, async (page) => {
      for (const where of [`td[data-side=ask] [data-pool="${call.poolAddress}"]`, '#expiries [aria-pressed=true]']) {
        await changePools(page, (listed, time) =>
          time > 1
            ? listed
            : listed.filter(({ poolAddress }) => poolAddress === call.poolAddress || poolAddress === last.poolAddress),
        );
        await page.reload();
        await page.waitForSelector('#pool[aria-busy=false]');
        await page.focus(where);
        t.equal(await page.locator('#chain-rows tr').count(), 1);
        t.equal(await page.locator('#expiries button').count(), 1);
        // Somebody quotes in a pool that the page does not know, so that it asks for the list.
        await maker.ask(put, ONE / 2n, 543_210n * ONE);
        await page.waitForFunction(() => document.querySelectorAll('#chain-rows tr').length === 5);
        t.equal(await page.locator('#expiries button').count(), 3);
        t.ok(await page.$eval(where, (element) => element === document.activeElement), where);
        await page.unrouteAll();
      }
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

  await t.test('while the connection is lost, what is shown of the chains and the pool counts as old', async (t) => {
    await inPage(t, browser, { service, options: { viewport: DESKTOP } }, async (page) => {
      const sockets: WebSocketRoute[] = [];
      let isReachable = true;
      await page.routeWebSocket('**/*', (socket) => {
        sockets.push(socket);
        if (isReachable) socket.connectToServer();
        else void socket.close();
      });
      await page.reload();
      await page.waitForSelector('#chains[aria-busy=false]');
      await page.waitForSelector('#pool[aria-busy=false]');
      await until(page, '#feed', ', verified');
      isReachable = false;
      await sockets[0]?.close();
      await page.waitForSelector('#connection[data-state=WAITING]');
      t.notMatch(await page.textContent('#feed'), /verified/, 'what is shown is not compared with the book any more');
      const busy = (id: string): Promise<string | null> => page.getAttribute(id, 'aria-busy');
      await until(page, '#outage', 'What is shown is from then.');
      t.match(
        (await page.textContent('#outage'))?.trim(),
        /^No connection since \d\d:\d\d:\d\d\. What is shown is from then\. (Trying again now|Next attempt in \d+ s)\.$/,
      );
      t.match(
        await page.locator('#outage').getByRole('status').textContent(),
        /^No connection since \d\d:\d\d:\d\d\. What is shown is from then\.$/,
        'a screen reader does not read out each second',
      );
      t.strictSame([await busy('#chains'), await busy('#pool'), await busy('#chain')], ['true', 'true', 'true']);
      isReachable = true;
      await page.waitForSelector('#connection[data-state=OPEN]');
      await page.waitForSelector('#pool[aria-busy=false]');
      t.ok(await page.isHidden('#outage'), 'with the connection the line is gone');
    });
  });
});
