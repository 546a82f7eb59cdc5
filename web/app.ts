import type { Hex } from 'quotebook/client';
import { byId } from './elements.js';
import { KeyDialog } from './key-dialog.js';
import { Session } from './session.js';
import { demoWallets, WalletOffers } from './wallet.js';
import { WalletView } from './wallet-view.js';

interface PageSettings {
  readonly chainId: string;
  /** `proven`: what is private to an address is shown to a wallet that has signed in with it. */
  readonly privacy: 'open' | 'proven';
  /** The local set-up's own; null: one has to be typed in. */
  readonly apiKey: string | null;
  /** The contract that takes collateral from makers and takers. */
  readonly router: Hex;
  /** JSON-RPC of a local set-up's chain, whose node signs for its funded accounts; null without one. */
  readonly rpcUrl: string | null;
}

const SETTINGS_AGAIN_MS = 1_000;

const { chainId, privacy, apiKey, router, rpcUrl } = await settings();

const session = new Session(
  { chainId, router, asksForProof: privacy === 'proven' },
  {
    onRefusedKey(why) {
      dialog.forget();
      dialog.ask(why);
    },
    onNeedsWallet: () => wallets.ask(),
    onLostWallet(why) {
      wallets.showNone();
      wallets.ask(why);
    },
  },
);
// The chain of a local set-up may be gone; the page shows the book without its accounts.
const demo = rpcUrl === null ? [] : await demoWallets(rpcUrl).catch(() => []);
const wallets = new WalletView(new WalletOffers(demo), chainId, (wallet) => session.act(wallet));
byId('wallets-proof').hidden = privacy !== 'proven';
const dialog = new KeyDialog((key) => void session.open(key));
const key = dialog.kept ?? apiKey;
if (key === null) dialog.ask();
else await session.open(key);

/** Asked for until they come: a server that starts answers with 503. */
async function settings(): Promise<PageSettings> {
  for (;;) {
    const response = await fetch('/page.json').catch(() => null);
    if (response?.ok === true) return (await response.json()) as PageSettings;
    await new Promise((resolve) => setTimeout(resolve, SETTINGS_AGAIN_MS));
  }
}
