import { BaseError, encodeFunctionData } from 'viem';
import { LONG, poolAbi } from '../../../src/chain/contracts/abi.js';
import type { Profile } from '../../../src/chain/contracts/deployments.js';
import { type LocalChain, startLocalChain } from '../../../src/chain/dev/local-chain.js';
import type { ChainRole } from '../../../src/engine/command.js';
import { type Hex, type Pool, ZERO_ADDRESS } from '../../../src/engine/quote.js';
import { DevActions } from '../dev-actions.js';
import { fillLog, logsWhatItIsTold } from '../hostile-contracts.js';
import { type SignedOffer, signOffer } from '../sign-quote.js';
import { type Allowance, type Happening, QUOTES, REORG_DEPTH } from './happenings.js';

const ONE = 10n ** 18n;
/** Deadlines lie whole steps after a run's start and time moves to half ones, so that no run is near a deadline. */
const STEP_SECONDS = 200;

/** Two chains, makers and a taker on them, and quotes that the makers have signed. Each run leaves all as it was. */
export class World {
  readonly profile: Profile;
  readonly actions: Readonly<Record<ChainRole, DevActions>>;
  offers: readonly SignedOffer[] = [];
  readonly #accounts: readonly Hex[];
  #undeployed: Pool | null = null;
  #snapshots: Record<ChainRole, Hex> = { settlement: '0x', stream: '0x' };
  #baseBlocks: Record<ChainRole, number> = { settlement: 0, stream: 0 };
  #marks: Record<ChainRole, { readonly snapshot: Hex; readonly height: number } | null> = NO_MARKS;
  #startedAt = 0;

  private constructor(private readonly chains: Readonly<Record<ChainRole, LocalChain>>) {
    const { settlement, stream } = chains;
    this.profile = { ...settlement.profile, stream: stream.profile.stream };
    this.actions = { settlement: new DevActions(settlement), stream: new DevActions(stream) };
    this.#accounts = settlement.accounts.map(({ address }) => address);
  }

  static async open(): Promise<World> {
    const [settlement, stream] = await Promise.all([startLocalChain(), startLocalChain()]);
    const world = new World({ settlement, stream });
    await world.#writeLongs();
    return world;
  }

  async close(): Promise<void> {
    await Promise.all([this.chains.settlement.stop(), this.chains.stream.stop()]);
  }

  get clients() {
    return { settlement: this.actions.settlement.client, stream: this.actions.stream.client };
  }

  async begin(): Promise<void> {
    this.#marks = NO_MARKS;
    for (const role of ROLES) {
      const { client } = this.actions[role];
      this.#snapshots[role] = await client.snapshot();
      await client.mine({ blocks: 1 });
      this.#baseBlocks[role] = Number(await client.getBlockNumber());
    }
    this.#startedAt = await this.actions.settlement.now();
    this.offers = await this.#signAll();
  }

  async end(): Promise<void> {
    for (const role of ROLES) await this.actions[role].client.revert({ id: this.#snapshots[role] });
  }

  /** Makes it happen on the chains; what the contracts refuse does not happen. */
  async happen(happening: Happening): Promise<void> {
    try {
      await this.#happen(happening);
    } catch (error) {
      if (!(error instanceof BaseError)) throw error;
    }
  }

  async #happen(happening: Happening): Promise<unknown> {
    const { settlement, stream } = this.actions;
    const [, , , taker = ZERO_ADDRESS, stranger = ZERO_ADDRESS] = this.#accounts;
    switch (happening.type) {
      case 'publish': {
        const offers = happening.quotes.map((n) => this.#offer(n));
        return stream.publish(stranger, offers);
      }
      case 'fill': {
        const offer = this.#offer(happening.quote);
        return settlement.fill(taker, offer, (offer.size * BigInt(happening.tenths)) / 10n);
      }
      case 'cancel':
      case 'hostile cancel': {
        const { provider, pool, quoteId } = this.#offer(happening.quote);
        const sender = happening.type === 'cancel' ? provider : stranger;
        return settlement.cancel(sender, pool.poolAddress, [quoteId]);
      }
      case 'approve': {
        const router = this.chains.settlement.contracts.erc20Router;
        const { maker, isCall, amount } = happening;
        return settlement.approve(this.#maker(maker), this.#token(isCall), router, allowanceOf(amount, isCall));
      }
      case 'transfer away':
        return this.#move(happening.isCall, this.#maker(happening.maker), stranger);
      case 'get back':
        return this.#move(happening.isCall, stranger, this.#maker(happening.maker));
      case 'hand over':
        return this.#moveLongs(this.#offer(happening.quote), taker, this.#offer(happening.quote).provider);
      case 'hand back':
        return this.#moveLongs(this.#offer(happening.quote), this.#offer(happening.quote).provider, taker);
      case 'forge':
        return this.#forge(this.#offer(happening.quote), stranger);
      case 'deploy':
        return this.#undeployed && settlement.deployPool(stranger, this.#undeployed.poolKey);
      case 'time passes': {
        const now = await settlement.now();
        const step = Math.ceil((now - this.#startedAt) / STEP_SECONDS) + happening.steps;
        return settlement.moveTimeTo(this.#startedAt + Math.floor((step - 0.5) * STEP_SECONDS));
      }
      case 'reorg':
        return this.#reorg(happening.role, happening.depth);
      case 'mark':
        return this.#mark(happening.role);
      case 'go back':
        return this.#goBack(happening.role);
      default:
        return;
    }
  }

  async #reorg(role: ChainRole, depth: number): Promise<void> {
    this.#marks = { ...this.#marks, [role]: null };
    const blocks = Math.min(depth, (await this.#height(role)) - this.#baseBlocks[role]);
    if (blocks > 0) await this.actions[role].reorg(blocks);
  }

  async #mark(role: ChainRole): Promise<void> {
    const mark = { snapshot: await this.actions[role].client.snapshot(), height: await this.#height(role) };
    this.#marks = { ...this.#marks, [role]: mark };
  }

  async #goBack(role: ChainRole): Promise<void> {
    const mark = this.#marks[role];
    this.#marks = { ...this.#marks, [role]: null };
    if (mark === null || (await this.#height(role)) - mark.height > REORG_DEPTH) return;
    await this.actions[role].client.revert({ id: mark.snapshot });
  }

  /** Everything that `from` has of a pool's collateral. */
  async #move(isCall: boolean, from: Hex, to: Hex): Promise<void> {
    const token = this.#token(isCall);
    const amount = await this.actions.settlement.balance(token, from);
    if (amount > 0n) await this.actions.settlement.transfer(from, token, to, amount);
  }

  /** So many that an account which receives them can sell without collateral. */
  async #writeLongs(): Promise<void> {
    const [operator = ZERO_ADDRESS, , , taker = ZERO_ADDRESS] = this.#accounts;
    const data = encodeFunctionData({
      abi: poolAbi,
      functionName: 'writeFrom',
      args: [operator, taker, 1000n * ONE, ZERO_ADDRESS],
    });
    const { pools } = this.chains.settlement;
    for (const isCall of [true, false]) {
      const pool = pools.find(({ poolKey }) => poolKey.isCallPool === isCall);
      if (pool) await this.actions.settlement.send(operator, pool.poolAddress, data);
    }
  }

  /** Every long of the quote's pool that `from` has: their holder sells them before writing new ones. */
  async #moveLongs({ pool: { poolAddress } }: SignedOffer, from: Hex, to: Hex): Promise<void> {
    const { settlement } = this.actions;
    const longs = await settlement.contracts(poolAddress, from, LONG);
    if (longs > 0n) await settlement.moveContracts(from, to, poolAddress, LONG, longs);
  }

  async #forge(offer: SignedOffer, stranger: Hex): Promise<void> {
    const { settlement, stream } = this.actions;
    await settlement.client.setCode({ address: FORGER, bytecode: logsWhatItIsTold(4) });
    await settlement.send(stranger, FORGER, fillLog(offer, offer.size, stranger));
    await stream.publish(stranger, [{ ...offer, salt: offer.salt + QUOTES }]);
  }

  async #height(role: ChainRole): Promise<number> {
    return Number(await this.actions[role].client.getBlockNumber());
  }

  #token(isCall: boolean): Hex {
    return this.chains.settlement.tokens[isCall ? 'testWETH' : 'USDC'] ?? ZERO_ADDRESS;
  }

  #maker(n: number): Hex {
    return this.#accounts[n + 1] ?? ZERO_ADDRESS;
  }

  #offer(n: number): SignedOffer {
    const offer = this.offers[n];
    if (offer === undefined) throw new Error('There is no such quote');
    return offer;
  }

  async #signAll(): Promise<SignedOffer[]> {
    const { chainId, accounts, pools } = this.chains.settlement;
    const [call, put] = [
      pools.find(({ poolKey }) => poolKey.isCallPool),
      pools.find((pool) => !pool.poolKey.isCallPool),
    ];
    if (!call || !put) throw new Error('The local chain lacks pools');
    const poolKey = { ...call.poolKey, strike: 2100n * ONE };
    this.#undeployed = { poolKey, poolAddress: (await this.actions.settlement.poolAddress(poolKey)).poolAddress };
    const all = [call, put, this.#undeployed];
    return Promise.all(
      Array.from({ length: QUOTES }, (_, n) => {
        const maker = accounts[1 + (n % 2)];
        const pool = all[n % 3];
        if (!maker || !pool) throw new Error('The local chain lacks accounts');
        const deadline = this.#startedAt + STEP_SECONDS * (1 + (n % 5)) * 2;
        const offer = {
          pool,
          deadline,
          salt: n,
          isBuy: n % 4 === 1,
          price: ONE / BigInt(10 + n),
          size: BigInt(1 + n) * ONE,
        };
        return signOffer(maker, chainId, n === 9 ? { ...offer, taker: this.#accounts[3] ?? ZERO_ADDRESS } : offer);
      }),
    );
  }
}

/** Of a call's 18 decimals or a put's 6: about what the third of ten quotes needs, whose sizes rise from one. */
function allowanceOf(amount: Allowance, isCall: boolean): bigint {
  if (amount === 'nothing') return 0n;
  return amount === 'all' ? 2n ** 256n - 1n : isCall ? 3n * ONE : 6_000_000_000n;
}

const FORGER: Hex = '0x0000000000000000000000000000000000f049e4';
const ROLES = ['settlement', 'stream'] as const;
const NO_MARKS = { settlement: null, stream: null };
