import t from 'tap';
import { eventToSocket } from '../../bench/scenarios/event-to-socket.js';
import { fanOut } from '../../bench/scenarios/fan-out.js';
import { gatewayFanOut } from '../../bench/scenarios/gateway-fan-out.js';
import { memory } from '../../bench/scenarios/memory.js';
import { publish } from '../../bench/scenarios/publish.js';
import { readRoutes } from '../../bench/scenarios/reads.js';
import { loadUws } from '../../src/net/uws/server.js';
import { testTiny } from './run-tiny.js';

testTiny(publish);
testTiny(memory);
// These are compared with uWebSockets.js itself.
const load = loadUws(16 << 10);
if ('module' in load) for (const scenario of [readRoutes, fanOut, gatewayFanOut, eventToSocket]) testTiny(scenario);
else t.comment(`NOT RUN beside uWebSockets.js, which does not load here: ${load.unavailable}`);
