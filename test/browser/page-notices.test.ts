import t, { type Test } from 'tap';
import type { Page } from 'playwright-core';
import { privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient } from '../../src/client/node.js';
import { signRestore, signWithdrawal } from '../../src/client/sign-withdrawal.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { DevActions } from '../chain/dev-actions.js';
import { documentedPorts } from '../e2e/documented-network.js';
import { connect, DESKTOP, fillIn, inPage, until, withPage } from './in-page.js';

const ONE = 10n ** 18n;
/** The account whose quotes `MarketMaker` signs. */
const MAKER = 1;
/** The one that `MarketMaker` fills and asks as. */
const TAKER = 4;
const STRANGER = 5;

await withPage(async ({ browser, service, maker }) => {
  const chain = new DevActions(service.chain);
  const chainId = String(service.chain.chainId);
  const client = new OrderbookClient({ url: service.httpUrl, apiKey: service.apiKey, chainId }, documentedPorts);
  t.teardown(() => client.close());
  const [own, taker] = [service.chain.accounts[MAKER], service.chain.accounts[TAKER]];
  if (own === undefined || taker === undefined) throw new Error('a chain has accounts');
  const calls = service.chain.pools.filter(({ poolKey }) => poolKey.isCallPool);
  const untouched = (): Pool => {
    const pool = calls.shift();
    if (pool === undefined) throw new Error('a chain has a call for each test');
    return pool;
  };
  const quoteIn = async ({ poolAddress }: Pool): Promise<Hex> => {
    const { validQuotes } = await client.rest.orders({ provider: own.address });
    const found = validQuotes.find((quote) => quote.poolAddress === poolAddress);
    if (found === undefined) throw new Error('the maker has a quote in the pool');
    return found.quoteId;
  };
  /** Opens the page with the wallet of this account. */
  const asAccount = (t: Test, account: number, pool: Pool, use: (page: Page) => Promise<void>): Promise<void> =>
    inPage(t, browser, { service, options: { viewport: DESKTOP }, pool }, async (page) => {
      await connect(page, account);
      await use(page);
    });
  const notices = (page: Page): Promise<string[]> => page.locator('#notices > div span').allTextContents();

  await t.test('a fill: how much, and what is left', async (t) => {
    const pool = untouched();
    await asAccount(t, MAKER, pool, async (page) => {
      await maker.ask(pool, ONE / 20n, ONE);
      await maker.fill(pool, ONE / 4n);
      await until(page, '#notices', 'was filled: 0.25, 0.75 left.');
      await maker.fill(pool, (3n * ONE) / 4n);
      await until(page, '#notices', 'was filled: 0.75, nothing is left.');
      const [newest] = await notices(page);
      t.match(newest, /^Your ask at 0\.05000 on testWETH \w+ \d+ C was filled: 0\.75, nothing is left\.$/);
    });
  });

  await t.test('a fill that a reorg takes back, and a quote that it takes away', async (t) => {
    const pool = untouched();
    await asAccount(t, MAKER, pool, async (page) => {
      await maker.ask(pool, ONE / 20n, ONE);
      await maker.fill(pool, ONE / 4n);
      await until(page, '#notices', 'was filled: 0.25');
      await chain.reorg(1);
      await until(page, '#notices', 'is back: a reorg took back what had happened to it.');
      await maker.ask(pool, ONE / 25n, ONE);
      await until(page, '#quotes-rows', '0.04000');
      await chain.reorg(1);
      await until(page, '#notices', 'Your ask at 0.04000 on ');
      await until(page, '#notices', 'is gone: a reorg took it back.');
    });
  });

  await t.test('a cancelled quote', async (t) => {
    const pool = untouched();
    await maker.ask(pool, ONE / 20n, ONE);
    await asAccount(t, MAKER, pool, async (page) => {
      await chain.cancel(own.address, pool.poolAddress, [await quoteIn(pool)]);
      await until(page, '#notices', 'was cancelled on chain.');
    });
  });

  await t.test('a quote that is withdrawn, and shown again', async (t) => {
    const pool = untouched();
    await maker.ask(pool, ONE / 20n, ONE);
    await asAccount(t, MAKER, pool, async (page) => {
      const signer = privateKeyToAccount(own.privateKey);
      const terms = { quoteIds: [await quoteIn(pool)], deadline: (await chain.now()) + 600 };
      await client.rest.withdrawQuotes(await signWithdrawal(signer, chainId, { ...terms, nonce: 1n }));
      await until(page, '#notices', 'was withdrawn: requested. “Restore” under “Account” shows it again.');
      await client.rest.restoreQuotes(await signRestore(signer, chainId, { ...terms, nonce: 2n }));
      await until(page, '#notices', 'is shown again.');
    });
  });

  await t.test('a quote for which the allowance is taken away and given again', async (t) => {
    const pool = untouched();
    await maker.ask(pool, ONE / 20n, ONE);
    const { erc20Router } = service.chain.contracts;
    await asAccount(t, MAKER, pool, async (page) => {
      await chain.approve(own.address, pool.poolKey.base, erc20Router, 0n);
      await until(page, '#notices', 'cannot be filled: Insufficient collateral allowance. It returns when it can.');
      await chain.approve(own.address, pool.poolKey.base, erc20Router);
      await until(page, '#notices', 'can be filled again.');
    });
  });

  await t.test('a request in an option that the wallet quotes, and none in another', async (t) => {
    const [pool, other] = [untouched(), untouched()];
    await maker.ask(pool, ONE / 20n, ONE);
    await asAccount(t, MAKER, pool, async (page) => {
      await until(page, '#quotes-rows', '0.05000');
      await maker.requestQuotes(other, 3n * ONE);
      await until(page, '#requests-rows', 'wants to buy 3.00');
      t.strictSame(await notices(page), []);
      await maker.requestQuotes(pool, 2n * ONE);
      await until(page, '#notices', "Answer in the makers' inbox.");
      t.match(await notices(page), [/^0x\w{4}…\w{4} wants to buy 2\.00 testWETH \w+ \d+ C\. Answer/]);
    });
  });

  await t.test('a quote for the wallet alone, and none for another wallet', async (t) => {
    const pool = untouched();
    await asAccount(t, TAKER, pool, async (page) => {
      await maker.ask(pool, ONE / 20n, ONE);
      await maker.askFor(taker.address, pool, ONE / 25n, 2n * ONE);
      await until(page, '#notices', 'Take it under Trade.');
      t.match(await notices(page), [
        /^0x\w{4}…\w{4} offers to sell to you alone 2\.00 testWETH \w+ \d+ C at 0\.04000\./,
      ]);
      await connect(page, STRANGER);
      await maker.askFor(taker.address, pool, ONE / 26n, 2n * ONE);
      await maker.ask(pool, ONE / 30n, 777n * ONE);
      await until(page, '#tape-rows', '777');
      t.notMatch((await notices(page)).join(), '0.03846');
    });
  });

  await t.test('a request that names the wallet among its makers, and none that names others', async (t) => {
    const pool = untouched();
    await asAccount(t, MAKER, pool, async (page) => {
      const [stranger] = service.chain.accounts.slice(STRANGER);
      if (stranger === undefined) throw new Error('a chain has accounts');
      const validUntil = (await chain.now()) + 600;
      const received = async (): Promise<string> => (await page.textContent('#requests-rows')) ?? '';
      // The subscription by the wallet's address may begin after the dialog is closed, and goes on from before.
      await maker.openRfq(pool, 6n * ONE, validUntil, { makers: [own.address] });
      await until(page, '#requests-rows', 'wants to buy 6.00');
      await maker.openRfq(pool, 5n * ONE, validUntil, { makers: [stranger.address] });
      await maker.openRfq(pool, 8n * ONE, validUntil, { makers: [own.address] });
      await until(page, '#requests-rows', 'wants to buy 8.00');
      t.notMatch(await received(), /wants to buy 5\.00/);
    });
  });

  await t.test('a request of the wallet that has expired', async (t) => {
    const pool = untouched();
    await asAccount(t, TAKER, pool, async (page) => {
      // The newest block may be older than this machine's time, or ahead of it.
      const validUntil = Math.max(await chain.now(), Math.ceil(Date.now() / 1000)) + 5;
      await maker.openRfq(pool, 7n * ONE, validUntil);
      await until(page, '#rfqs-rows', 'buy 7.00');
      await page.locator('#rfqs-rows tr', { hasText: 'buy 7.00' }).getByRole('button', { name: 'Offers' }).click();
      await until(page, '#offers-rows', 'to compare');
      await chain.moveTimeTo(validUntil + 1);
      await until(page, '#notices', 'Your request to buy 7.00 testWETH ');
      t.match(await notices(page), [/ has expired\. Ask again for new offers\.$/]);
      await until(page, '#offers-rows', 'No offers. The request has ended: ask again.');
    });
  });

  await t.test('a notice goes after a while, and not while it is in use', async (t) => {
    const pool = untouched();
    await inPage(t, browser, { service, options: { viewport: DESKTOP }, pool }, async (page) => {
      await page.clock.install();
      await page.reload();
      await page.waitForSelector('#pool[aria-busy=false]');
      await connect(page, MAKER);
      await maker.ask(pool, ONE / 20n, ONE);
      await maker.fill(pool, ONE / 4n);
      await until(page, '#notices', '0.75 left.');
      await maker.fill(pool, ONE / 2n);
      await until(page, '#notices', '0.25 left.');
      await page.focus('#notices > div:last-child button');
      await page.clock.runFor(16_000);
      t.match(await notices(page), [/0\.75 left\.$/]);
      await page.focus('#wallet');
      await page.clock.runFor(16_000);
      t.strictSame(await notices(page), []);
    });
  });

  await t.test('quotes that have expired', async (t) => {
    const pool = untouched();
    await maker.ask(pool, ONE / 20n, ONE);
    await asAccount(t, MAKER, pool, async (page) => {
      const { validQuotes } = await client.rest.orders({ provider: own.address });
      await chain.moveTimeTo(Math.max(...validQuotes.map(({ deadline }) => deadline)) + 1);
      await until(page, '#notices', 'has expired. Place it again to stay in the book.');
    });
  });

  await t.test('a quote on an option that has expired is not placed', async (t) => {
    const pool = untouched();
    await asAccount(t, MAKER, pool, async (page) => {
      await chain.moveTimeTo(pool.poolKey.maturity);
      await fillIn(page, { 'quote-ask': '0.05', 'quote-ask-size': '1' });
      await page.click('#quote-do');
      await until(page, '#quote-note', 'Quote expired');
      t.match(await page.textContent('#quote-note'), /^Not placed: /);
    });
  });
});
