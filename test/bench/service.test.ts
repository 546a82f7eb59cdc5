import { eventToSocket } from '../../bench/scenarios/event-to-socket.js';
import { fanOut } from '../../bench/scenarios/fan-out.js';
import { memory } from '../../bench/scenarios/memory.js';
import { publish } from '../../bench/scenarios/publish.js';
import { readRoutes } from '../../bench/scenarios/reads.js';
import { testTiny } from './run-tiny.js';

testTiny(publish);
testTiny(readRoutes);
testTiny(fanOut);
testTiny(eventToSocket);
testTiny(memory);
