import t from 'tap';
import { QuietChain, request } from '../wallet-fixture.js';

const chain = await QuietChain.start();
t.teardown(() => chain.anvil.stop());

await t.test('a gap that another signer left is closed, and what waits behind it is mined', async (t) => {
  const run = await chain.newRun(t);
  const hash = await chain.sendAsStranger(run.account, 0);
  const sent = run.wallet.send(request('0x09'));
  await run.inPool(chain, 2);
  await chain.client.dropTransaction({ hash });
  await run.whileMining(chain, sent);
  t.match(await chain.minedOf(run.account), [
    { nonce: 0, data: '0x' },
    { nonce: 1, data: '0x09' },
  ]);
});

await t.test('one that two transactions wait behind is closed once', async (t) => {
  const run = await chain.newRun(t);
  const hash = await chain.sendAsStranger(run.account, 0);
  const sent = Promise.all([run.wallet.send(request('0x0a')), run.wallet.send(request('0x0b'))]);
  await run.inPool(chain, 3);
  await chain.client.dropTransaction({ hash });
  run.clock.advance(20_000); // both have waited long enough at the same moment
  await run.whileMining(chain, sent);
  t.match(await chain.minedOf(run.account), [
    { nonce: 0, data: '0x' },
    { nonce: 1, data: '0x0a' },
    { nonce: 2, data: '0x0b' },
  ]);
  t.strictSame(
    run.troubles.filter((what) => what.startsWith('0:')),
    ['0: nobody sends it: closed by an empty transaction'],
  );
  t.equal(run.wallet.spending.spentWei, await chain.paidBy(run.account));
});

await t.test('one that another signer closes after all takes no empty transaction more', async (t) => {
  const run = await chain.newRun(t);
  const hash = await chain.sendAsStranger(run.account, 0);
  const sent = run.wallet.send(request('0x0c'));
  await run.inPool(chain, 2);
  await chain.client.dropTransaction({ hash });
  await run.until(async () => (await chain.poolOf(run.account))[0]?.data === '0x');
  const [empty] = await chain.poolOf(run.account);
  if (empty === undefined) throw new Error('It waits in the pool');
  await chain.client.dropTransaction({ hash: empty.hash });
  await chain.sendAsStranger(run.account, 0);
  await run.whileMining(chain, sent);
  await run.until(() => run.troubles.some((what) => what.startsWith('0: another transaction of the same key')));
  const lostAtMs = run.clock.monotonicMs();
  await run.until(() => run.clock.monotonicMs() > lostAtMs + 60_000);
  t.strictSame(await chain.poolOf(run.account), []);
  t.equal((await chain.minedOf(run.account)).length, 2);
});
