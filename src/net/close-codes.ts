/** Why a server of ours closes a WebSocket: RFC 6455, 7.4.1, and IANA's registry of close codes beyond it. */
export const CloseCode = {
  /** The peer broke a rule of ours. */
  policyViolation: 1008,
  messageTooBig: 1009,
  internalError: 1011,
  serviceRestart: 1012,
  tryAgainLater: 1013,
} as const;

export const TOO_MANY_PINGS = 'Too many pings';
