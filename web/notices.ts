import type { QuoteEvent } from 'quotebook/client';
import { contracts } from './amounts.js';
import { words } from './display.js';
import { byId, create } from './elements.js';
import type { Market } from './market.js';
import { nameOf } from './option.js';

/** Notices that are shown at once; older ones make room. */
const SHOWN = 4;
const SHOWN_MS = 15_000;

/** Says what happened to the wallet's quotes, in a corner of the page. */
export class Notices {
  readonly #market: Market;
  readonly #list = byId('notices');

  constructor(market: Market) {
    this.#market = market;
  }

  /** An event of the feed; `wallet`: the address whose quotes count. */
  heard(event: QuoteEvent, wallet: string): void {
    if (event.body.provider.toLowerCase() !== wallet.toLowerCase()) return;
    const what = whatHappened(event);
    if (what === null) return;
    const { poolAddress, isBuy, price } = event.body;
    const pool = this.#market.pool(poolAddress);
    const side = isBuy ? 'bid' : 'ask';
    const at = pool === undefined ? '' : ` at ${this.#market.priceText(pool, BigInt(price), side)}`;
    this.#show(`Your ${side}${at} on ${pool === undefined ? 'another pool' : nameOf(pool)} ${what}`);
  }

  #show(text: string): void {
    const close = create('button', '', 'Close');
    close.type = 'button';
    const notice = create('div', '', create('span', '', text), close);
    const remove = (): void => notice.remove();
    close.addEventListener('click', remove);
    setTimeout(remove, SHOWN_MS);
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
      return `was withdrawn: ${words(event.reason)}.`;
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
