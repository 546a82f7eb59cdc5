import t from 'tap';
import type { Page } from 'playwright-core';
import { tierQuotas } from '../../src/config/limits.js';
import { DevActions } from '../chain/dev-actions.js';
import { connect, DESKTOP, giveKey, inPage, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;
/** The account whose quotes `MarketMaker` signs. */
const MAKER = 1;
const STRANGER = 5;
const free = { ...tierQuotas.paid, connections: 1 };

await withPage(
  async ({ browser, service, maker, call, put }) => {
    const options = { viewport: DESKTOP };
    const chain = new DevActions(service.chain);
    const own = service.chain.accounts[MAKER]?.address ?? '0x';
    const received = async (page: Page): Promise<string> => (await page.textContent('#requests-rows')) ?? '';

    await t.test('a key of one connection is enough, also for another wallet', async (t) => {
      const { key } = await service.keys.create('free', 'one connection');
      await inPage(t, browser, { service, options, pool: call }, async (page) => {
        await giveKey(page, key);
        await until(page, '#feed', ', verified');
        let sockets = 0;
        page.on('websocket', () => (sockets += 1));
        const validUntil = (await chain.now()) + 600;
        await connect(page, STRANGER);
        await connect(page, MAKER);
        await maker.openRfq(call, 6n * ONE, validUntil, { makers: [own] });
        await until(page, '#requests-rows', 'wants to buy 6.00');
        await maker.requestQuotes(call, 2n * ONE);
        const shown = page.locator('#requests-rows tr', { hasText: 'wants to buy 2.00' });
        await shown.waitFor();
        t.equal(await shown.count(), 1);
        await page.click('#wallet');
        await page.click('#wallets-leave');
        await maker.openRfq(call, 4n * ONE, validUntil, { makers: [own] });
        await maker.requestQuotes(call, 3n * ONE);
        await until(page, '#requests-rows', 'wants to buy 3.00');
        t.notMatch(await received(page), /wants to buy 4\.00/);
        t.equal(sockets, 0);
        t.equal(await page.getAttribute('#connection', 'data-state'), 'OPEN');
      });
    });

    await t.test('no event is missed while another wallet is connected', async (t) => {
      await inPage(t, browser, { service, options, pool: call }, async (page) => {
        const sent: string[] = [];
        await page.routeWebSocket('**/*', (socket) => {
          const server = socket.connectToServer();
          socket.onMessage(async (message) => {
            sent.push(String(message));
            // What the page follows for the wallet is slow to reach the service.
            if (sent.length > before) await new Promise((resolve) => setTimeout(resolve, 300));
            server.send(message);
          });
        });
        let before = Infinity;
        await page.reload();
        await page.waitForSelector('#pool[aria-busy=false]');
        await page.waitForSelector('#chain[aria-busy=false]');
        before = sent.length;
        await connect(page, MAKER);
        for (let size = 51n; size <= 56n; size += 1n) await maker.ask(call, ONE / 20n, size * ONE);
        await until(page, '#tape-rows', '56.00');
        const tape = await page.textContent('#tape-rows');
        for (let size = 51n; size <= 56n; size += 1n) t.match(tape, `${size}.00`);
      });
    });

    await t.test('another wallet does not see what the one before was asked and answered', async (t) => {
      await inPage(t, browser, { service, options, pool: put }, async (page) => {
        const validUntil = (await chain.now()) + 600;
        await maker.openRfq(put, 8n * ONE, validUntil);
        await until(page, '#requests-rows', 'wants to buy 8.00');
        await connect(page, MAKER);
        await maker.openRfq(put, 7n * ONE, validUntil, { makers: [own] });
        await until(page, '#requests-rows', 'wants to buy 7.00');
        const row = page.locator('#requests-rows tr', { hasText: 'wants to buy 8.00' });
        await row.locator('input').fill('0.2');
        await row.getByRole('button', { name: 'Answer' }).click();
        await row.filter({ hasText: 'yours is number 1 of 1' }).waitFor();

        await connect(page, STRANGER);
        await row.filter({ hasText: '1 quote' }).waitFor();
        t.notMatch(await received(page), /yours is|wants to buy 7\.00/);
        await connect(page, MAKER);
        await row.filter({ hasText: 'yours is number 1 of 1' }).waitFor();
        await until(page, '#requests-rows', 'wants to buy 7.00');
        await page.click('#wallet');
        await page.click('#wallets-leave');
        await row.filter({ hasText: '1 quote' }).waitFor();
        t.notMatch(await received(page), /yours is|wants to buy 7\.00/);
      });
    });

    await t.test("a bot at the wallet's address that changes its quotes costs the page's key little", async (t) => {
      await inPage(t, browser, { service, options, pool: put }, async (page) => {
        const isOfHoldings = (url: string): boolean => new URL(url).pathname.startsWith('/account/');
        await maker.ask(put, ONE / 4n, 5n * ONE);
        await connect(page, MAKER);
        await until(page, '#balances-rows', 'USDC');
        await until(page, '#quotes-rows', '5.00');
        // All is read anew every 10 s: a fill is not left to that.
        const afterFill = page.waitForRequest((request) => isOfHoldings(request.url()), { timeout: 6_000 });
        await maker.fill(put, ONE / 4n);
        await afterFill;
        await until(page, '#quotes-rows', '4.75');
        const read: string[] = [];
        page.on('request', (request) => read.push(request.url()));
        for (let size = 11n; size <= 44n; size += 11n) {
          await maker.ask(put, ONE / 4n, size * ONE);
          await until(page, '#quotes-rows', `${size}.00`);
        }
        t.ok(
          read.filter(isOfHoldings).length <= 4,
          'balances and positions, at most twice for the time that has passed',
        );
      });
    });
  },
  { tierQuotas: { ...tierQuotas, free } },
);
