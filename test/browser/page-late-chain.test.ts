import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { RpcProxy } from '../chain/rpc-proxy.js';
import { connect, DESKTOP, inPage, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const proxy = await RpcProxy.open(chain.rpcUrl);
t.teardown(() => proxy.close());
const settlement = { ...chain.profile.settlement, rpcUrls: [proxy.url], wsUrl: null };
const limits = { wsHeartbeatMs: 200, chainSilenceMs: 2_000, rpcTimeoutMs: 500, rpcAttempts: 1, chainMaxBackoffMs: 100 };

await withPage(
  async ({ browser, service, maker, call }) => {
    await t.test('while a chain does not answer, the page says since when, and lets nobody quote', async (t) => {
      await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool: call }, async (page) => {
        await connect(page, 1);
        await maker.requestQuotes(call, 2n * ONE);
        await until(page, '#requests-rows', 'wants to buy 2.00');
        const place = page.locator('#quote-do');
        const answer = page.locator('#requests-rows button:has-text("Answer")');
        await page.waitForSelector('#outage', { state: 'hidden' });
        t.strictSame([await place.isEnabled(), await answer.isEnabled()], [true, true]);

        proxy.trick = () => 'HANG';
        await until(page, '#outage', 'settlement: no answer for');
        const late =
          /^The book has not followed the chain since (\d\d:\d\d:\d\d)\. What .* Reason: settlement: no answer for (\d+) s\.$/;
        const [, since, seconds] = late.exec((await page.textContent('#outage'))?.trim() ?? '') ?? [];
        t.ok(since !== undefined, 'since when');
        await page.waitForFunction(
          (before) => !document.querySelector('#outage')?.textContent.includes(before),
          `for ${seconds ?? ''} s.`,
        );
        t.equal(
          late.exec((await page.textContent('#outage'))?.trim() ?? '')?.[1],
          since,
          'the beginning stays as it was',
        );
        t.match(await page.textContent('#settlement'), /^late: settlement: no answer for/);
        t.match(await page.textContent('#stream'), /^block \d+/, 'the other chain is followed');
        t.equal(await page.getAttribute('#connection', 'data-state'), 'OPEN');
        t.strictSame([await place.isDisabled(), await answer.isDisabled()], [true, true]);

        proxy.trick = () => 'PASS';
        await page.waitForSelector('#outage', { state: 'hidden' });
        t.match(await page.textContent('#settlement'), /^block \d+/);
        await page.fill('#quote-ask', '0.15');
        await page.fill('#quote-ask-size', '1');
        await place.click();
        await until(page, '#quote-note', 'Placed an ask for 1.00');
        t.ok(await answer.isEnabled());
      });
    });
  },
  { chain, profile: { ...chain.profile, settlement }, limits },
);
