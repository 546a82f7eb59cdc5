import { toHex } from '../../auth/keccak256.js';
import type { QuoteDigest, QuoteSignature } from '../../auth/quote-signature.js';
import type { Clock } from '../../engine/ports.js';
import type { Hex, Pool, SignedQuote } from '../../engine/quote.js';
import { yieldToEventLoop } from '../../system/timers.js';
import type { QuoteToPublish } from '../../wire/answers.js';
import { unlessChainFails } from '../contracts/contract-errors.js';
import { boundQuote, identifiedQuote } from '../contracts/quote-types.js';
import type { PoolAddresses } from '../follow/pool-addresses.js';
import type { QuoteStates } from '../follow/quote-states.js';
import type { KnownOrders, QuoteRules } from './quote-validation.js';

/** The result of a dry run, with the values that a maker can compare with its own. */
export interface DryRunFinding {
  readonly outcome: 'created' | 'exists' | 'failed';
  /** All reasons, the one that POST /quotes would return first. */
  readonly reasons: readonly string[];
  /** Null, like the two fields below, if no pool can have the quote's key. */
  readonly poolAddress: Hex | null;
  /** EIP-712 `hashStruct(eip712Domain)` of the pool. */
  readonly domainSeparator: Hex | null;
  /** The digest to sign; also the quote's id. */
  readonly digest: Hex | null;
  /** The signer's address in lower case; null if the pools reject the form of the signature. */
  readonly signer: Hex | null;
}

export type DryRunOutcome =
  { readonly type: 'CHECKED'; readonly items: readonly DryRunFinding[] } | { readonly type: 'CHAIN_UNREACHABLE' };

/** Reasons that skip the chain's own check: it reverts on such a quote, or returns the same reason. */
const UNASKABLE = new Set(['QuoteOBExpired', 'OutOfBoundsPrice', 'InvalidQuoteOBSignature', 'InvalidAssetUpdate']);

interface CheckedQuote extends DryRunFinding {
  readonly quote: (SignedQuote & { readonly quoteId: Hex }) | null;
}

export interface QuoteDryRunParts {
  readonly orders: Pick<KnownOrders, 'get'>;
  readonly pools: Pick<PoolAddresses, 'resolve'>;
  readonly digests: QuoteDigest;
  readonly signatures: QuoteSignature;
  readonly rules: QuoteRules;
  readonly states: Pick<QuoteStates, 'read'>;
  readonly clock: Clock;
  /** Quotes checked between two turns of the event loop: at 80 us each, 100 take 8 ms. */
  readonly checksPerTurn: number;
}

/** Runs all checks of a posted quote without publishing it. */
export class QuoteDryRun {
  constructor(private readonly parts: QuoteDryRunParts) {}

  /** Items in the order of the request. */
  async run(posted: readonly QuoteToPublish[]): Promise<DryRunOutcome> {
    return unlessChainFails(
      async () => {
        const pools = await this.parts.pools.resolve(posted.map(({ poolKey }) => poolKey));
        const looked: CheckedQuote[] = [];
        for (const [i, quote] of posted.entries()) {
          if (i > 0 && i % this.parts.checksPerTurn === 0) await yieldToEventLoop(this.parts.clock);
          looked.push(this.#look(quote, pools[i] ?? null));
        }
        return { type: 'CHECKED', items: withTwins(await this.#askChain(looked)) };
      },
      { type: 'CHAIN_UNREACHABLE' },
    );
  }

  #look(posted: QuoteToPublish, pool: Pool | null): CheckedQuote {
    if (pool === null) {
      const reasons = this.parts.rules.reasonsWithoutPool(posted);
      const unknown = { poolAddress: null, domainSeparator: null, digest: null, signer: null, quote: null };
      return { outcome: 'failed', reasons, ...unknown };
    }
    const quote = boundQuote(posted, pool);
    const { poolAddress } = pool;
    const quoteId = this.parts.rules.quoteId(quote);
    const bytes = {
      poolAddress,
      domainSeparator: toHex(this.parts.digests.domainSeparator(poolAddress)),
      digest: quoteId,
      signer: this.parts.signatures.signer(quoteId, posted.signature),
      quote: identifiedQuote(quote, quoteId),
    };
    if (this.parts.orders.get(quoteId) !== undefined) return { outcome: 'exists', reasons: [], ...bytes };
    const reasons = [...this.parts.rules.reasons(quote, bytes.signer === quote.provider)];
    return { outcome: reasons.length === 0 ? 'created' : 'failed', reasons, ...bytes };
  }

  /** The chain returns at most one reason: its first. */
  async #askChain(looked: readonly CheckedQuote[]): Promise<DryRunFinding[]> {
    const quotes = looked.flatMap(({ outcome, quote, reasons }) =>
      outcome === 'exists' || quote === null || reasons.some((reason) => UNASKABLE.has(reason)) ? [] : [quote],
    );
    const readings = quotes.length === 0 ? [] : await this.parts.states.read(quotes);
    const errors = new Map(quotes.map(({ quoteId }, i) => [quoteId, readings[i]?.error ?? null]));
    return looked.map(({ quote, ...item }) => {
      const error = quote === null ? null : (errors.get(quote.quoteId) ?? null);
      return error === null ? item : { ...item, outcome: 'failed', reasons: [...item.reasons, error] };
    });
  }
}

/** A quote that occurs twice in one request exists the second time. */
function withTwins(items: readonly DryRunFinding[]): DryRunFinding[] {
  const seen = new Set<Hex>();
  return items.map((item) => {
    if (item.outcome !== 'created' || item.digest === null) return item;
    if (seen.has(item.digest)) return { ...item, outcome: 'exists' };
    seen.add(item.digest);
    return item;
  });
}
