/**
 * A page whose bytes are known before it is asked for: made once, plain and compressed, and only handed out.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { holdsTag } from '@svc/proto/http/etag.ts';
import type { PageRequest, PageResponse } from '@svc/proto/http/door.ts';

const ETAG_CHARS = 22;
/** Above 6 the time grows and the size hardly falls. */
const LEVEL = 6;

/** Chosen by Accept-Encoding; 304 for a client that has it. */
export function preparePage(
  content: Uint8Array,
  own: Readonly<Record<string, string>>,
): (request: PageRequest) => PageResponse {
  // Not every buffer is one of its own: a view of a shared one would keep all of it.
  const plain = Buffer.from(content);
  const packed = gzipSync(plain, { level: LEVEL });
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, ETAG_CHARS);
  const headers = { ...own, vary: 'accept-encoding' };
  return (request) => {
    const zipped = acceptsGzip(request);
    // A strong ETag names the very bytes, and these are two sets of bytes.
    const etag = zipped ? `"${hash}-gz"` : `"${hash}"`;
    if (holdsTag(request.header('if-none-match'), etag))
      return { status: 304, headers: { ...headers, etag } };
    return zipped
      ? { headers: { ...headers, etag, 'content-encoding': 'gzip' }, body: packed }
      : { headers: { ...headers, etag }, body: plain };
  };
}

function acceptsGzip(request: PageRequest): boolean {
  return /(^|,)\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*(,|$))[\d.]+\s*)?(,|$)/i.test(
    request.header('accept-encoding') ?? '',
  );
}
