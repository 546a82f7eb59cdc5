/** Rules of every operation: the documents, the page and llms.txt begin with them. Texts are Markdown. */
export const CONCEPTS: readonly { readonly title: string; readonly text: string }[] = [
  {
    title: 'Keys',
    text: 'Send the API key in the header `x-apikey`, on a socket in the first message, AUTH. A key has a tier, which sets its quotas, and scopes: `operator` acts with the wallet of the service, `takers:all` sees what is private to any taker.',
  },
  {
    title: 'Amounts and times',
    text: 'Prices, sizes and strikes are decimal strings of whole numbers in units of 1e-18. Routes that name options by symbols have numbers of whole units instead. Times are Unix seconds; fields that end in `Ms` are milliseconds.',
  },
  {
    title: 'Quotes',
    text: "A maker signs a quote (EIP-712) and the service publishes it on the stream chain. A quote is in the book while it can be filled: its deadline and its pool's maturity are ahead, and its maker can pay. Takers fill it on the settlement chain, not through this service.",
  },
  {
    title: 'Events',
    text: 'Every change of the book is an event with a number, `seq`, of the log `epoch`. Answers and messages name the event that they are as of. A reader of the v2 protocol resumes from a number after it lost its connection.',
  },
  {
    title: 'The state of the chains',
    text: 'The book follows reorgs of both chains. While a chain is behind or silent, answers have the header `x-stale` with the reason, and publications are refused with 503.',
  },
  {
    title: 'Errors',
    text: 'An error has a `message`, or for wrong parameters a list of what is wrong. With `Accept: application/problem+json` it is RFC 9457 problem details: `code` is for programs, `type` leads to its explanation, `retryable` says whether the same request may succeed later.',
  },
  {
    title: 'Quotas',
    text: 'Answers to a key have `ratelimit-policy` and `ratelimit`. Over a quota the answer is 429 with `Retry-After` in seconds. Large answers count by their rows and bytes and come more slowly.',
  },
];

/** As the description of a document. */
export function conceptsMarkdown(): string {
  return CONCEPTS.map(({ title, text }) => `## ${title}\n\n${text}`).join('\n\n');
}
