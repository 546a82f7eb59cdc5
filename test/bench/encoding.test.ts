import { encoding } from '../../bench/scenarios/encoding.js';
import { testTiny } from './run-tiny.js';

testTiny(encoding);
