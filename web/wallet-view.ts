import { byId, create, found, replaceChildren, setText } from './elements.js';
import { problemText, shortAddress, Wallet, type WalletOffers } from './wallet.js';

/** The header's button and its dialog: which wallet acts on this page. */
export class WalletView {
  readonly #offers: WalletOffers;
  readonly #chainId: string;
  readonly #onWallet: (wallet: Wallet | null) => Promise<void>;
  readonly #dialog = found('wallets', HTMLDialogElement);
  readonly #button = byId('wallet');
  readonly #leave = byId('wallets-leave');

  /** `onWallet`: another one is connected, or none any more; rejects when it cannot act on this page. */
  constructor(offers: WalletOffers, chainId: string, onWallet: (wallet: Wallet | null) => Promise<void>) {
    this.#offers = offers;
    this.#chainId = chainId;
    this.#onWallet = onWallet;
    this.#button.addEventListener('click', () => this.ask());
    this.#leave.addEventListener('click', () => void this.#use(() => Promise.resolve(null)));
    byId('wallets-close').addEventListener('click', () => this.#dialog.close());
  }

  /** `problem`: what became of the wallet that was connected. */
  ask(problem = ''): void {
    setText(byId('wallets-problem'), problem);
    const offers = this.#offers.all();
    const rows = offers.map((offer) => {
      const button = create('button', '', offer.name, create('small', '', offer.address ?? ''));
      button.type = 'button';
      button.addEventListener('click', () => void this.#use(() => Wallet.connect(offer, this.#chainId)));
      return create('li', '', button);
    });
    const none = create('li', '', 'This browser has no wallet. Install one, and load the page again.');
    replaceChildren(byId('wallets-list'), rows.length > 0 ? rows : [none]);
    if (!this.#dialog.open) this.#dialog.showModal();
  }

  /** Shows that no wallet is connected. */
  showNone(): void {
    this.#show(null);
  }

  async #use(connect: () => Promise<Wallet | null>): Promise<void> {
    setText(byId('wallets-problem'), 'Waiting for the wallet…');
    let isReplaced = false;
    try {
      const wallet = await connect();
      isReplaced = true;
      await this.#onWallet(wallet);
      this.#show(wallet);
      this.#dialog.close();
    } catch (error) {
      // Until another wallet is connected, the one before goes on trading.
      if (isReplaced) this.#show(null);
      setText(byId('wallets-problem'), problemText(error));
    }
  }

  #show(wallet: Wallet | null): void {
    setText(this.#button, wallet === null ? 'Connect wallet' : shortAddress(wallet.address));
    this.#button.title = wallet?.address ?? '';
    this.#leave.hidden = wallet === null;
  }
}
