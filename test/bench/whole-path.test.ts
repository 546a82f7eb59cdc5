import { rpcCalls } from '../../bench/scenarios/rpc-calls.js';
import { start } from '../../bench/scenarios/start.js';
import { turns } from '../../bench/scenarios/turns.js';
import { wholePath } from '../../bench/scenarios/whole-path.js';
import { testTiny } from './run-tiny.js';

testTiny(wholePath);
testTiny(turns);
testTiny(rpcCalls);
testTiny(start);
