import { KeyDialog } from './key-dialog.js';
import { Session } from './session.js';

interface PageSettings {
  readonly chainId: string;
  /** The local set-up's own; null: one has to be typed in. */
  readonly apiKey: string | null;
}

const SETTINGS_AGAIN_MS = 1_000;

const { chainId, apiKey } = await settings();

const session = new Session(chainId, (why) => {
  dialog.forget();
  dialog.ask(why);
});
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
