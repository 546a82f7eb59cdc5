import t from 'tap';
import { broadcast, type BroadcastOutcome } from '../../src/chain/broadcast.js';
import { RpcError, RpcUnreachable } from '../../src/chain/rpc-errors.js';
import type { Rpc } from '../../src/engine/ports.js';

const signed = { txHash: '0x01', raw: '0x02' } as const;
const refusal = (message: string) => new RpcError(-32000, message, null);

/** A node that refuses the transaction in these words; `found`: what it says of it, or why nothing. */
function node(why: Error, found: unknown): Rpc {
  return {
    async request({ method, params }) {
      if (method === 'eth_sendRawTransaction') throw why;
      t.strictSame([method, params], ['eth_getTransactionByHash', [signed.txHash]]);
      if (found instanceof Error) throw found;
      return found;
    },
  };
}

t.test('a refusal is read by its words', async (t) => {
  for (const [message, outcome] of [
    ['already known', 'SENT'],
    ['nonce too high: address 0x01, tx: 8 state: 7', 'SENT'],
    ['context deadline exceeded', 'SENT'],
    ['request timed out', 'SENT'],
    ['nonce too low: next nonce 5, tx nonce 4', 'NONCE_USED'],
    ['replacement transaction underpriced', 'NONCE_PENDING'],
    ['transaction underpriced', 'UNDERPRICED'],
    ['max fee per gas less than block base fee', 'UNDERPRICED'],
  ] satisfies [string, BroadcastOutcome][]) {
    t.equal(await broadcast(node(refusal(message), null), signed), outcome, message);
  }
});

t.test('what a node took is sent, and so may be what no answer came to', async (t) => {
  const asked: unknown[] = [];
  const taking: Rpc = { request: (request) => Promise.resolve(asked.push(request)) };
  t.equal(await broadcast(taking, signed), 'SENT');
  t.strictSame(asked, [{ method: 'eth_sendRawTransaction', params: ['0x02'] }]);
  const limit = new RpcError(-32005, 'limit exceeded', null);
  for (const why of [new RpcUnreachable('no answer'), limit]) {
    t.equal(await broadcast(node(why, null), signed), 'SENT', why.message);
  }
});

t.test('what is refused, and known to the node, was taken by an earlier try', async (t) => {
  for (const message of ['nonce too low', 'insufficient funds for gas']) {
    t.equal(await broadcast(node(refusal(message), { hash: signed.txHash }), signed), 'SENT', message);
  }
});

t.test('where another node took over meanwhile, the one before may have taken what this one refuses', async (t) => {
  for (const [message, takesOverAt] of [
    ['nonce too low', 'eth_sendRawTransaction'],
    ['nonce too low', 'eth_getTransactionByHash'],
    ['replacement transaction underpriced', 'eth_sendRawTransaction'],
    ['insufficient funds for gas', 'eth_sendRawTransaction'],
  ] as const) {
    const refusing = node(refusal(message), null);
    let turn = 3;
    const rpc: Rpc = {
      get turn() {
        return turn;
      },
      request(asked) {
        if (asked.method === takesOverAt) turn += 1;
        return refusing.request(asked);
      },
    };
    t.equal(await broadcast(rpc, signed), 'SENT', `${message}, ${takesOverAt}`);
  }
});

t.test('where the node does not say whether it knows it, it may have been taken', async (t) => {
  const silence = new RpcUnreachable('no answer');
  t.equal(await broadcast(node(refusal('nonce too low'), silence), signed), 'SENT');
});

t.test('any other refusal of what the node does not know is told', async (t) => {
  const why = refusal('insufficient funds for gas');
  await t.rejects(broadcast(node(why, null), signed), why);
});
