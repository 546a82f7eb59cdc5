const DEFAULT_PAGE = 100;

/** Most rows of a page: what the query names in `limit`, or 100. */
export function pageLimit(limit: string | undefined): number {
  return limit === undefined ? DEFAULT_PAGE : Number(limit);
}

/** Rows that are passed over cost about as much as one row that is written. */
const PASSED_OVER_PER_ROW = 100;

/** Rows that are charged for passing over `count` of them, as a list is searched for its page. */
export function rowsChargedForPassingOver(count: number): number {
  return Math.ceil(count / PASSED_OVER_PER_ROW);
}
