import t, { type Test } from 'tap';
import { startLocalChain } from '../../../src/chain/dev/local-chain.js';
import type { Rpc } from '../../../src/chain/rpc/rpc-client.js';
import { Following, httpRpc } from '../following.js';

const chain = await startLocalChain();
t.teardown(() => chain.stop());

/** A way to a node on which questions can be held up. */
class HeldRpc implements Rpc {
  asked = 0;
  held = 0;
  readonly #rpc = httpRpc([chain.rpcUrl]);
  #gate: Promise<void> | null = null;
  #open: () => void = () => undefined;
  /** Told of each question that is held up. */
  onHeld: () => void = () => undefined;

  hold(): void {
    this.#gate = new Promise((resolve) => (this.#open = resolve));
  }

  letGo(): void {
    this.#open();
    this.#gate = null;
  }

  async request(args: Parameters<Rpc['request']>[0]): Promise<unknown> {
    this.asked++;
    if (this.#gate !== null) {
      this.held++;
      this.onHeld();
      await this.#gate;
    }
    return this.#rpc.request(args);
  }
}

async function follow(t: Test, settlement: HeldRpc, stream: HeldRpc): Promise<Following> {
  const following = await Following.start({ profile: chain.profile, rpc: { settlement, stream } });
  t.teardown(async () => {
    settlement.letGo();
    await following.stop();
  });
  return following;
}

t.test('the stream is asked while the settlement chain has not answered yet', async (t) => {
  const [settlement, stream] = [new HeldRpc(), new HeldRpc()];
  const following = await follow(t, settlement, stream);
  await following.until(() => following.chains.follower.caughtUp);
  let askedBefore = Infinity;
  settlement.onHeld = () => (askedBefore = Math.min(askedBefore, stream.asked));
  settlement.hold();
  await following.until(() => stream.asked > askedBefore);
  t.equal(settlement.held, 1);
});

t.test('while it catches up, the stream is not asked before the settlement chain was read', async (t) => {
  const [settlement, stream] = [new HeldRpc(), new HeldRpc()];
  settlement.hold();
  const following = await follow(t, settlement, stream);
  await following.until(() => settlement.held > 0);
  t.equal(stream.asked, 0);
  settlement.letGo();
  await following.until(() => following.chains.follower.caughtUp);
  t.ok(stream.asked > 0);
});
