import { followedBook } from '../../src/app/book-views.js';
import { openChains, rpcOptions, watchHeads } from '../../src/app/chain-wiring.js';
import { QuoteDigest, QuoteSignature } from '../../src/auth/quote-signature.js';
import { loadSecp256k1 } from '../../src/auth/secp256k1.js';
import { InlineSignatureChecks } from '../../src/auth/signature-pool.js';
import type { Profile } from '../../src/chain/contracts/deployments.js';
import type { DevClient } from '../../src/chain/dev/dev-client.js';
import { LOCAL_CHAIN_ID } from '../../src/chain/dev/local-chain.js';
import type { HeadWatch } from '../../src/chain/follow/head-watch.js';
import type { FollowListener } from '../../src/chain/follow/follower.js';
import type { StreamRefusal } from '../../src/chain/follow/published-quotes.js';
import type { IgnoredEvent } from '../../src/chain/follow/settlement-events.js';
import { HttpRpc, type Rpc } from '../../src/chain/rpc/rpc-client.js';
import { IntentLog } from '../../src/chain/wallet/intent-log.js';
import type { OperatorAccount } from '../../src/chain/wallet/open-wallets.js';
import { type Limits, limits as defaultLimits } from '../../src/config/limits.js';
import type { ChainRole } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import type { EngineEvent } from '../../src/engine/event.js';
import { ExpiryTimer } from '../../src/engine/expiry-timer.js';
import type { Clock } from '../../src/engine/ports.js';
import type { Hex, Order, Origin } from '../../src/engine/quote.js';
import { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { MemoryJournal } from '../engine/memory-journal.js';
import { newEngine } from '../engine/samples.js';
import { MemoryKeyValueStore } from './memory-key-value-store.js';
import type { Chains } from '../../src/app/chains.js';

/** Far longer than anything that is waited for takes: a hang is to become an error. */
const PATIENCE_MS = 30_000;

export interface FollowingOptions {
  readonly profile: Profile;
  readonly rpc?: Partial<Record<ChainRole, Rpc>>;
  readonly engine?: Engine;
  readonly limits?: Partial<Limits>;
  /** Clock of engine time between blocks; absent: the system's clock. */
  readonly timeClock?: Clock;
  /** Engine time to start at, milliseconds. */
  readonly startMs?: number;
  readonly operator?: OperatorAccount;
  /** Blocks are announced by the profile's WebSocket endpoints. */
  readonly hasSubscription?: boolean;
  readonly onEvents?: (events: readonly EngineEvent[]) => void;
  readonly onHalt?: (error: Error) => void;
  readonly onLateLogs?: (role: ChainRole, events: number) => void;
  /** Whether the log takes a command now. */
  readonly takes?: () => boolean;
}

export function httpRpc(urls: readonly string[], limits: Limits = defaultLimits, chainId = LOCAL_CHAIN_ID): HttpRpc {
  return new HttpRpc(urls, chainId, rpcOptions(limits), systemClock, systemRandom, () => undefined);
}

/** A wallet without a past, which nobody remembers when the test is over. */
export function newOperator(privateKey: Hex): OperatorAccount {
  const intents = new IntentLog(new MemoryKeyValueStore());
  return { privateKey, intents: { settlement: intents, stream: intents } };
}

/** A book that follows real chains, without anything that serves it. */
export class Following {
  readonly refused: StreamRefusal[] = [];
  readonly ignored: IgnoredEvent[] = [];
  /** Of the wallets, in words. */
  readonly troubles: string[] = [];
  readonly failures: Error[] = [];
  halted: Error | null = null;

  private constructor(
    readonly engine: Engine,
    readonly chains: Chains,
    readonly time: EngineTime,
    readonly signatures: QuoteSignature,
    readonly sequencer: Sequencer,
    private readonly expiry: ExpiryTimer,
    private readonly watches: readonly HeadWatch[],
  ) {}

  static async start(options: FollowingOptions): Promise<Following> {
    const { profile } = options;
    const limits: Limits = { ...defaultLimits, chainPollMs: 20, chainBackoffMs: 20, ...options.limits };
    const engine = options.engine ?? newEngine(limits.reorgDepth);
    const time = new EngineTime(options.timeClock ?? systemClock, Math.max(options.startMs ?? 0, engine.tsMs));
    const onFault = (error: unknown): void => {
      throw error;
    };
    const sequencer = new Sequencer({
      engine,
      journal: new MemoryJournal(),
      time,
      expiredAtOnce: limits.expiredAtOnce,
      onFault,
    });
    if (options.onEvents) {
      const { onEvents } = options;
      sequencer.onEvents((records) => onEvents(records.flatMap(({ events }) => events)));
    }
    const expiry = new ExpiryTimer({ engine, sequencer, time, clock: systemClock, retryMs: limits.journalRetryMs });
    const digests = new QuoteDigest(profile.settlement.chainId, limits.poolCache);
    const signatures = new QuoteSignature(digests, await loadSecp256k1());
    const book = followedBook(engine, sequencer);
    const listener: FollowListener = {
      onCaughtUp: () => undefined,
      onFailure: (error) => following.failures.push(error),
      onHalt(error) {
        following.halted = error;
        for (const health of Object.values(chains.health)) health.halt(error.message);
        options.onHalt?.(error);
      },
      onSuccess: () => undefined,
      onProgress: () => undefined,
    };
    const chains = openChains({
      profile,
      rpc: {
        settlement: options.rpc?.settlement ?? httpRpc(profile.settlement.rpcUrls, limits, profile.settlement.chainId),
        stream: options.rpc?.stream ?? httpRpc(profile.stream.rpcUrls, limits, profile.stream.chainId),
      },
      operator: options.operator ?? null,
      book: {
        ...book,
        submit: (command) => (options.takes?.() ?? true) && book.submit(command),
      },
      known: () => engine.known(),
      readSoFar: { position: (role) => engine.positions()[role], trail: (role) => engine.trail(role) },
      signatures,
      signatureChecks: new InlineSignatureChecks(signatures, systemClock, limits.checksPerTurn),
      clock: systemClock,
      random: systemRandom,
      limits,
      onSettlementTime: (timestamp) => time.observe(timestamp),
      nowSeconds: () => Math.floor(time.nowMs() / 1000),
      onRefusedEvent: (why) => following.refused.push(why),
      onIgnoredEvent: (why) => following.ignored.push(why),
      onLateLogs: (role, events) => options.onLateLogs?.(role, events),
      onTxTrouble: (nonce, what) => following.troubles.push(`${nonce}: ${what}`),
      listener,
    });
    const subscribing = { profile, clock: systemClock, random: systemRandom, limits };
    const watches = options.hasSubscription ? watchHeads(subscribing, chains) : [];
    const following = new Following(engine, chains, time, signatures, sequencer, expiry, watches);
    chains.follower.start();
    return following;
  }

  /** Resolves when both chains have been read to the heads that these clients see. */
  async upToDate(clients: Readonly<Record<ChainRole, DevClient>>): Promise<void> {
    for (const role of ['settlement', 'stream', 'settlement'] as const) {
      const head = await clients[role].getBlock();
      await this.until(() => this.chains.follower.caughtUp && this.chains.readTo(role)?.blockHash === head.hash);
    }
    await this.until(() => !this.chains.hasWaiting());
  }

  /**
   * Resolves when it is so; the readers are woken while it is not. Rejects when it takes so long that it never will be.
   */
  async until(isSo: () => boolean): Promise<void> {
    const giveUpAtMs = systemClock.monotonicMs() + PATIENCE_MS;
    while (!isSo()) {
      if (this.halted !== null) throw this.halted;
      if (systemClock.monotonicMs() > giveUpAtMs) {
        throw new Error(`It never came. The last failure: ${String(this.failures.at(-1))}`);
      }
      this.chains.follower.wake();
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  async stop(): Promise<void> {
    this.expiry.stop();
    for (const watch of this.watches) watch.stop();
    await this.chains.stop();
  }
}

export interface VisibleBook {
  readonly orders: readonly (Pick<Order, 'fillableSize' | 'reason'> & {
    readonly quoteId: Hex;
    readonly ts: number;
    readonly origin: Origin | null;
  })[];
  readonly pools: readonly unknown[];
}

/** The public view of a book, in an order of its own. */
export function visibleBook(engine: Engine): VisibleBook {
  const orders = [...engine.known()].sort((a, b) => (a.quote.quoteId < b.quote.quoteId ? -1 : 1));
  const pools = [...engine.pools()].sort((a, b) => (a.pool.poolAddress < b.pool.poolAddress ? -1 : 1));
  return {
    orders: orders.map(({ quote, fillableSize, reason }) => ({
      quoteId: quote.quoteId,
      ts: quote.ts,
      origin: quote.origin,
      fillableSize,
      reason,
    })),
    pools: pools.map(({ pool, deployedAt, origin }) => ({ poolAddress: pool.poolAddress, deployedAt, origin })),
  };
}
