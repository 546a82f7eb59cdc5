/** For how long the browser keeps something: always, or as long as the tab. */
type Lifetime = 'ALWAYS' | 'TAB';

/** What the browser keeps under this name; null: nothing that can be read. */
export function readText(name: string, lifetime: Lifetime = 'ALWAYS'): string | null {
  try {
    return storageOf(lifetime).getItem(name);
  } catch {
    // A user may forbid it to keep anything.
    return null;
  }
}

/** Keeps a text in the browser; null: none. A browser that stores nothing forgets it when the page is left. */
export function storeText(name: string, text: string | null, lifetime: Lifetime = 'ALWAYS'): void {
  try {
    if (text === null) storageOf(lifetime).removeItem(name);
    else storageOf(lifetime).setItem(name, text);
  } catch (error) {
    console.warn(`the browser does not store ${name}`, error);
  }
}

/** What the browser keeps under this name, as JSON; null: nothing that can be read. */
export function readStored(name: string): unknown {
  try {
    return JSON.parse(readText(name) ?? 'null');
  } catch {
    return null;
  }
}

/** Keeps a value of JSON in the browser, as `storeText` does. */
export function store(name: string, value: unknown): void {
  storeText(name, JSON.stringify(value));
}

function storageOf(lifetime: Lifetime): Storage {
  return lifetime === 'TAB' ? sessionStorage : localStorage;
}
