import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { Hex } from '../../engine/quote.js';
import type { OraclePrice, VolatilityAnswer } from '../../wire/answers.js';
import { type CallResult, type ContractCall, readUint } from '../contracts/abi-encoding.js';
import { oracleAdapterAbi, volatilityOracleAbi } from '../contracts/abi.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { unlessChainFails, revertName } from '../contracts/contract-errors.js';
import type { Profile } from '../contracts/deployments.js';
import type { OptionSeries } from './option-series.js';

export interface TokenPair {
  readonly base: Hex;
  readonly quote: Hex;
}

const ONE = 10n ** 18n;
/** Of the oracle's year. */
const YEAR_SECONDS = 365n * 86_400n;
/** The oracle is asked with a time of so many decimals, as the clients that compare its answers do. */
const TIME_STEP = 10n ** 6n;

/** Unit of dollar prices: USDC stands for the dollar. */
const DOLLAR = 'USDC';

/** Prices of tokens and volatilities of options, as the protocol's oracles say at the newest block. */
export class Oracles {
  constructor(
    private readonly reader: Pick<ChainReader, 'multicall'>,
    private readonly contracts: Pick<Profile['contracts'], 'oracleAdapter' | 'volatilityOracle'>,
    private readonly series: OptionSeries,
  ) {}

  /** US dollars per token, by the tokens' symbols, in their order. */
  async dollarPrices(symbols: readonly string[]): Promise<OraclePrice[]> {
    const dollar = this.series.token(DOLLAR)?.address;
    const pairs = symbols.map((symbol) => ({ base: this.series.token(symbol)?.address, quote: dollar }));
    const known = pairs.filter((pair): pair is TokenPair => pair.base !== undefined && pair.quote !== undefined);
    const prices = (await this.spotPrices(known)).values();
    return pairs.map((pair) => {
      const isKnown = pair.base !== undefined && pair.quote !== undefined;
      return isKnown ? (prices.next().value ?? { type: 'FAILED' }) : { type: 'UNSUPPORTED' };
    });
  }

  /** In the order of the pairs, all of one block. Never rejects because of the chain. */
  async spotPrices(pairs: readonly TokenPair[]): Promise<OraclePrice[]> {
    // A token in itself is 1; the adapter refuses to say so.
    const asked = pairs.filter((pair) => !isOneToken(pair));
    const calls = asked.map((pair) => this.#priceCall(pair));
    const read = calls.length === 0 ? [] : await unlessChainFails(() => this.reader.multicall(calls), null);
    if (read === null) return pairs.map(() => ({ type: 'FAILED' }));
    const answers = read.values();
    return pairs.map((pair) => (isOneToken(pair) ? { type: 'PRICED', price: ONE } : readPrice(answers.next().value)));
  }

  /** `seconds`: until the options mature, above 0. */
  async volatilities(token: Hex, spot: bigint, strikes: readonly bigint[], seconds: number): Promise<VolatilityAnswer> {
    const oracle = this.contracts.volatilityOracle;
    if (oracle === null) return { type: 'NO_ORACLE' };
    const years = (BigInt(seconds) * ONE) / YEAR_SECONDS;
    const time = years - (years % TIME_STEP);
    const args = [token, spot, [...strikes], strikes.map(() => time)] as const;
    const data = encodeFunctionData({ abi: volatilityOracleAbi, functionName: 'getVolatility', args });
    const [answer] = await unlessChainFails(() => this.reader.multicall([{ to: oracle.address, data }]), []);
    const volatilities = readUints(answer);
    if (volatilities?.length !== strikes.length) return { type: 'FAILED' };
    return { type: 'GIVEN', volatilities };
  }

  #priceCall({ base, quote }: TokenPair): ContractCall {
    const data = encodeFunctionData({ abi: oracleAdapterAbi, functionName: 'getPrice', args: [base, quote] });
    return { to: this.contracts.oracleAdapter.address, data };
  }
}

function isOneToken({ base, quote }: TokenPair): boolean {
  return base.toLowerCase() === quote.toLowerCase();
}

/** An oracle that says 0 says nothing. */
function readPrice(answer: CallResult | undefined): OraclePrice {
  const price = readUint(answer);
  if (price !== null && price > 0n) return { type: 'PRICED', price };
  const name = answer?.reverted === true ? revertName(answer.data) : null;
  return { type: name?.startsWith('OracleAdapter__Pair') === true ? 'UNSUPPORTED' : 'FAILED' };
}

function readUints(answer: CallResult | undefined): readonly bigint[] | null {
  if (answer === undefined || answer.reverted) return null;
  try {
    return decodeFunctionResult({
      abi: [volatilityOracleAbi[1]],
      functionName: 'getVolatility',
      data: answer.data,
    });
  } catch {
    return null;
  }
}
