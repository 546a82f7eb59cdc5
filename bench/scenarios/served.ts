import type { BareServerDialogue } from '../baselines/bare-uws.js';
import type { LoadDialogue } from '../load/load.js';
import { Child } from '../processes/child.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import type { QuotebookDialogue } from '../servers/quotebook.js';
import type { PublishDialogue } from '../servers/publish-schedule.js';

/** The processes of the scenarios over loopback. */
export const openQuotebook = (flags: readonly string[] = []): Child<QuotebookDialogue> =>
  new Child(new URL('../servers/quotebook.js', import.meta.url), [], ['--expose-gc', ...flags]);
export const openBareUws = (): Child<BareServerDialogue> =>
  new Child(new URL('../baselines/bare-uws.js', import.meta.url), [], ['--expose-gc']);
export const openNodeHttp = (): Child<ServerDialogue & Pick<BareServerDialogue, 'ANSWER_WITH'>> =>
  new Child(new URL('../baselines/bare-node-http.js', import.meta.url), [], ['--expose-gc']);
export const openWsLoop = (): Child<ServerDialogue & PublishDialogue> =>
  new Child(new URL('../baselines/ws-loop.js', import.meta.url), [], ['--expose-gc']);
export const openLoad = (): Child<LoadDialogue> => new Child(new URL('../load/load.js', import.meta.url));

/**
 * CPU seconds that a server used while `task` ran. No collection of garbage is forced before: that throws away what is
 * compiled for objects of which none lives just then, and one that comes unasked, in the middle of some work, does
 * not (measured: 30 ms a round of GET /quotes to compile it again).
 */
export async function cpuSecondsOf(server: Child<ServerDialogue>, task: () => Promise<unknown>): Promise<number> {
  const before = await server.ask('CPU', null);
  await task();
  const after = await server.ask('CPU', null);
  return (after - before) / 1e6;
}
