import type { ConnectionState, HeartbeatMessage } from 'quotebook/client';
import { byId, setText } from './elements.js';

const WORDS: Readonly<Record<ConnectionState, string>> = {
  CONNECTING: 'connecting',
  OPEN: 'live',
  WAITING: 'reconnecting',
  UNAUTHORIZED: 'key refused',
  CLOSED: 'not connected',
};

/** The connection's state, and how far behind each chain is. */
export class StatusView {
  showConnection(state: ConnectionState): void {
    const element = byId('connection');
    element.dataset.state = state;
    setText(element, WORDS[state]);
    // What the last heartbeat said of the chains grows old; the next one says it anew.
    if (state !== 'OPEN') byId('chains').setAttribute('aria-busy', 'true');
  }

  showChains({ settlement, stream }: HeartbeatMessage['chains']): void {
    showChain(byId('settlement'), settlement);
    showChain(byId('stream'), stream);
    byId('chains').setAttribute('aria-busy', 'false');
  }
}

function showChain(element: HTMLElement, { block, lateMs, stale }: HeartbeatMessage['chains']['stream']): void {
  const place = block === null ? 'no block yet' : `block ${block.blockNumber}`;
  const age = lateMs === null ? '' : `, ${ageText(lateMs)} old`;
  setText(element, stale === null ? `${place}${age}` : `late: ${stale}`);
  element.title = stale ?? '';
  element.toggleAttribute('data-stale', stale !== null);
}

function ageText(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}
