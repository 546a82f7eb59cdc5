/** Exports of `quotebook/client/trading`, in Node and in browsers. */
export { ERC20_ROUTERS } from './abi.js';
export {
  ContractRefusedError,
  FeedNotLiveError,
  NotEnoughMeansError,
  NoContractError,
  NothingHeldError,
  NotMinedError,
  NotShownError,
  RevertedError,
} from './errors.js';
export {
  type FailedFill,
  type Filled,
  FillInterruptedError,
  type FillProgress,
  type FillResult,
} from './fill-outcome.js';
export { type FillPlan, type FillTerms, planFill, type PlannedFill, takerFee, type TakerState } from './fill-plan.js';
export type { SentQuote } from './quote-ledger.js';
export { type ManagerEvent, QuoteManager, type QuoteManagerOptions, QuotesLeftError } from './quote-manager.js';
export type { QuoteTarget, SideTarget } from './quoting-desk.js';
export { type Collateral, type PricedPlan, Trader, type TraderOptions } from './trader.js';
export type { TraderTimeouts } from './trader.js';
export type { TradingWallet, Transaction } from './transactions.js';
