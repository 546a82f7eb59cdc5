import t from 'tap';
import { maxUint256 } from 'viem';
import { poolAbi } from '../../src/chain/contracts/abi.js';
import type { Hex } from '../../src/engine/quote.js';
import { DevActions } from '../chain/dev-actions.js';
import { RestClient } from '../e2e/rest-client.js';
import { connect, DESKTOP, giveKey, inPage, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;
const TAKER = 4;
const STRANGER = 5;
const MAKER = 6;

await withPage(
  async ({ browser, service, maker, call }) => {
    const options = { viewport: DESKTOP };
    const { keys } = service;
    const taker = service.chain.accounts[TAKER]?.address ?? '0x';
    await maker.ask(call, ONE / 20n, ONE);
    await maker.askFor(taker, call, ONE / 25n, 7n * ONE);

    await t.test('a wallet that signs in sees its private quotes and requests, and no other wallet does', async (t) => {
      await inPage(t, browser, { service, options, pool: call }, async (page) => {
        const best = '#ladder-rows .ask:nth-child(9)';
        await until(page, best, '0.05000');
        await connect(page, TAKER);
        await until(page, best, '0.04000');
        await until(page, '#ticket-average', '0.04000');
        await maker.askFor(taker, call, ONE / 21n, 3n * ONE);
        await until(page, '#notices', 'offers to sell to you alone 3.00');
        await page.click('#rfq-ask');
        await until(page, '#rfqs-rows', 'waiting for quotes');
        await until(page, '#offers-rows', 'for you');

        await connect(page, STRANGER);
        await until(page, best, '0.05000');
        await until(page, '#rfqs-rows', 'Ask makers for a size');
        await connect(page, TAKER);
        await until(page, best, '0.04000');
        await until(page, '#rfqs-rows', 'waiting for quotes');
        await page.click('#wallet');
        await page.click('#wallets-leave');
        await until(page, best, '0.05000');
        await until(page, '#wallet', 'Connect wallet');
      });
    });

    await t.test('a wallet that does not sign is not connected, and the page says why', async (t) => {
      await inPage(t, browser, { service, options, pool: call }, async (page) => {
        await page.route(service.chain.rpcUrl, async (route) => {
          const { id, method } = route.request().postDataJSON() as { readonly id: number; readonly method: string };
          if (method !== 'personal_sign') return route.fallback();
          return route.fulfill({ json: { jsonrpc: '2.0', id, error: { code: 4001, message: 'The user refuses' } } });
        });
        await page.click('#wallet');
        t.ok(await page.isVisible('#wallets-proof'));
        await page.click(`#wallets-list li:nth-child(${TAKER + 1}) button`);
        await until(page, '#wallets-problem', 'The user refuses');
        t.equal(await page.textContent('#wallet'), 'Connect wallet');
        await page.unrouteAll();
        await page.click(`#wallets-list li:nth-child(${TAKER + 1}) button`);
        await page.waitForSelector('#wallets', { state: 'hidden' });
        await until(page, '#ticket-average', '0.04000');
      });
    });

    await t.test('when the server ends the session, the page shows what is public and asks to connect', async (t) => {
      // The page may be reading a cover of the wallet's request, again with the key alone.
      const hides = /\/rfqs\/[^/]+\/cover$/;
      await inPage(t, browser, { service, options, pool: call, hides }, async (page) => {
        const verified = page.waitForResponse((response) => response.url().endsWith('/auth/verify'));
        await connect(page, TAKER);
        const { token } = (await (await verified).json()) as { readonly token: string };
        await until(page, '#ladder-rows .ask:nth-child(9)', '0.04000');
        await new RestClient(service.httpUrl, token).post('/auth/signout', {});
        await until(page, '#wallets-problem', 'The sign-in has ended');
        await page.click('#wallets-close');
        await until(page, '#ladder-rows .ask:nth-child(9)', '0.05000');
        await page.waitForSelector('#connection[data-state=OPEN]');
        await connect(page, TAKER);
        await until(page, '#ladder-rows .ask:nth-child(9)', '0.04000');
      });
    });

    await t.test(
      'a maker sees its private quote with any key, and cancels it where the service shows it no more',
      async (t) => {
        const [every, plain] = [await keys.create('paid', 'maker', ['takers:all']), await keys.create('paid', 'plain')];
        await inPage(t, browser, { service, options, pool: call }, async (page) => {
          await giveKey(page, every.key);
          await connect(page, MAKER);
          await maker.requestQuotes(call, 9n * ONE);
          const request = page.locator('#requests-rows tr', { hasText: 'wants to buy 9.00' });
          await request.locator('input').fill('0.1');
          await request.getByRole('button', { name: 'Answer' }).click();
          await until(page, '#quotes-rows', 'live; private, for 0x');
          const quoteId = (await page.getAttribute('#quotes-rows button', 'data-key'))?.split(' ')[0] as Hex;

          await giveKey(page, plain.key);
          await until(page, '#wallets-problem', 'Another key needs another sign-in');
          await page.click('#wallets-close');
          await connect(page, MAKER);
          await until(page, '#quotes-rows', 'live; private, for 0x');
          await page.route(/\/orders\?/, (route) => route.fulfill({ json: { validQuotes: [], invalidQuotes: [] } }));
          await until(page, '#quotes-rows', 'can be filled until');
          t.match(
            await page.textContent('#quotes-rows tr'),
            /9\.00can be filled until \d\d:\d\d:\d\d; private, for 0x/,
          );
          await page.click('#cancel-all');
          await until(page, '#account-note', 'Cancelled 1 quote in transaction 0x');
          await until(page, '#quotes-rows', 'This wallet has no quotes');
          const filled = await new DevActions(service.chain).client.readContract({
            address: call.poolAddress,
            abi: poolAbi,
            functionName: 'getQuoteOBFilledAmount',
            args: [service.chain.accounts[MAKER]?.address ?? '0x', quoteId],
          });
          t.equal(filled, maxUint256);
        });
      },
    );
  },
  { privacy: 'proven', limits: { wsHeartbeatMs: 200, keyWatchMs: 20 } },
);
