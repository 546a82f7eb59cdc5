import type { Command, RequestTerms, Rfq } from '../engine/command.js';
import type { Engine } from '../engine/engine.js';
import type { Random } from '../engine/ports.js';
import { ZERO_ADDRESS } from '../engine/quote.js';
import { isLiveRfq, type RfqState, takerOf } from '../engine/rfq-store.js';
import type { Sequencer } from '../engine/sequencer.js';

/** One leg of a request, or all of it. */
export interface RfqLegRequest {
  readonly poolAddress: Rfq['poolAddress'];
  readonly side: Rfq['side'];
  /** 1e-18 contracts, at least 1. */
  readonly size: bigint;
  /** As makers get it, JSON text. */
  readonly body: string;
}

/** A taker's request. Addresses are in lower case. */
export interface RfqRequest extends Pick<RequestTerms, 'owner' | 'clientId' | 'minQuotes' | 'makers'> {
  readonly legs: readonly RfqLegRequest[];
  /** As makers see it. */
  readonly taker: Rfq['taker'];
  /** As makers do not see it; null: they see it. */
  readonly hiddenTaker: RequestTerms['taker'];
  /** Unix seconds; null: the default life from now on. */
  readonly validUntil: number | null;
}

export type RfqRefusal =
  | 'STORAGE_FULL'
  | 'BUSY'
  /** Too many are live: in all, or of this key. */
  | 'TOO_MANY'
  | 'TOO_MANY_OF_KEY'
  /** Its end has passed, or is too far away. */
  | 'INVALID_END'
  /** Another live request of the key has this client id. */
  | 'CLIENT_ID_USED';

export type OpenedRfqs =
  | {
      readonly type: 'OPENED';
      /** One for each leg, in their order. */
      readonly rfqIds: readonly string[];
      /** False: the same request with this client id is live already. */
      readonly isNew: boolean;
    }
  | { readonly type: 'REFUSED'; readonly why: RfqRefusal };

export interface RfqDeskLimits {
  /** Life of a request that names no end, and the longest. */
  readonly rfqSeconds: number;
  readonly rfqMaxSeconds: number;
  /** Live requests: in all, and of one key. */
  readonly liveRfqs: number;
  readonly liveRfqsPerKey: number;
}

export interface RfqDeskParts {
  readonly engine: Pick<Engine, 'rfqs'>;
  readonly sequencer: Pick<Sequencer, 'submit' | 'submitAll' | 'whenDurable'>;
  readonly nowSeconds: () => number;
  readonly random: Pick<Random, 'bytes'>;
  readonly limits: RfqDeskLimits;
}

const ID_BYTES = 16;

/** Admits requests for quotes and hands them to the sequencer before it returns; resolves when they are durable. */
export class RfqDesk {
  readonly #parts: RfqDeskParts;

  constructor(parts: RfqDeskParts) {
    this.#parts = parts;
  }

  /**
   * A request of a socket. It is passed on and not followed without an owner, where no more may be live, and without a
   * taker: the store would count every public quote of the pool as an answer to it, everybody's fills as its own, and
   * take the answers of hidden takers' requests away. `owner` undefined: an older gateway of the cluster does not say.
   */
  async publish(rfq: Rfq, owner: string | null | undefined): Promise<'OK' | 'STORAGE_FULL' | 'BUSY'> {
    const { sequencer, nowSeconds, limits } = this.#parts;
    const isOwned = typeof owner === 'string' && rfq.taker !== ZERO_ADDRESS;
    const room = isOwned ? this.#roomFor(owner, 1) : 'TOO_MANY';
    const terms: RequestTerms = {
      rfqId: this.#newId(),
      owner: owner ?? '',
      clientId: null,
      validUntil: nowSeconds() + limits.rfqSeconds,
      taker: null,
      minQuotes: 1,
      makers: [],
      leg: null,
    };
    const refusal =
      typeof room === 'string'
        ? sequencer.submit({ type: 'PUBLISH_RFQ', rfq }).refusal
        : sequencer.submitAll([...cancelling(room), { type: 'PUBLISH_RFQ', rfq, terms }]);
    if (refusal !== null) return refusal;
    await sequencer.whenDurable();
    return 'OK';
  }

  async open(request: RfqRequest): Promise<OpenedRfqs> {
    const { sequencer, limits, nowSeconds } = this.#parts;
    const { owner, clientId, legs, taker, hiddenTaker, minQuotes, makers } = request;
    const known = clientId === null ? [] : this.#live(owner).filter(({ terms }) => terms.clientId === clientId);
    if (known.length > 0) return this.#again(request, known);
    const validUntil = request.validUntil ?? nowSeconds() + limits.rfqSeconds;
    if (validUntil <= nowSeconds() || validUntil > nowSeconds() + limits.rfqMaxSeconds) return refused('INVALID_END');
    const room = this.#roomFor(owner, legs.length);
    if (typeof room === 'string') return refused(room);
    const packageId = this.#newId();
    const rfqIds = legs.map(() => this.#newId());
    const refusal = sequencer.submitAll([
      ...cancelling(room),
      ...legs.map(({ poolAddress, side, size, body }, place) => ({
        type: 'PUBLISH_RFQ' as const,
        rfq: { poolAddress, side, size, taker, body },
        terms: {
          rfqId: rfqIds[place] ?? '',
          owner,
          clientId,
          validUntil,
          taker: hiddenTaker,
          minQuotes,
          makers,
          leg: legs.length === 1 ? null : { packageId, place, legs: legs.length },
        },
      })),
    ]);
    if (refusal !== null) return refused(refusal);
    await sequencer.whenDurable();
    return { type: 'OPENED', rfqIds, isNew: true };
  }

  /** Cancels what is live of the key's request or package with that id. NOT_FOUND: the key has none. */
  async cancel(owner: string, id: string): Promise<'OK' | 'NOT_FOUND' | 'STORAGE_FULL' | 'BUSY'> {
    const { sequencer } = this.#parts;
    const known = this.#of(owner).filter(({ terms }) => terms.rfqId === id || terms.leg?.packageId === id);
    if (known.length === 0) return 'NOT_FOUND';
    const live = known.filter(isLiveRfq);
    const refusal = sequencer.submitAll(cancelling(live));
    if (refusal !== null) return refusal;
    await sequencer.whenDurable();
    return 'OK';
  }

  /** The same request again is no error: an answer may have been lost. */
  async #again({ legs, taker, hiddenTaker }: RfqRequest, known: readonly RfqState[]): Promise<OpenedRfqs> {
    const isSame =
      known.length === legs.length &&
      known.every((state, place) => {
        const leg = legs[place];
        const { poolAddress, side, size } = state.rfq;
        const isSameLeg = leg?.poolAddress === poolAddress && leg.side === side && leg.size === size;
        return isSameLeg && takerOf(state) === (hiddenTaker ?? taker);
      });
    if (!isSame) return refused('CLIENT_ID_USED');
    await this.#parts.sequencer.whenDurable();
    return { type: 'OPENED', rfqIds: known.map(({ terms }) => terms.rfqId), isNew: false };
  }

  #of(owner: string): RfqState[] {
    return [...this.#parts.engine.rfqs.all()].filter(({ terms }) => terms.owner === owner);
  }

  #live(owner: string): RfqState[] {
    return this.#of(owner).filter(isLiveRfq);
  }

  /**
   * The live requests that give way to so many of this key. Few keys must not keep the others from asking: where there is
   * no room, the newest ones of the key with most go, unless it would then have fewer than this one.
   */
  #roomFor(owner: string, count: number): readonly RfqState[] | 'TOO_MANY' | 'TOO_MANY_OF_KEY' {
    const { rfqs } = this.#parts.engine;
    const { liveRfqs, liveRfqsPerKey } = this.#parts.limits;
    const ofKey = rfqs.liveCountOf(owner) + count;
    if (ofKey > liveRfqsPerKey) return 'TOO_MANY_OF_KEY';
    const surplus = rfqs.liveCount + count - liveRfqs;
    if (surplus <= 0) return [];
    const owners = new Set(Array.from(rfqs.all(), ({ terms }) => terms.owner));
    const [fullest = owner] = [...owners].sort((a, b) => rfqs.liveCountOf(b) - rfqs.liveCountOf(a));
    const live = this.#live(fullest);
    const packages = new Set(live.slice(-surplus).map(packageOf));
    const evicted = live.filter((state) => packages.has(packageOf(state)));
    return evicted.length < surplus || live.length - evicted.length < ofKey ? 'TOO_MANY' : evicted;
  }

  #newId(): string {
    return Buffer.from(this.#parts.random.bytes(ID_BYTES)).toString('hex');
  }
}

function cancelling(states: readonly RfqState[]): Command[] {
  return states.map(({ terms }) => ({ type: 'CANCEL_RFQ', rfqId: terms.rfqId }));
}

/** Legs of one package go together. */
function packageOf({ terms }: RfqState): string {
  return terms.leg?.packageId ?? terms.rfqId;
}

function refused(why: RfqRefusal): OpenedRfqs {
  return { type: 'REFUSED', why };
}
