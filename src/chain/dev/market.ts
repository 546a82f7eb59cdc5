/** The eight symbols that the service knows, as the local chain has them. `usdPrice` and amounts are 1e-18. */
export interface DevToken {
  readonly symbol: string;
  readonly decimals: number;
  readonly usdPrice: bigint;
  /** What each account gets, in whole tokens. */
  readonly granted: bigint;
}

const ONE = 10n ** 18n;

export const devTokens: readonly DevToken[] = [
  { symbol: 'testWETH', decimals: 18, usdPrice: 1800n * ONE, granted: 1_000_000n },
  { symbol: 'WETH', decimals: 18, usdPrice: 1800n * ONE, granted: 1_000_000n },
  { symbol: 'WBTC', decimals: 8, usdPrice: 30_000n * ONE, granted: 100_000n },
  { symbol: 'PREMIA', decimals: 18, usdPrice: ONE / 2n, granted: 1_000_000_000n },
  { symbol: 'LINK', decimals: 18, usdPrice: 7n * ONE, granted: 1_000_000_000n },
  { symbol: 'USDC', decimals: 6, usdPrice: ONE, granted: 1_000_000_000n },
  { symbol: 'DAI', decimals: 18, usdPrice: ONE, granted: 1_000_000_000n },
  { symbol: 'ARB', decimals: 18, usdPrice: ONE, granted: 1_000_000_000n },
];

/** Bases of the vaults, one for calls and one for puts each, against USDC. */
export const devVaultBases: readonly string[] = ['testWETH', 'WETH', 'WBTC'];

/** Pools against USDC that are there from the start: each strike as a call and a put for each maturity. */
export interface DevSeries {
  readonly base: string;
  /** 1e-18 USDC per base token. */
  readonly strikes: readonly bigint[];
  /** Which of the calendar's maturities, from the nearest. */
  readonly maturities: number;
}

export const devSeries: readonly DevSeries[] = [
  { base: 'testWETH', strikes: [1600n, 1700n, 1800n, 1900n, 2000n].map((strike) => strike * ONE), maturities: 3 },
  { base: 'WBTC', strikes: [28_000n, 30_000n, 32_000n].map((strike) => strike * ONE), maturities: 2 },
];
