import { byId, create, found, replaceChildren, setText } from './elements.js';
import { problemText, shortAddress, Wallet, type WalletOffer, type WalletOffers } from './wallet.js';

/** The header's button and its dialog: which wallet acts on this page. */
export class WalletView {
  readonly #offers: WalletOffers;
  readonly #chainId: string;
  readonly #onWallet: (wallet: Wallet) => void;
  readonly #dialog = found('wallets', HTMLDialogElement);
  readonly #button = byId('wallet');

  /** `onWallet`: another one was connected. */
  constructor(offers: WalletOffers, chainId: string, onWallet: (wallet: Wallet) => void) {
    this.#offers = offers;
    this.#chainId = chainId;
    this.#onWallet = onWallet;
    this.#button.addEventListener('click', () => this.ask());
    byId('wallets-close').addEventListener('click', () => this.#dialog.close());
  }

  ask(): void {
    setText(byId('wallets-problem'), '');
    const offers = this.#offers.all();
    const rows = offers.map((offer) => {
      const button = create('button', '', offer.name, create('small', '', offer.address ?? ''));
      button.type = 'button';
      button.addEventListener('click', () => void this.#connect(offer));
      return create('li', '', button);
    });
    const none = create('li', '', 'This browser has no wallet. Install one, and load the page again.');
    replaceChildren(byId('wallets-list'), rows.length > 0 ? rows : [none]);
    if (!this.#dialog.open) this.#dialog.showModal();
  }

  async #connect(offer: WalletOffer): Promise<void> {
    try {
      const wallet = await Wallet.connect(offer, this.#chainId);
      setText(this.#button, shortAddress(wallet.address));
      this.#button.title = wallet.address;
      this.#dialog.close();
      this.#onWallet(wallet);
    } catch (error) {
      setText(byId('wallets-problem'), problemText(error));
    }
  }
}
