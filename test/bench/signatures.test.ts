import { signatures } from '../../bench/scenarios/signatures.js';
import { testTiny } from './run-tiny.js';

testTiny(signatures);
