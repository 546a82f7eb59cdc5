import { coverQueries } from '../../bench/scenarios/cover.js';
import { growth } from '../../bench/scenarios/growth.js';
import { testTiny } from './run-tiny.js';

testTiny(growth);
testTiny(coverQueries);
