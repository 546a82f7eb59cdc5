import { type Hex, isPrivate, type Quote, ZERO_ADDRESS } from '../engine/quote.js';

/** A key, or a session of one: access depends on it. */
export interface Viewer {
  readonly scopes?: readonly string[];
  /** Addresses that it has proven by a sign-in, in lower case. */
  readonly proven?: readonly Hex[];
}

/** To whom private quotes and requests for quotes are shown: to everyone that names the taker, or to proven takers. */
export const PRIVACIES = ['open', 'proven'] as const;
export type Privacy = (typeof PRIVACIES)[number];

/**
 * The takers whose requests for quotes a filter lets through. Requests of hidden takers carry the zero address and may be
 * anyone's, so a filter for that address asks for every taker. Undefined: the filter names none.
 */
export function takerOfRequests(taker: Hex | '*' | undefined): Hex | '*' {
  return taker === undefined || taker === ZERO_ADDRESS ? '*' : taker;
}

/** Whether a quote is public, or private to or by one of these addresses; null: any quote is shown. */
export function isShownTo(takers: readonly Hex[] | null, quote: Pick<Quote, 'taker' | 'provider'>): boolean {
  return takers === null || !isPrivate(quote) || takers.includes(quote.taker) || takers.includes(quote.provider);
}

/** The rule of who may see which taker's private quotes and requests. Every route and channel asks it. */
export class TakerAccess {
  readonly privacy: Privacy;
  readonly #operator: () => Hex | null;

  /** `operator`: the address of the wallet that keys with the scope operator act with; null without one. */
  constructor(privacy: Privacy, operator: () => Hex | null) {
    this.privacy = privacy;
    this.#operator = operator;
  }

  /** Whether the viewer has proven to own that address; whatever the privacy. */
  hasProven({ scopes, proven }: Viewer, address: Hex): boolean {
    const lower = address.toLowerCase() as Hex;
    if (proven?.includes(lower) === true) return true;
    // A key that may spend the wallet's money may see what is quoted to the wallet.
    return scopes?.includes('operator') === true && this.#operator()?.toLowerCase() === lower;
  }

  /** The addresses whose private quotes the viewer may see, as their taker or their provider; null: all. */
  shownTo(viewer: Viewer): readonly Hex[] | null {
    if (this.maySee(viewer, '*')) return null;
    const operator = this.#operator()?.toLowerCase() as Hex | undefined;
    const isOperator = operator !== undefined && this.hasProven(viewer, operator);
    return [...(viewer.proven ?? []), ...(isOperator ? [operator] : [])];
  }

  /** Whether the viewer may see what is private to that taker; `*`: to any taker; null: what is public. */
  maySee(viewer: Viewer, taker: Hex | '*' | null): boolean {
    if (this.privacy === 'open' || taker === null || taker === ZERO_ADDRESS) return true;
    if (viewer.scopes?.includes('takers:all') === true) return true;
    return taker !== '*' && this.hasProven(viewer, taker);
  }

  /**
   * Whether the viewer may see what one provider quotes to that taker; `provider` undefined: what every provider does. A
   * maker may see all its own quotes.
   */
  maySeeOfProvider(viewer: Viewer, taker: Hex | '*' | null, provider: Hex | undefined): boolean {
    return this.maySee(viewer, taker) || (taker === '*' && provider !== undefined && this.hasProven(viewer, provider));
  }

  /** Whether the viewer may see a quote: as its taker, or as the provider that signed it. */
  maySeeQuote(viewer: Viewer, quote: Pick<Quote, 'taker' | 'provider'>): boolean {
    return isShownTo(this.shownTo(viewer), quote);
  }
}
