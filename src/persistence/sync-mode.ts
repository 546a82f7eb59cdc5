import type { OpenMode } from './disk.js';

/**
 * When the log is forced to the disk: before anything is told; every `intervalMs`; or when the system pleases. With the
 * latter two a power cut loses what was told since the last sync; the death of the process alone loses nothing.
 */
export type SyncMode =
  { readonly type: 'always' } | { readonly type: 'interval'; readonly intervalMs: number } | { readonly type: 'never' };

/** `always`, `never` or `interval(MILLISECONDS)`. Throws RangeError on anything else. */
export function parseSyncMode(text: string): SyncMode {
  if (text === 'always' || text === 'never') return { type: text };
  const intervalMs = Number(/^interval\(([1-9][0-9]{0,5})\)$/.exec(text)?.[1]);
  if (Number.isNaN(intervalMs)) throw new RangeError(`not always, never or interval(MILLISECONDS): ${text}`);
  return { type: 'interval', intervalMs };
}

/** With `always` a write is on the disk when it returns. */
export function openModeFor(sync: SyncMode): OpenMode {
  return sync.type === 'always' ? 'durable' : 'write';
}
