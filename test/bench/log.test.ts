import { logCommits } from '../../bench/scenarios/log.js';
import { recovery } from '../../bench/scenarios/recovery.js';
import { testTiny } from './run-tiny.js';

testTiny(logCommits);
testTiny(recovery);
