/**
 * Whether a text that begins like a URL is one. The patterns of the settings leave through a host that is none and a
 * port beyond 65535; a fragment has no meaning for a server, and a WebSocket may not have one (RFC 6455, 3).
 */
export function isUrl(text: string): boolean {
  return URL.canParse(text) && !text.includes('#');
}
