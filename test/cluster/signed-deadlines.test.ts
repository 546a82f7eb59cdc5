import t from 'tap';
import { privateKeyToAccount } from 'viem/accounts';
import { signRestore, signWithdrawal } from '../../src/client/sign-withdrawal.js';
import { limits } from '../../src/config/limits.js';
import { Market } from '../chain/dev/market.js';
import { RestClient } from '../e2e/rest-client.js';
import { startTestService } from '../e2e/running-service.js';
import { SocketClient } from '../e2e/socket-client.js';

/** A gateway hands a signed withdrawal to the engine, whose time decides, and answers as a service of one process does. */
const market = await Market.open(t);
const { chain, maker } = market;
const chainId = String(chain.chainId);
const signer = privateKeyToAccount(maker.privateKey);
const offer = await market.sign(market.pool('testWETH', 1800n, true));
let nonce = 0n;

const alone = await startTestService({ chain, walletKey: null });
t.teardown(() => alone.stop());
process.env.QUOTEBOOK_TEST_THROUGH = 'gateway';
const gateway = await startTestService({ chain, walletKey: null });
t.teardown(() => gateway.stop());
delete process.env.QUOTEBOOK_TEST_THROUGH;
await market.publish(market.stranger.address, [offer]);

const SIGNERS = { 'DELETE /quotes': signWithdrawal, 'POST /quotes/restore': signRestore } as const;
type Operation = keyof typeof SIGNERS;

/** The answers of both to a message whose deadline is that far from the newest block. */
async function answers(operation: Operation, aheadSeconds: number) {
  // Engine time is that of a block which was just read: a second later such a deadline is one second nearer.
  await market.client.mine({ blocks: 1 });
  nonce += 1n;
  const deadline = (await market.now()) + aheadSeconds;
  const body = await SIGNERS[operation](signer, chainId, { quoteIds: [offer.quoteId], nonce, deadline });
  const [method, path] = operation.split(' ') as ['DELETE' | 'POST', string];
  const ask = async ({ httpUrl, apiKey }: typeof alone) => {
    const rest = new RestClient(httpUrl, apiKey);
    const { status, body: answer } = await rest.send(method, path, body, { accept: 'application/problem+json' });
    return { status, code: answer.code, param: answer.param, detail: answer.detail };
  };
  return Promise.all([ask(alone), ask(gateway)]);
}

for (const operation of Object.keys(SIGNERS) as Operation[]) {
  await t.test(
    `${operation}: a deadline that is one second too far ahead is refused the same at a gateway`,
    async (t) => {
      let [ofEngine, ofGateway] = await answers(operation, limits.signedAheadSeconds + 1);
      // On a machine that stands still for a second the deadline has come near enough.
      for (let tries = 0; tries < 5 && (ofEngine.status === 200 || ofGateway.status === 200); tries += 1) {
        [ofEngine, ofGateway] = await answers(operation, limits.signedAheadSeconds + 1);
      }
      const detail = `The deadline is more than ${limits.signedAheadSeconds} seconds ahead`;
      t.strictSame(ofEngine, { status: 400, code: 'invalid_parameter', param: 'deadline', detail });
      t.strictSame(ofGateway, ofEngine);
    },
  );

  await t.test(`${operation}: the last second that is near enough is taken by both`, async (t) => {
    const [ofEngine, ofGateway] = await answers(operation, limits.signedAheadSeconds);
    t.strictSame([ofEngine.status, ofGateway.status], [200, 200]);
  });

  await t.test(`${operation}: a deadline that has passed is refused the same at a gateway`, async (t) => {
    const [ofEngine, ofGateway] = await answers(operation, -1);
    const detail = 'The deadline has passed';
    t.strictSame(ofEngine, { status: 400, code: 'invalid_parameter', param: 'deadline', detail });
    t.strictSame(ofGateway, ofEngine);
  });
}

await t.test('a socket of a gateway refuses it with the same words', async (t) => {
  const socket = await SocketClient.open(gateway.wsUrl, 'quotebook.v2.json');
  t.teardown(() => socket.end());
  await socket.auth(gateway.apiKey);
  nonce += 1n;
  // A minute: whatever time it takes to be sent.
  const deadline = (await market.now()) + limits.signedAheadSeconds + 60;
  const body = await signWithdrawal(signer, chainId, { quoteIds: [offer.quoteId], nonce, deadline });
  const message = `The deadline is more than ${limits.signedAheadSeconds} seconds ahead`;
  t.match(await socket.ask({ type: 'WITHDRAW_QUOTES', body }), { type: 'ERROR', code: 'invalid_parameter', message });
});
