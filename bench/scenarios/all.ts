import type { Scenario } from '../scenario.js';
import { book } from './book.js';
import { coverQueries } from './cover.js';
import { encoding } from './encoding.js';
import { eventToSocket } from './event-to-socket.js';
import { fanOut } from './fan-out.js';
import { gatewayFanOut } from './gateway-fan-out.js';
import { growth } from './growth.js';
import { logCommits } from './log.js';
import { memory } from './memory.js';
import { publish } from './publish.js';
import { readRoutes } from './reads.js';
import { recovery } from './recovery.js';
import { rpcCalls } from './rpc-calls.js';
import { signatures } from './signatures.js';
import { start } from './start.js';
import { turns } from './turns.js';
import { wholePath } from './whole-path.js';

/** In the order of the report. */
export const scenarios: readonly Scenario[] = [
  book,
  growth,
  coverQueries,
  signatures,
  publish,
  readRoutes,
  fanOut,
  gatewayFanOut,
  eventToSocket,
  encoding,
  turns,
  wholePath,
  logCommits,
  recovery,
  memory,
  rpcCalls,
  start,
];
