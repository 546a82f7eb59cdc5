import { openChains } from '../../src/app/chain-wiring.js';
import { followedBook } from '../../src/app/book-views.js';
import { QuoteDigest, QuoteSignature } from '../../src/auth/quote-signature.js';
import { loadSecp256k1 } from '../../src/auth/secp256k1.js';
import { InlineSignatureChecks } from '../../src/auth/signature-pool.js';
import type { Profile } from '../../src/chain/contracts/deployments.js';
import { SubmitterStopped } from '../../src/chain/follow/book-port.js';
import { ChainMoved } from '../../src/chain/follow/cursor.js';
import { RpcError, RpcUnreachable } from '../../src/chain/rpc/rpc-errors.js';
import { ChainAnswerError } from '../../src/chain/rpc/rpc-response.js';
import { type Limits, limits as defaultLimits } from '../../src/config/limits.js';
import type { ChainRole } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import { ExpiryTimer } from '../../src/engine/expiry-timer.js';
import type { Rpc } from '../../src/chain/rpc/rpc-client.js';
import type { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import { REORG_DEPTH } from '../engine/samples.js';
import type { SeededRandom } from './seeded-random.js';
import type { SimClock } from './sim-clock.js';
import { CHAIN_ID, SIM_PROFILE } from './sim-quotes.js';
import type { Chains } from '../../src/app/chains.js';

const signatures = new QuoteSignature(new QuoteDigest(CHAIN_ID, 1000), await loadSecp256k1());

/** Small enough for short lives: ranges are cut, positions told and orders swept all the time. */
const SIM_LIMITS: Limits = {
  ...defaultLimits,
  reorgDepth: REORG_DEPTH,
  logRangeBlocks: 4,
  lowerHeadMs: 60,
  positionEveryBlocks: 3,
  checksPerTurn: 4,
  journalRetryMs: 10,
  chainPollMs: 20,
  chainBackoffMs: 10,
  chainMaxBackoffMs: 80,
  sweepMs: 400,
  sweepSlice: 3,
  chainStopMs: 100,
  rpcCallsPerBatch: 8,
  statesPerSlice: 3,
  restatedPerCommand: 2,
  touchedSlice: 2,
};

/** A process's engine. */
export interface Following {
  readonly engine: Engine;
  readonly sequencer: Sequencer;
  readonly time: EngineTime;
}

export interface LifeOptions {
  readonly profile?: Profile;
  readonly limits?: Partial<Limits>;
  readonly onLateLogs?: (role: ChainRole, events: number) => void;
}

/** The real readers of both chains, and the timer of what is due, in one life of a process. */
export class ChainLife {
  readonly chains: Chains;
  /** What the readers stumbled over that no fault of a node, a chain or a disk explains. */
  readonly bugs: Error[] = [];
  readonly #expiry: ExpiryTimer;

  constructor(
    { engine, sequencer, time }: Following,
    rpc: Readonly<Record<ChainRole, Rpc>>,
    clock: SimClock,
    random: SeededRandom,
    { profile = SIM_PROFILE, limits: others = {}, onLateLogs = () => undefined }: LifeOptions = {},
  ) {
    const limits = { ...SIM_LIMITS, ...others };
    this.#expiry = new ExpiryTimer({ engine, sequencer, time, clock, retryMs: limits.journalRetryMs });
    this.chains = openChains({
      profile,
      rpc,
      operator: null,
      book: followedBook(engine, sequencer),
      known: () => engine.known(),
      readSoFar: { position: (role) => engine.positions()[role], trail: (role) => engine.trail(role) },
      signatures,
      signatureChecks: new InlineSignatureChecks(signatures, clock, limits.checksPerTurn),
      clock,
      random,
      limits,
      onSettlementTime: (timestamp) => time.observe(timestamp),
      nowSeconds: () => Math.floor(time.nowMs() / 1000),
      onRefusedEvent: () => undefined,
      onIgnoredEvent: () => undefined,
      onLateLogs,
      onTxTrouble: () => undefined,
      listener: {
        onCaughtUp: () => undefined,
        onFailure: (error) => {
          if (!isExpected(error)) this.bugs.push(error);
        },
        onHalt: (error) => this.bugs.push(error),
        onSuccess: () => undefined,
        onProgress: () => undefined,
      },
    });
    this.chains.follower.start();
  }

  /** Both chains have been read to these heads. */
  hasRead(heads: Readonly<Record<ChainRole, { readonly hash: string }>>): boolean {
    const { follower } = this.chains;
    const isRead = (role: ChainRole): boolean => this.chains.readTo(role)?.blockHash === heads[role].hash;
    return follower.caughtUp && isRead('settlement') && isRead('stream') && !this.chains.hasWaiting();
  }

  async stop(): Promise<void> {
    this.#expiry.stop();
    await this.chains.stop();
  }
}

function isExpected(error: Error): boolean {
  const kinds = [RpcError, RpcUnreachable, ChainAnswerError, ChainMoved, SubmitterStopped];
  return kinds.some((kind) => error instanceof kind) || ('code' in error && error.code === 'FAILED');
}
