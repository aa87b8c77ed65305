/**
 * Reads the bytes of a request with a bound and a time limit, decompressed with a bound. A body is never held
 * in two unbounded forms: what arrives is cut off at its limit, and a decompressor stops at the limit of the
 * result (a "bomb" costs at most that much memory).
 */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, type BrotliOptions, type ZlibOptions } from 'node:zlib';
import { apiError, type ApiError } from './errors.ts';
import { problem } from './json-text.ts';
import type { NodeRequest } from './reply.ts';

export const NO_BODY = new Uint8Array(0);

/** Returns true if the head announces a body. */
export function announcesBody(request: NodeRequest): boolean {
  if ('stream' in request)
    return !(request.stream as { endAfterHeaders?: boolean } | undefined)?.endAfterHeaders;
  const length = request.headers['content-length'];
  return (length !== undefined && length !== '0') || request.headers['transfer-encoding'] !== undefined;
}

/**
 * Reads the whole body as sent, complete within `timeoutMs` of the call; HTTP/1.1 has requestTimeout beside
 * it, HTTP/2 has only this. Rejects with `body_too_large`, `request_timeout` or `client_closed`.
 */
export async function readBody(
  request: NodeRequest,
  bytesMax: number,
  timeoutMs: number,
): Promise<Uint8Array> {
  if (!announcesBody(request)) return NO_BODY;
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > bytesMax) throw tooLarge(`${announced} bytes`, bytesMax);
  return await new Promise<Uint8Array>((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const timer = setTimeout(() => finish(timedOut(timeoutMs, size)), timeoutMs);
    const onData = (chunk: Uint8Array): void => {
      size += chunk.length;
      if (size > bytesMax) finish(tooLarge(`more than ${bytesMax} bytes`, bytesMax));
      else chunks.push(chunk);
    };
    const onEnd = (): void => finish();
    const onGone = (): void =>
      finish(apiError('client_closed', `the client closed the connection after ${size} bytes of the body`));
    // A broken connection reports itself by `error`, by `close`, or by both.
    const finish = (error?: ApiError): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onGone).off('aborted', onGone);
      if (error === undefined) {
        // Nothing of the body is kept by what stays attached to the request.
        request.on('error', ignore).off('error', onGone);
        return resolve(
          chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size),
        );
      }
      dropRest(request, timeoutMs);
      reject(error);
    };
    request.on('data', onData).once('end', onEnd).once('close', onGone).once('aborted', onGone);
    // One stays attached: a socket error after the body was given up, or was read, must not be an uncaught
    // exception.
    request.on('error', onGone);
  });
}

const ignore = (): void => undefined;

/**
 * The rest is read and dropped, because a client that still writes may not look at the answer before it is
 * done. HTTP/1.1 has its requestTimeout against a client that never ends; an HTTP/2 stream is closed here.
 */
function dropRest(request: NodeRequest, timeoutMs: number): void {
  request.resume();
  if (!('stream' in request)) return;
  const { stream } = request;
  const timer = setTimeout(() => stream.close(), timeoutMs);
  stream.once('close', () => clearTimeout(timer));
}

function tooLarge(actual: string, bytesMax: number): ApiError {
  return apiError('body_too_large', `the body has ${actual}, at most ${bytesMax} are taken`, {
    details: { limitBytes: bytesMax },
  });
}

function timedOut(timeoutMs: number, size: number): ApiError {
  return apiError(
    'request_timeout',
    `the body was not complete after ${timeoutMs} ms, ${size} bytes had come`,
  );
}

/** zlib refuses to work in smaller pieces. */
const CHUNK_BYTES_MIN = 64;
/** Beyond it a result comes in several pieces, which are put together. */
const CHUNK_BYTES_MAX = 4_194_304;

type Inflate = (data: Uint8Array, options: ZlibOptions & BrotliOptions) => Promise<Uint8Array>;

const DECODERS: Readonly<Record<string, Inflate>> = {
  gzip: promisify(gunzip) as Inflate,
  'x-gzip': promisify(gunzip) as Inflate,
  deflate: promisify(inflate) as Inflate,
  br: promisify(brotliDecompress) as Inflate,
};

/** Undoes a content-encoding. Throws `unsupported_media_type`, `body_too_large` or `validation_failed`. */
export async function decodeContent(
  raw: Uint8Array,
  encoding: string | undefined,
  bytesMax: number,
): Promise<Uint8Array> {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity' || raw.length === 0) return raw;
  const decode = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
  if (decode === undefined) {
    throw apiError(
      'unsupported_media_type',
      `content-encoding "${name.slice(0, 40)}" is not known; gzip, deflate, br and identity are`,
    );
  }
  try {
    // It comes in one piece, because to put pieces together takes several times as long: each byte is written
    // twice, to memory that was not used before. What is not written costs nothing.
    const chunkSize = Math.min(Math.max(bytesMax, CHUNK_BYTES_MIN), CHUNK_BYTES_MAX);
    return await decode(raw, { maxOutputLength: bytesMax, chunkSize });
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE')
      throw tooLarge(`more than ${bytesMax} bytes after decompression`, bytesMax);
    throw problem('', 'content_encoding', `the body is not complete ${name} data`);
  }
}

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/** Throws `unsupported_media_type` unless a content-type says JSON in UTF-8. */
export function assertJsonType(contentType: string | undefined): void {
  // This is by far the most frequent spelling.
  if (contentType === 'application/json') return;
  const charset = contentType === undefined ? undefined : CHARSET.exec(contentType)?.[1];
  if (
    contentType !== undefined &&
    JSON_TYPE.test(contentType) &&
    (charset === undefined || /^utf-?8$/i.test(charset))
  )
    return;
  const got = contentType === undefined ? 'none was given' : `got "${contentType.slice(0, 80)}"`;
  throw apiError('unsupported_media_type', `a body must have the content-type application/json, ${got}`);
}
