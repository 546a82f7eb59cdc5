/**
 * Whether a page of that origin may open a socket. Browsers let any page open one to anywhere and say on whose behalf
 * (RFC 6455 section 10.2); programs say nothing. `allowed` is what HTTP allows too; `*` is every page. The service's
 * own page, whose origin is the host that was asked, always may.
 */
export function pageMayConnect(
  allowed: readonly string[],
  origin: string | undefined,
  host: string | undefined,
): boolean {
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}
