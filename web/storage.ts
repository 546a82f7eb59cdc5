/** What the browser keeps under this name; null: nothing that can be read. */
export function readStored(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(name) ?? 'null');
  } catch {
    return null;
  }
}

/** Keeps a value of JSON in the browser. One that stores nothing forgets it when the page is left. */
export function store(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch (error) {
    console.warn(`the browser does not store ${name}`, error);
  }
}
