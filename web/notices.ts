import { type QuoteEvent, type RfqEvent, ZERO_ADDRESS } from 'quotebook/client';
import { contracts } from './amounts.js';
import { words } from './display.js';
import { byId, create } from './elements.js';
import type { Market } from './market.js';
import { isSameAddress, shortAddress } from './wallet.js';

/** Notices that are shown at once; older ones make room. */
const SHOWN = 4;
const SHOWN_MS = 15_000;

/** Says in a corner of the page what happened to the wallet's quotes, and what others offer it or ask of it. */
export class Notices {
  readonly #market: Market;
  readonly #list = byId('notices');

  constructor(market: Market) {
    this.#market = market;
  }

  /** An event of the feed; `wallet`: the address whose quotes count, and the quotes for it alone. */
  heard(event: QuoteEvent, wallet: string): void {
    const { poolAddress, provider, taker, isBuy, price, size } = event.body;
    const pool = this.#market.pool(poolAddress);
    const side = isBuy ? 'bid' : 'ask';
    const at = pool === undefined ? '' : ` at ${this.#market.priceText(pool, BigInt(price), side)}`;
    const name = this.#market.nameOf(poolAddress);
    if (isSameAddress(provider, wallet)) {
      const what = whatHappened(event);
      if (what !== null) this.say(`Your ${side}${at} on ${name} ${what}`);
    } else if (event.type === 'POST_QUOTE' && isSameAddress(taker, wallet)) {
      const offer = isBuy ? 'buy from you' : 'sell to you';
      const what = `${contracts(BigInt(size))} ${name}${at}`;
      this.say(`${shortAddress(provider)} offers to ${offer} alone ${what}. Take it under Trade.`);
    }
  }

  /** A taker asks for quotes in this pool. */
  heardRfq({ side, size, taker }: RfqEvent['body'], poolAddress: string): void {
    const who = taker === ZERO_ADDRESS ? 'A taker' : shortAddress(taker);
    const wish = `wants to ${side === 'ask' ? 'buy' : 'sell'} ${contracts(BigInt(size))} ${this.#market.nameOf(poolAddress)}`;
    this.say(`${who} ${wish}. Answer in the makers' inbox.`);
  }

  /** Shows a notice until it is closed, or for a while and as long as the pointer or the keyboard is on it. */
  say(text: string): void {
    const close = create('button', '', 'Close');
    close.type = 'button';
    const notice = create('div', '', create('span', '', text), close);
    const lookAgain = (): void => {
      if (notice.matches(':hover, :focus-within')) timer = setTimeout(lookAgain, SHOWN_MS);
      else notice.remove();
    };
    let timer = setTimeout(lookAgain, SHOWN_MS);
    close.addEventListener('click', () => {
      clearTimeout(timer);
      notice.remove();
    });
    this.#list.prepend(notice);
    for (const old of [...this.#list.children].slice(SHOWN)) old.remove();
  }
}

/** Null: the wallet knows, or another notice says it. */
function whatHappened(event: QuoteEvent): string | null {
  switch (event.type) {
    case 'FILL_QUOTE':
      return `was filled: ${contracts(BigInt(event.size))}, ${left(event.body.fillableSize)}.`;
    case 'CANCEL_QUOTE':
      return 'was cancelled on chain.';
    case 'EXPIRE_QUOTE':
      return 'has expired. Place it again to stay in the book.';
    case 'INVALIDATE_QUOTE':
      return `cannot be filled: ${words(event.reason)}. It returns when it can.`;
    case 'REVALIDATE_QUOTE':
      return 'can be filled again.';
    case 'UNDO_QUOTE':
      return event.valid ? 'is back: a reorg took back what had happened to it.' : 'is gone: a reorg took it back.';
    case 'WITHDRAW_QUOTE':
      return `was withdrawn: ${words(event.reason)}. “Restore” under “Account” shows it again.`;
    case 'RESTORE_QUOTE':
      return 'is shown again.';
    case 'POST_QUOTE':
    case 'REMOVE_QUOTE':
      return null;
  }
}

function left(fillableSize: string): string {
  return fillableSize === '0' ? 'nothing is left' : `${contracts(BigInt(fillableSize))} left`;
}
