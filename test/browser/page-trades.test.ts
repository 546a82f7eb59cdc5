import t from 'tap';
import type { WebSocketRoute } from 'playwright-core';
import { DevActions } from '../chain/dev-actions.js';
import { changePools, connect, DESKTOP, inPage, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;
const TAKER = 4;
const STRANGER = 5;

await withPage(async ({ browser, service, maker, call, put }) => {
  const options = { viewport: DESKTOP };

  await t.test('where nothing is, the page says what to do next', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      await until(page, '#trades-rows', 'Nothing was traded yet. Take a size beside the book.');
      await until(page, '#tape-empty', 'Nothing of this kind yet. It appears here as it happens.');
      await until(page, '#ladder-rows .spread', 'no spread: place a quote, or ask makers');
      await until(page, '#ticket-note', 'Nobody quotes this side. Ask the makers for a quote.');
      await until(page, '#requests-rows', 'No taker has asked since the page was opened. Requests appear here.');
      await until(page, '#rfqs-rows', 'Connect a wallet to ask makers.');
      await until(page, '#offers-rows', 'Offers appear here, the best first.');
      await until(page, '#account .unconnected', 'Connect a wallet to see its quotes, positions and balances.');
      await page.click('#trades-filter button:has-text("Mine")');
      await until(page, '#trades-rows', 'Connect a wallet to see its trades.');
      await connect(page, STRANGER);
      await until(page, '#quotes-rows', 'This wallet has no quotes. Place one beside the book.');
      await until(page, '#positions-rows', 'This wallet has no positions. Take a size beside the book.');
      await until(page, '#rfqs-rows', 'Ask makers for a size to see its offers.');
      await changePools(page, () => []);
      await page.reload();
      await until(page, '#chain-rows', 'No option is listed. One appears here once its pool is deployed.');
      await page.unrouteAll({ behavior: 'wait' });
    });
  });

  await t.test('trades are the fills alone, of all options, of the chosen one, or of the wallet', async (t) => {
    await maker.ask(call, ONE / 20n, 5n * ONE);
    await maker.ask(put, ONE / 50n, 5n * ONE);
    await maker.fill(call, ONE / 4n);
    await maker.fill(put, ONE / 2n);
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      const listed = async (count: number): Promise<string[]> => {
        await page.waitForFunction(
          (n) => document.querySelectorAll('#trades-rows tr:not(:has(.empty))').length === n,
          count,
        );
        const rows = await page.locator('#trades-rows tr').allTextContents();
        return rows.map((text) => text.replace(/^[\d:]+testWETH \w+ /, '').replace(/0x\w{6}…$/, ''));
      };
      const [ofPut, ofCall] = ['1600 Pbought32.00 $32.000.50', '1600 Cbought0.05000 $90.000.25'];
      await until(page, '#trades-rows', '$90.00');
      t.strictSame(await listed(2), [ofPut, ofCall]);
      const cells = (row: string): Promise<number> => page.locator(`#trades ${row}`).locator('th, td').count();
      t.equal(await cells('thead tr'), 6);
      t.equal(await cells('tbody tr:first-child'), 6, 'no row has a cell without a text');
      await page.click('#trades-filter button:has-text("This option")');
      t.strictSame(await listed(1), [ofCall]);
      await page.click('#trades-filter button:has-text("Mine")');
      await listed(0);
      await connect(page, TAKER);
      t.strictSame(await listed(2), [ofPut, ofCall]);
      await connect(page, STRANGER);
      await until(page, '#trades-rows', 'This wallet has not traded yet. Take a size beside the book.');
    });
  });

  await t.test("the wallet's trades are read as its own, however many others there are", async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      const read: URLSearchParams[] = [];
      // The newest trades of all are those of others.
      await page.route(/\/trades\?/, async (route) => {
        const { searchParams } = new URL(route.request().url());
        read.push(searchParams);
        if (searchParams.has('taker') || searchParams.has('provider')) return route.continue();
        return route.fulfill({ json: { since: 0, next: null, trades: [] } });
      });
      await page.click('#trades-filter button:has-text("Mine")');
      await connect(page, TAKER);
      await until(page, '#trades-rows', '1600 C');
      await until(page, '#trades-rows', '1600 P');
      await page.waitForFunction(
        () => document.querySelectorAll('#positions-rows td:nth-child(4):not(:empty)').length === 2,
      );
      const averages = await page.locator('#positions-rows td:nth-child(4)').allTextContents();
      t.strictSame(averages.sort(), ['0.05000', '32.00']);
      t.notOk(read.some((query) => query.has('poolAddress')));
    });
  });

  await t.test('a fill that a reorg takes back is gone from the trades and is no longer the last price', async (t) => {
    const pool = service.chain.pools.find(({ poolKey }) => poolKey.isCallPool && poolKey.strike === 1700n * ONE);
    if (pool === undefined) throw new Error('a chain has calls of several strikes');
    await inPage(t, browser, { service, options, pool }, async (page) => {
      await maker.ask(pool, ONE / 30n, 5n * ONE);
      await maker.fill(pool, ONE / 8n);
      const last = page.locator('#chain-rows tr:nth-child(2) td:nth-child(2)');
      await until(page, '#trades-rows', '1700 C');
      await last.filter({ hasText: '0.03' }).waitFor();
      await until(page, '#chart-middle', '0.12 traded');
      await new DevActions(service.chain).reorg(1);
      await page.waitForFunction(() => !document.querySelector('#trades-rows')?.textContent.includes('1700 C'));
      await last.filter({ hasText: /^$/ }).waitFor();
      await until(page, '#chart-middle', 'no trades yet');
      t.match(await page.textContent('#trades-rows'), /1600 C/, 'older trades stay');
    });
  });

  await t.test('fills that a lost connection kept from the page show when it is back', async (t) => {
    const pool = service.chain.pools.find(({ poolKey }) => poolKey.isCallPool && poolKey.strike === 1800n * ONE);
    if (pool === undefined) throw new Error('a chain has calls of several strikes');
    await maker.ask(pool, ONE / 30n, 5n * ONE);
    await inPage(t, browser, { service, options, pool }, async (page) => {
      const sockets: WebSocketRoute[] = [];
      let isReachable = true;
      await page.routeWebSocket('**/*', (socket) => {
        sockets.push(socket);
        if (!isReachable) return void socket.close();
        const server = socket.connectToServer();
        // As if the log were another one by now: the service begins anew, and sends nothing of what was missed.
        socket.onMessage((message) =>
          server.send(String(message).replace(/"epoch":"[^"]*"/, `"epoch":"${'0'.repeat(16)}"`)),
        );
      });
      await page.reload();
      await page.waitForSelector('#pool[aria-busy=false]');
      await until(page, '#trades-rows', '1600 C');
      isReachable = false;
      await sockets[0]?.close();
      await page.waitForSelector('#connection[data-state=WAITING]');
      const { seq } = service.engine;
      await maker.fill(pool, ONE / 8n);
      while (service.engine.seq === seq) await page.waitForTimeout(50);
      isReachable = true;
      await page.waitForSelector('#connection[data-state=OPEN]');
      await until(page, '#trades-rows', '1800 C');
      await page.locator('#chain-rows tr:nth-child(3) td:nth-child(2)', { hasText: '0.03' }).waitFor();
    });
  });

  await t.test('on a chain with an explorer each trade links to its transaction', async (t) => {
    await inPage(t, browser, { service, options, pool: call }, async (page) => {
      // The page takes the service for one of Arbitrum, whose chain has an explorer.
      await page.route('**/page.json', async (route) => {
        const response = await route.fetch();
        const settings = (await response.json()) as Record<string, unknown>;
        await route.fulfill({ response, json: { ...settings, chainId: '42161' } });
      });
      await page.route(/chainId=42161(?!\d)/, (route) =>
        route.continue({ url: route.request().url().replace('chainId=42161', 'chainId=421613') }),
      );
      await page.reload();
      const [trade] = await page.evaluate(async (key) => {
        const answer = await fetch('/trades?chainId=421613', { headers: { 'x-apikey': key } });
        return ((await answer.json()) as { trades: { txHash: string }[] }).trades;
      }, service.apiKey);
      const link = page.locator('#trades-rows tr:first-child a');
      t.equal(await link.getAttribute('href'), `https://arbiscan.io/tx/${trade?.txHash}`);
      t.equal(await link.textContent(), `${trade?.txHash.slice(0, 8)}…`);
    });
  });

  await t.test(
    'the feed says its event, its delay and that the book is verified; chains say how old they are',
    async (t) => {
      await inPage(t, browser, { service, options, pool: call }, async (page) => {
        await maker.ask(call, ONE / 19n, ONE);
        await page.waitForFunction(() =>
          /^event \d+, \d+ ms, verified$/.test(document.querySelector('#feed')?.textContent ?? ''),
        );
        for (const id of ['settlement', 'stream'])
          t.match(await page.textContent(`#${id}`), /^block \d+, \d+ (s|min) old$/);
        const seq = Number(/\d+/.exec((await page.textContent('#feed')) ?? '')?.[0]);
        t.equal(seq, service.engine.seq);
        const ofAnotherBook = await page.evaluate((poolAddress) => {
          document.querySelector<HTMLElement>(`td[data-side=ask] [data-pool="${poolAddress}"]`)?.click();
          return document.querySelector('#feed')?.textContent;
        }, put.poolAddress);
        t.match(ofAnotherBook, /^event \d+, \d+ ms$/, 'until a heartbeat has its hash');
        await until(page, '#feed', ', verified');
      });
    },
  );
});
