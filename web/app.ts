import { KeyDialog } from './key-dialog.js';
import { Session } from './session.js';

interface PageSettings {
  readonly chainId: '42161' | '421613';
  /** The local set-up's own; null: one has to be typed in. */
  readonly apiKey: string | null;
}

const response = await fetch('/page.json');
const { chainId, apiKey } = (await response.json()) as PageSettings;

const session = new Session(chainId, (why) => {
  dialog.forget();
  dialog.ask(why);
});
const dialog = new KeyDialog((key) => void session.open(key));
const key = dialog.kept ?? apiKey;
if (key === null) dialog.ask();
else await session.open(key);
