/**
 * Every bound of the service, in one place. A limit is a default: `settings.ts` says which of them the configuration
 * may change. Units are in the names: Bytes, Ms, Seconds; a bare number counts things.
 */
export const limits = {
  /** Quotes in one POST /quotes (wire format). */
  quotesPerRequest: 1000,
  /** Options in one POST /pools. */
  poolsPerRequest: 100,
  /** Options in one POST /pool/settle, /pool/exercise or /pool/annihilate. */
  settlementsPerRequest: 1000,
  /** Quotes in one POST /orderbook/quotes. */
  signedQuotesPerRequest: 500,
  /** Shortest time to live of these quotes; `minQuoteLifeSeconds` where that is longer. */
  minSignedQuoteSeconds: 30,
  /** Quotes in one PATCH or DELETE /orderbook/quotes. */
  tradesPerRequest: 25,
  /**
   * Options of one request to POST /pools, /pool/settle, /pool/exercise or /pool/annihilate, or pools of one PATCH or
   * DELETE /orderbook/quotes, whose transactions are under way at once.
   */
  optionsInFlight: 32,
  /** How long POST /pools waits for the events of what it deployed. */
  poolArrivalMs: 30_000,
  /** Age above which GET /pools no longer lists a pool: 90 days. */
  poolListingSeconds: 90 * 86_400,
  /** How old positions in GET /account/option_balances may be, and of how many wallets they are kept. */
  balanceCacheMs: 2_000,
  balanceCacheWallets: 1_000,
  /** Pools, the newest ones, that GET /account/option_balances looks for positions in. */
  balancePools: 20_000,
  /** Log queries for the pools' deployments in one GET /account/option_balances; the next one continues. */
  balanceLogQueries: 500,
  /** Ids in one GET /orders or POST /orders/query. */
  quoteIdsPerRequest: 1000,
  /** Ids in one DELETE /quotes or POST /quotes/restore; their hash takes no more than 511. */
  withdrawalsPerRequest: 500,
  /** How far ahead the deadline of a signed withdrawal may be: so long its nonce is kept. */
  signedAheadSeconds: 3_600,
  /** Nonces that are kept of one provider, of what one key asked for, and of all: 350 bytes each. */
  noncesPerProvider: 4_000,
  noncesPerKey: 8_000,
  noncesKept: 200_000,
  /** How far ahead the authorisation of a key may end: 90 days. */
  authorizationSeconds: 90 * 86_400,
  /** Authorised keys of one provider, providers of one key, and authorisations in all: 500 bytes each. */
  authorizationsPerProvider: 16,
  authorizationsPerKey: 100,
  authorizationsKept: 5_000,
  /** How often those of keys that are gone are looked for. The second look that misses a key ends them. */
  goneKeyLookMs: 30_000,
  /** Bounds of the timers that withdraw quotes, and the least time that they have after a start. */
  timerMinSeconds: 2,
  timerMaxSeconds: 3_600,
  timerGraceMs: 30_000,
  /** Fill limits in force: of one provider, set with one key, and in all: up to 10 KB each. */
  fillLimitsPerProvider: 200,
  fillLimitsPerKey: 400,
  fillLimitsKept: 5_000,
  /** The longest time within which fills are counted. */
  fillWindowSeconds: 3_600,
  /** How long a nonce for a sign-in holds, how far ahead the clock of its issuer may be, and the longest session. */
  nonceMs: 300_000,
  nonceLeadMs: 5_000,
  sessionMs: 43_200_000,
  /** Sign-ins within the life of a nonce: of all keys, of one key, and of one address. */
  signIns: 10_000,
  signInsPerKey: 1_000,
  signInsPerAddress: 20,
  /** Addresses that one API key may have proven. */
  provenPerKey: 16,
  /** Sessions that are live: of all keys, at 200 bytes each, and of one key. */
  sessions: 100_000,
  sessionsPerKey: 10_000,
  /** Sessions signed out before they expire: of all keys, at 90 bytes each in one value of the cluster, and of one key. */
  signedOut: 4_000,
  signedOutPerKey: 1_000,
  /**
   * Keys of the tier self: of all addresses, at 300 bytes each in one file or value of the cluster, and from one
   * network; days without a use after which one expires; and how often uses that are a day old are written down.
   */
  selfKeys: 1_000,
  selfKeysPerNetwork: 5,
  selfKeyUnusedDays: 30,
  selfKeyNoteMs: 600_000,
  /** Body of a request that carries a batch, of one without a key, and of any other. */
  batchBodyBytes: 1 << 20,
  keylessBodyBytes: 8 << 10,
  bodyBytes: 64 << 10,
  /**
   * Objects, arrays and fields in one JSON body: at 0.2 us each. A quote has 22, so that a body of quotes has fewer
   * however many there are.
   */
  bodyParts: 40_000,
  /** Query string as it came, still encoded. */
  queryBytes: 96 << 10,
  /** Parameters in one query: the ids of GET /orders and every other one. */
  queryPairs: 1_100,
  /**
   * Rows (quotes, events, levels, tickers) that one slice of a large answer writes between two turns of the event loop,
   * at 1 to 7 us each; an answer with more of them is large.
   */
  rowsPerSlice: 100,
  /** Slices of large answers, snapshots and replays between two turns of the event loop, for all clients together. */
  slicesPerTurn: 1,
  /** How many seconds' worth of its rows and bytes a key that used none may use at once. */
  answerBurstSeconds: 1,
  /** Answers remembered while the book stands still, and as much again of the lists of quotes in them. */
  rememberedAnswerBytes: 4 << 20,
  /**
   * Quotes whose text is kept for the next reader, about 1 KB each, and as many again from before those; the same
   * of their MessagePack, about 500 bytes each.
   */
  writtenQuotes: 16_384,
  /** Schema errors in one 400 answer. */
  schemaErrors: 20,
  /**
   * Request line and headers of one request: the longest query and 32 KiB. uWebSockets.js 20.30 has a bound of its own:
   * what comes in several pieces may have 4 KiB.
   */
  headBytes: 128 << 10,
  /** Header lines of one request: as many as uWebSockets.js 20.30 reads, which closes the connection of more. */
  headerFields: 48,
  /** How long a request that is refused before its body came may go on to send it. */
  refusedBodyMs: 1_000,
  /** Read and thrown away of a body that is refused, so that its sender gets to read why. */
  bodyDiscardBytes: 16 << 20,
  /** Pieces of a body with fewer than 256 bytes each; with more of them the connection is closed. */
  bodySmallPieces: 4_096,
  /**
   * Bytes of the bodies of all requests that are not answered yet, and of those of one address; beyond it they are
   * refused as BUSY.
   */
  bodiesBytes: 64 << 20,
  bodiesBytesPerAddress: 16 << 20,
  /**
   * Bytes of answers that clients have not taken yet; beyond it the oldest of them is cut off. A client has
   * `answerGraceMs` for its answer, and a second for each of so many bytes of it.
   */
  unfinishedAnswersBytes: 256 << 20,
  answerGraceMs: 15_000,
  leastAnswerBytesPerSecond: 16 << 10,
  /**
   * Connections that are no WebSockets, in all and of one address. On uWebSockets.js 20.30, which tells of none before
   * its request, those whose request has a body and no answer yet.
   */
  httpConnections: 10_000,
  httpConnectionsPerAddress: 256,
  /** A connection without a whole request head, between requests, or that takes nothing of its answer. */
  httpIdleMs: 10_000,
  /**
   * Requests of one connection that may await their answers. uWebSockets.js allows one: it closes the connection when
   * another comes meanwhile, and the answer is lost.
   */
  pipelinedRequests: 16,
  /** Requests that uWebSockets.js has answered between two turns of the event loop: at 40 us each, 20 ms. */
  requestsPerTurn: 512,
  /**
   * From the end of a request's headers to the end of its body. Below the 8 to 12 s (10, counted in steps of 4) after
   * which uWebSockets.js closes the connection of a slow body without a word: its sender gets to read the 408.
   */
  bodyDeadlineMs: 7_500,
  /** File descriptors kept for the log, the nodes and the page, and how often they are looked at: at 20 us. */
  spareDescriptors: 16,
  descriptorCheckMs: 100,
  wsMessageBytes: 16 << 10,
  /** Bytes a socket may leave unread before it is closed with 1013. */
  wsBufferedBytes: 1 << 20,
  wsIdleSeconds: 30,
  /** Pings and pongs of one socket in that time, and what it sends while it is being closed: at 1.5 us each. */
  wsIdleFrames: 600,
  /** For a closing socket to read what is buffered for it, and for answers under way when the server stops. */
  drainMs: 5_000,
  /** Of it, how long a request may wait for its transaction or quotes; then it is answered with their state so far. */
  stopPatienceMs: 4_000,
  /** Sockets open at once: in all, of one address (IPv6: one /64); those of one key are a quota of its tier. */
  wsConnections: 10_000,
  wsConnectionsPerAddress: 32,
  /** Bytes a socket may leave unread before its ORDERBOOK updates are merged, and how often that is looked at. */
  wsSlowBytes: 256 << 10,
  wsCatchUpMs: 50,
  /** Between heartbeats of the subprotocols. */
  wsHeartbeatMs: 5_000,
  /** Levels of a side that ORDERBOOK shows; a snapshot of both sides is at most about 600 KB. */
  wsBookLevels: 4_000,
  /** Quotes of one snapshot, of one message of it, and events read at a time for a reader that comes back. */
  wsSnapshotQuotes: 100_000,
  wsSnapshotPageQuotes: 100,
  wsReplayEvents: 100,
  /** FILTERs and UNSUBSCRIBEs of one socket that wait while its key is over its rows or bytes. */
  wsWaitingFilters: 200,
  /** Events kept in memory for readers who come back, about 1 KB each; the log has those before. */
  recentEvents: 32_768,
  /** Filled quotes remembered for a reorg that takes their fills back. */
  recentFills: 10_000,
  /** Trades kept in memory, about 500 bytes each, and days that they are kept. A start reads them from their files. */
  tradesKept: 100_000,
  tradeDays: 90,
  /** A file of trades ends with so many bytes, or when it is so old: files go as a whole. */
  tradeFileBytes: 8 << 20,
  tradeFileMs: 24 * 60 * 60_000,
  /** How long trades wait for others that are written with them, how long after a failure, and trades of one write. */
  tradeWriteMs: 500,
  tradeRetryMs: 10_000,
  tradeBatch: 200,
  /** Trades that wait to be written, about 500 bytes each; beyond it the next start reads them from the log. */
  tradeQueue: 50_000,
  /** Records without trades after which the files say that there were none: fewer than are between two snapshots. */
  tradeMarkRecords: 10_000,
  /** Trades that one page of GET /trades reads from files, and what is left of one: some 0.3 s of small slices. */
  tradesSearched: 50_000,
  /** Candles of one answer: the newest. */
  candles: 1000,
  /** Events that wait for the feed's own book while nobody follows it: some 0.1 ms for all of them. */
  unreadEvents: 64,
  /** Groups of the log's records read in one turn of the event loop, to count the fills of the day before a start. */
  pastGroupsPerTurn: 200,
  /** Tickers in one message of a snapshot, each about 500 bytes. */
  wsSnapshotPageTickers: 200,
  /**
   * Levels that one update of ORDERBOOK may have beyond twice its depth, for a reader that was away or is slow; with
   * more, a snapshot comes in its place. At about 50 bytes each, what comes on top of the largest snapshot is 100 KB.
   */
  changedLevels: 2_000,
  /** Legs of one cover, about 1 KB each, and distinct covers that readers may follow at once. */
  coverLegs: 50,
  coverTopics: 20_000,
  /** Pages of past events that are read from the log or wait for it, and pause of a socket for which that is too many. */
  logReads: 64,
  logBusyMs: 500,
  /** Pages of past events from the log that are kept for others at the same place, and how long without a further one. */
  logPages: 8,
  logPageMs: 10_000,
  /** Questions about the past that are answered or wait, and bytes of records that one answer searches. */
  pastReads: 64,
  pastSearchBytes: 256 << 20,
  /** Records that one answer replays from a snapshot, and states that stay in memory: of 100,000 quotes 150 MB each. */
  pastReplayRecords: 500_000,
  pastEngines: 2,
  /** The thread that answers them: how long it waits for the next, and megabytes of its heap. */
  pastIdleMs: 60_000,
  pastHeapMb: 2_048,
  /** Events that one GET /events looks at, and that it merges into one update of ORDERBOOK. */
  eventsPerPage: 1_000,
  eventsPerBookPage: 10_000,
  /** Quotes in its answer in place of events that are gone, about 1 KB each. */
  eventsSnapshotQuotes: 10_000,
  /** Written messages of snapshots that are kept for others who request the same before the next event. */
  sharedSnapshotBytes: 32 << 20,
  /** How long a socket may wait before its AUTH. */
  wsAuthDeadlineMs: 60_000,
  /** Bad messages in the window after which a socket is closed with 1008. */
  wsBadMessages: 100,
  wsBadMessageWindowMs: 10_000,
  /** FILTERs of one socket: 20 a second, over ten seconds so that setting up many at once is no offence. */
  wsSubscribes: 200,
  wsSubscribeWindowMs: 10_000,
  /** RFQs of one socket that may wait to become durable. */
  wsWaitingRfqs: 64,
  /** Calls of one socket, such as POST_QUOTES, that may wait for their answers. */
  wsWaitingCalls: 16,
  /** Life of a request for quotes that names no end, and the longest, in seconds. */
  rfqSeconds: 60,
  rfqMaxSeconds: 86_400,
  /** Requests for quotes that are live at once: in all, and of one key. More of a socket are passed on and not followed. */
  liveRfqs: 2_000,
  liveRfqsPerKey: 100,
  /** How long after an RFQ came the address of its pool key may be unknown; then it is refused. */
  wsRfqLookupMs: 5_000,
  /** Calldata of one publish transaction: Arbitrum takes about 95,000. */
  maxTxBytes: 90_000,
  /** Quotes waiting for their publication; beyond it POST /quotes is 503. */
  publishQueue: 20_000,
  /** How long POST /quotes waits for its events. */
  publishTimeoutMs: 30_000,
  /** Publish transactions under way at once; what arrives meanwhile goes into the next. */
  publishTxInFlight: 4,
  /** Transactions of one wallet sent and not yet mined, and those that wait for a place. */
  txInFlight: 16,
  txWaiting: 5_000,
  receiptPollMs: 100,
  /** How long after its transaction was mined a quote's event may take to be read, once its block has been. */
  publishSettleMs: 120_000,
  /** After this long unmined a transaction is sent again, so many times with an eighth more fee. */
  txResendAfterMs: 10_000,
  txResends: 8,
  /** Most that a transaction offers for a unit of gas, in gwei. */
  maxFeeGwei: 500,
  /**
   * Gas that the routes for keys with the scope operator may use in 24 hours, on both chains: each route, and all
   * together. About 2,900 exercised positions, and 7,400; quotes that are published one by one: 11,700, and 29,400.
   */
  operatorRouteGasPerDay: 400_000_000,
  operatorGasPerDay: 1_000_000_000,
  /** How long a request that trades, settles, deploys or approves waits for one transaction. The wallet goes on with it. */
  txPatienceMs: 90_000,
  /** Open connections to the port of the metrics: a scraper or two, and a person with curl. */
  metricsConnections: 16,
  /** Between looks at what the wallet has, for the metrics. */
  walletBalanceMs: 60_000,
  /** Mined transactions that are remembered at most, for a reorg may take them back: each up to `maxTxBytes`. */
  txRemembered: 64,
  /** The file of what wallets mean to send is written anew when it is larger. */
  intentFileBytes: 32 << 20,
  /**
   * The file of what keys and wallets have used of their days is written anew when it is larger; a key takes 150 bytes
   * of it.
   */
  budgetFileBytes: 8 << 20,
  /** One JSON-RPC request: its time, its tries over all endpoints, the first pause between them. */
  rpcTimeoutMs: 10_000,
  rpcAttempts: 4,
  rpcBackoffMs: 100,
  /**
   * Longest answer, decompressed, and its objects, arrays, fields and items: a block has one for each transaction, a log
   * 30. A megabyte of the smallest of them blocks the event loop for longer than the largest honest answer does.
   */
  rpcAnswerBytes: 4 << 20,
  rpcAnswerParts: 50_000,
  /** Of `eth_getLogs`. */
  rpcLogsAnswerBytes: 64 << 20,
  rpcLogsAnswerParts: 500_000,
  /** Of `eth_call`: a batch of good answers has 100 KB at most; megabytes come from code that is hostile. */
  rpcCallAnswerBytes: 512 << 10,
  /**
   * How long after its failure a preferred endpoint is looked at again; twice as long each time that it then fails again
   * as soon, up to 16 times.
   */
  rpcReturnAfterMs: 15_000,
  /** Calls in one `aggregate3`: at about 60,000 gas for a validity check, 10 million. */
  rpcCallsPerBatch: 160,
  rpcBatchesInFlight: 8,
  /**
   * Requests to the settlement chain that are under way for clients at the same time, all together, each of up to
   * `rpcCallsPerBatch` calls, and how long one more waits before it fails as if the chain did not answer.
   */
  clientReadsInFlight: 32,
  clientReadWaitMs: 10_000,
  /** Blocks whose timestamps are asked for at once. */
  rpcBlocksInFlight: 8,
  /** Gas of a contract call that is asked alone. */
  rpcGasPerCall: 10_000_000,
  /** Gas of one check of a quote, which may run anyone's token: an honest one takes 60,000. */
  rpcGasPerCheck: 300_000,
  /**
   * Gas of one dry run of a pool's deployment, which may run anyone's tokens and oracle, how long the book waits for
   * them, and dry runs remembered: each holds for all pools of its tokens and oracle, and until the next sweep.
   */
  rpcGasPerDeployment: 5_000_000,
  deploymentDryRunMs: 2_000,
  deploymentDryRuns: 10_000,
  /**
   * Pools and tokens remembered because a check of theirs took more. Each is then asked one call alone, after a pause
   * that doubles from the first to the longest, and so long after any other such call.
   */
  trippedContracts: 10_000,
  contractPauseMs: 1_000,
  contractMaxPauseMs: 300_000,
  contractProbeGapMs: 100,
  /** Quotes whose state is asked for in one turn of the event loop, two calls each, and such slices under way. */
  statesPerSlice: 80,
  stateSlicesInFlight: 4,
  /** Quotes that one command states anew. */
  restatedPerCommand: 500,
  /** Quotes whose makers' means have changed that are asked about before the next look at the chains: some 80 ms. */
  touchedSlice: 640,
  /** Fills and cancels that are remembered of quotes whose publication was not read yet: some 3 MiB. */
  earlyEvents: 10_000,
  /** Blocks in one range of logs; halved when a node refuses. */
  logRangeBlocks: 10_000,
  /** How long a start waits for both chains before it listens and says that it is waiting. */
  startPatienceMs: 1_000,
  /** How long after a signal to stop another one is taken for the same: npm passes on what the terminal sent to all. */
  sameSignalMs: 500,
  /**
   * Pause between looks at the chains when nothing wakes the reader. Two looks a second at each of two chains are all
   * of the 4 calls a second that the service may make at rest; so many leave room for the verification and balances.
   */
  chainPollMs: 520,
  chainBackoffMs: 200,
  /** Well below `chainSilenceMs`: one loop reads both chains, and where one fails the other is not to look silent. */
  chainMaxBackoffMs: 5_000,
  /** Between pings of a WebSocket that tells of new heads; one that says nothing until the next is left. */
  headWatchPingMs: 10_000,
  /** A chain that gave no head for longer is stale, and so is one that gave heads and could not be read. */
  chainSilenceMs: 10_000,
  /**
   * How long a lower head, the lack of a block, or of quotes in one whose filter tells of some, or a reorg deeper than
   * `reorgDepth` must be shown before it is believed: a node may lag, or be on a dead branch. After as long of refusing
   * what it is asked, another is asked.
   */
  lowerHeadMs: 3_000,
  /**
   * How far the timestamp of a settlement block may leap ahead of the time that has passed. One further ahead counts
   * once another node gives the block the same one, or a later block shows it, too.
   */
  headLeapMs: 60_000,
  /** How long the newest blocks are read again with each look, on a chain that makes no more of them. */
  rereadMs: 10_000,
  /**
   * Blocks whose logs are read again beside the looks, through another endpoint where there is one, and how often: 30
   * times more rarely once 3 of them have passed without a block that may hold anything.
   */
  verifyBlocks: 1_000,
  verifyMs: 10_000,
  /**
   * Logs that one request of a verification is to be answered with, and the rest of their last block: 6,000 in one answer
   * stop the event loop for 70 ms.
   */
  logsPerVerifyRequest: 500,
  /** Logs of these blocks that are remembered as read, about 40 bytes each. With more, older blocks are left out. */
  rememberedLogs: 100_000,
  /** Blocks with nothing in them after which the position alone is logged. */
  positionEveryBlocks: 500,
  /** Every known order is checked against the chain once in this time, so many in one look. */
  sweepMs: 300_000,
  sweepSlice: 320,
  /** Published events read, or signatures checked, between two turns of the event loop: at 80 us each, 8 ms. */
  checksPerTurn: 100,
  /** Threads that check the signatures of batches, the fewest signatures that go there, and the most in one message. */
  signatureWorkers: 2,
  signaturePoolFrom: 16,
  signaturesPerMessage: 64,
  /** Good signatures of posted quotes that are remembered until their events come, about 300 bytes each. */
  rememberedSignatures: 20_000,
  /** How long a stop waits for a request to a chain that is under way. */
  chainStopMs: 1_000,
  /** How long a thing has to be well before its trouble is over in the text log; until then further failures are lines for debugging. */
  troubleCalmMs: 60_000,
  /** Pause before a command is offered again to a log that takes none. */
  journalRetryMs: 100,
  /**
   * Quotes that expire within one record: the feed publishes a commit in one turn of the event loop. Where more expire
   * at once, as at a maturity, they go in several records.
   */
  expiredAtOnce: 500,
  /** One file of the log, made ready ahead of its use. */
  logSegmentBytes: 32 << 20,
  /** Memory of a group of records that is kept for the next one. */
  logBufferBytes: 4 << 20,
  /** How long nothing may come before the last group is sealed. */
  logSealDelayMs: 50,
  /** A commit that takes longer is warned of. */
  logSlowCommitMs: 1_000,
  logSpareRetryMs: 1_000,
  /** The text log's lines that wait while their volume has no room; beyond it they are dropped. */
  textLogWaitingBytes: 1 << 20,
  /** Records and bytes that wait for their commit; beyond it writes are refused as BUSY. */
  logQueueRecords: 200_000,
  logQueueBytes: 64 << 20,
  /** Room that is to stay free on the volume: the smaller of the two, unless the configuration says. */
  lowWaterMaxBytes: 256 << 20,
  lowWaterPercent: 5,
  spaceCheckMs: 100,
  /** Records between two sums of the running engine's state in the log, for replays to be held against. */
  stateHashEveryRecords: 10_000,
  /**
   * Changed orders that are added to such a hash in one turn of the event loop: at 0.3 to 1.5 us an order, 6 ms at
   * most. The rest waits for the next commit.
   */
  stateSumOrders: 4_000,
  snapshotEveryRecords: 250_000,
  /** How long after one that found no room, or no file descriptor, the next is tried. */
  snapshotRetryMs: 5 * 60_000,
  /** At least two, so that one may rot. */
  snapshotsKept: 2,
  /** How long a snapshot may take: a second for 100,000 quotes, more where other programs want the cores. */
  snapshotMs: 10 * 60_000,
  /** Shortest time to live of a quote posted here. */
  minQuoteLifeSeconds: 10,
  /** Blocks that a chain may take back; a deeper reorg stops its reader. */
  reorgDepth: 64,
  /** Verified API keys remembered by their raw value. */
  keyCache: 10_000,
  /** Unknown keys that an address may send in a minute, how long it is refused then, and how many are remembered (at times twice as many). */
  unknownKeysPerMinute: 10,
  unknownKeyBanMs: 15 * 60_000,
  unknownKeyAddresses: 10_000,
  /** How often a server looks for keys that another process changed. */
  keyWatchMs: 1000,
  /** How often it looks whether the settings file was changed. */
  settingsWatchMs: 1000,
  /** How long a change of the keys waits for another process that is changing them. */
  keyUpdateMs: 2000,
  /** Pool addresses and keys remembered. */
  poolCache: 100_000,
  /** Of a cluster: groups in flight to the log stream, and bytes that wait for its quorum; beyond them writes are BUSY. */
  clusterWindow: 128,
  clusterQueueBytes: 32 << 20,
  /** Bytes of records that wait for the next group: one message of the stream holds a group. */
  clusterGroupBytes: 2 << 20,
  /** Messages read at a time from the log stream, and kept that came behind a gap. */
  clusterReadMessages: 256,
  clusterAheadMessages: 4_096,
  /** How long a gap may stay before it is filled, and attempts to read a message before it counts as lost. */
  clusterGapMs: 20,
  clusterAttempts: 500,
  /** Pause before something is tried again that the servers gave no answer to, and their time to answer. */
  clusterRetryMs: 100,
  clusterServerMs: 2_000,
  /** How long a leader's lease lives, how often it is renewed, and how often a standby looks at it. */
  clusterLeaseMs: 3_000,
  clusterRenewMs: 1_000,
  clusterPollMs: 250,
  /** How often a leader says how it is. */
  clusterNewsMs: 500,
  /** Calls of gateways that the leader works on at once. */
  clusterCalls: 10_000,
  /** How long a gateway waits for the leader's answer, when it asks again, and how long after a failover. */
  clusterCallMs: 120_000,
  /** The first of these where the leader waits for transactions: longer than `publishTimeoutMs` may be. */
  clusterTransactMs: 660_000,
  clusterResendMs: 2_000,
  clusterFailoverMs: 10_000,
  /** How long a request waits for the event that `x-min-seq` names, and how many may wait. */
  clusterMinSeqMs: 5_000,
  clusterMinSeqWaits: 10_000,
  /** How often gateways tell each other what keys have used. */
  clusterUsageMs: 200,
  /** Pairs of tokens whose spot price is remembered, and asked of the chain at once. */
  spotPairs: 256,
  /** Age from which a spot price is asked for again when a valuation needs it. */
  spotMaxAgeMs: 3_000,
  /** Pools whose open interest is remembered, and asked of the chain at once. */
  openInterestPools: 1_024,
  /** Age from which an open interest is asked for again when an answer or a followed ticker needs it. */
  openInterestMaxAgeMs: 10_000,
  /** Between two looks whether a followed ticker's open interest is due: for its age, or since the pool was traded. */
  openInterestLookMs: 1_000,
  /** Quotes of one request whose steps are traced; spans that wait for the collector, and that go to it at once. */
  tracedQuotes: 8,
  traceQueue: 4_096,
  traceBatch: 512,
  /** How long ended spans wait for others, and the collector's answer may take. */
  traceDelayMs: 1_000,
  traceTimeoutMs: 5_000,
  /** Time between two steps of the local chain's live market. */
  liveMarketMs: 2_000,
} as const;

/** A limit that a setting changed is a number like any other. */
export type Limits = Readonly<Record<keyof typeof limits, number>>;

/**
 * Quotas of a key, by its tier; each number is a setting. Free keys are enough to try everything by hand and to
 * follow the market. Paid keys are bounded too, so that one of them cannot starve the rest, far above what a maker
 * needs. Keys of the tier self are given to everyone with an address, which costs nothing: the operator pays for none of
 * what they publish.
 */
export const tierQuotas = {
  free: {
    requestsPerSecond: 20,
    quotesPerMinute: 120,
    quoteBurst: 100,
    quotesPerDay: 2_000,
    gasPerDay: 50_000_000,
    connections: 4,
    channels: 32,
    messagesPerSecond: 20,
    rfqsPerMinute: 60,
    rowsPerSecond: 5_000,
    answerBytesPerSecond: 4 << 20,
    answersWaiting: 8,
  },
  self: {
    requestsPerSecond: 10,
    quotesPerMinute: 60,
    quoteBurst: 20,
    quotesPerDay: 1_000,
    gasPerDay: 0,
    connections: 2,
    channels: 16,
    messagesPerSecond: 10,
    rfqsPerMinute: 30,
    rowsPerSecond: 2_000,
    answerBytesPerSecond: 2 << 20,
    answersWaiting: 4,
  },
  paid: {
    requestsPerSecond: 20_000,
    quotesPerMinute: 600_000,
    quoteBurst: 20_000,
    quotesPerDay: 100_000_000,
    gasPerDay: 1_000_000_000_000,
    connections: 256,
    channels: 1_024,
    messagesPerSecond: 1_000,
    rfqsPerMinute: 6_000,
    rowsPerSecond: 100_000_000,
    answerBytesPerSecond: 10_000_000_000,
    answersWaiting: 1_000,
  },
} as const;
