import { privateKeyToAccount } from 'viem/accounts';
import type { QuoteSignature } from '../auth/quote-signature.js';
import type { ChainPosition, ChainRole } from '../engine/command.js';
import type { Order } from '../engine/order.js';
import type { Clock, Random, Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { BookFollower, type FollowListener } from './book-follower.js';
import { ChainCursor, type BlockId, type CursorOptions } from './chain-cursor.js';
import { ChainHealth } from './chain-health.js';
import { ChainReader, type ChainLog } from './chain-reader.js';
import { firstBlockSince } from './first-block.js';
import { PatientSubmitter, resumePoint, type FollowedBook } from './followed-book.js';
import { PoolAddresses } from './pool-addresses.js';
import type { ChainProfile, Profile } from './profile.js';
import { Publisher } from './publisher.js';
import { QuoteStates } from './quote-states.js';
import { SettlementFollower } from './settlement-follower.js';
import { StreamFollower, type StreamRefusal } from './stream-follower.js';
import { UndeployedPools } from './undeployed-pools.js';
import { Wallet } from './wallet.js';

/** The numbers of `config/limits.ts` that reading and writing the chains are bound by. */
export interface ChainSideLimits {
  readonly reorgDepth: number;
  readonly logRangeBlocks: number;
  readonly lowerHeadPolls: number;
  readonly positionEveryBlocks: number;
  readonly checksPerTurn: number;
  readonly journalRetryMs: number;
  readonly chainPollMs: number;
  readonly chainBackoffMs: number;
  readonly chainMaxBackoffMs: number;
  readonly chainSilenceMs: number;
  readonly sweepMs: number;
  readonly sweepSlice: number;
  readonly rpcCallsPerBatch: number;
  readonly poolCache: number;
  readonly txInFlight: number;
  readonly txWaiting: number;
  readonly receiptPollMs: number;
  readonly txResendAfterMs: number;
  readonly txResends: number;
  readonly maxTxBytes: number;
  readonly publishQueue: number;
  readonly publishTxInFlight: number;
}

/** What the engine remembers of its reading. */
export interface ReadSoFar {
  position(chain: ChainRole): ChainPosition | null;
  trail(chain: ChainRole): readonly BlockId[];
}

export interface ChainSideOptions {
  readonly profile: Profile;
  readonly rpc: Readonly<Record<ChainRole, Rpc>>;
  /** The operator's private key; null: nothing is published. */
  readonly walletKey: Hex | null;
  readonly book: FollowedBook;
  readonly known: () => Iterable<Order>;
  readonly readSoFar: ReadSoFar;
  readonly signatures: QuoteSignature;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: ChainSideLimits;
  /** Timestamp of the newest settlement block, Unix seconds: what engine time follows. */
  readonly onSettlementTime: (timestamp: number) => void;
  readonly onRefusedEvent: (why: StreamRefusal, log: ChainLog) => void;
  readonly listener: FollowListener;
}

/** Everything that talks to the two chains, assembled for one profile. */
export interface ChainSide {
  readonly follower: BookFollower;
  readonly health: Readonly<Record<ChainRole, ChainHealth>>;
  readonly settlement: ChainReader;
  readonly pools: PoolAddresses;
  readonly states: QuoteStates;
  /** Null without a wallet. */
  readonly publisher: Publisher | null;
  readonly settlementWallet: Wallet | null;
}

export async function openChainSide(options: ChainSideOptions): Promise<ChainSide> {
  const { profile, rpc, book, clock, random, limits, signatures, readSoFar } = options;
  const { contracts } = profile;
  const settlement = new ChainReader(rpc.settlement, contracts.multicall3?.address ?? null, limits.rpcCallsPerBatch);
  const stream = new ChainReader(rpc.stream, null, limits.rpcCallsPerBatch);
  const pools = new PoolAddresses(settlement, contracts.poolFactory.address, limits.poolCache);
  const states = new QuoteStates(settlement, new UndeployedPools(settlement, contracts.erc20Router.address));
  const health = { settlement: watched('settlement'), stream: watched('stream') };
  const wallets = openWallets(options);
  const publisher =
    wallets &&
    new Publisher(wallets.stream, contracts.orderbookStream.address, clock, limits, () => {
      follower.wake();
    });

  const resume = { settlement: resumed('settlement'), stream: resumed('stream') };
  const streamStart =
    resume.stream.trail.length > 0
      ? contracts.orderbookStream.startBlock
      : await firstBlockSince(stream, contracts.orderbookStream.startBlock, await lookback(profile, stream));
  const submitter = new PatientSubmitter(book, clock, limits.journalRetryMs);
  const settlementFollower = new SettlementFollower(
    settlement,
    new ChainCursor(
      settlement,
      cursorOptions(profile.settlement, contracts.poolFactory.startBlock),
      resume.settlement.trail,
      (head) => {
        health.settlement.onHead(head);
        options.onSettlementTime(head.timestamp);
      },
    ),
    book,
    submitter,
    states,
    contracts.poolFactory.address,
    resume.settlement.after,
    limits.positionEveryBlocks,
  );
  const streamFollower = new StreamFollower(
    stream,
    new ChainCursor(stream, cursorOptions(profile.stream, streamStart), resume.stream.trail, (head) =>
      health.stream.onHead(head),
    ),
    contracts.orderbookStream.address,
    book,
    submitter,
    pools,
    signatures,
    states,
    {
      onSettled: (quoteId, refusal) => publisher?.settle(quoteId, refusal),
      onRefused: options.onRefusedEvent,
    },
    resume.stream.after,
    limits.positionEveryBlocks,
    limits.checksPerTurn,
    clock,
  );
  const pace = {
    pollMs: limits.chainPollMs,
    backoffMs: limits.chainBackoffMs,
    maxBackoffMs: limits.chainMaxBackoffMs,
    sweepMs: limits.sweepMs,
    sweepSlice: limits.sweepSlice,
  };
  const follower: BookFollower = new BookFollower(
    settlementFollower,
    streamFollower,
    options.known,
    clock,
    random,
    pace,
    options.listener,
  );
  return { follower, health, settlement, pools, states, publisher, settlementWallet: wallets?.settlement ?? null };

  function watched(role: ChainRole): ChainHealth {
    return new ChainHealth(role, clock, limits.chainSilenceMs, profile[role].maxHeadAgeSeconds);
  }

  function resumed(role: ChainRole) {
    return resumePoint(readSoFar.position(role), readSoFar.trail(role));
  }

  function cursorOptions({ confirmations }: ChainProfile, startBlock: number): CursorOptions {
    const { reorgDepth, logRangeBlocks: maxRange, lowerHeadPolls } = limits;
    return { startBlock, confirmations, reorgDepth, maxRange, lowerHeadPolls };
  }
}

/** Unix seconds from which on an empty log reads the stream: counted from the chain's own newest block. */
async function lookback({ streamLookbackSeconds }: Profile, stream: ChainReader): Promise<number> {
  return (await stream.head()).timestamp - streamLookbackSeconds;
}

/** One wallet a chain; one in all where both chains are the same, since there is one sequence of nonces then. */
function openWallets({ profile, rpc, walletKey, clock, limits }: ChainSideOptions): Record<ChainRole, Wallet> | null {
  if (walletKey === null) return null;
  const account = privateKeyToAccount(walletKey);
  const open = (role: ChainRole): Wallet =>
    new Wallet(rpc[role], profile[role].chainId, account, clock, {
      inFlight: limits.txInFlight,
      waiting: limits.txWaiting,
      receiptPollMs: limits.receiptPollMs,
      resendAfterMs: limits.txResendAfterMs,
      resends: limits.txResends,
    });
  const settlement = open('settlement');
  const isOneChain = profile.settlement.chainId === profile.stream.chainId;
  return { settlement, stream: isOneChain ? settlement : open('stream') };
}
