import type { Scenario } from '../scenario.js';
import { book } from './book.js';
import { coverQueries } from './cover.js';
import { growth } from './growth.js';

/** In the order of the report. */
export const scenarios: readonly Scenario[] = [book, growth, coverQueries];
