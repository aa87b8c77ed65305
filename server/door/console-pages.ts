/**
 * Serves the console: one document at all of its addresses, and its files under names
 * that change with their content. Everything is read at the start and answered from memory.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Page, PageRequest } from '@svc/proto/http/door.ts';
import { preparePage } from './prepared-page.ts';

/** Nothing inline, nothing from elsewhere; forms are sent by scripts alone. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const ASSETS = '/console/assets/';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.map': 'application/json',
};

interface Manifest {
  readonly assets: readonly string[];
}

/** None when the console was not built: the API does not need it. */
export function createConsolePages(): Readonly<Record<string, Page>> {
  const folder = findConsole();
  if (folder === undefined) return {};
  const { assets } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  const document = servedFile(join(folder, 'index.html'), 'no-cache', {
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  });
  return {
    '/': (request) => {
      if (!wantsHtml(request)) throw apiError('not_found', 'there is nothing here');
      return { status: 307, headers: { location: '/console', vary: 'accept' } };
    },
    '/console': document,
    '/console/': document,
    // Which addresses there are is the document's own matter; files have names of their own.
    '/console/{path=**}': (request) => {
      if (request.path.startsWith(ASSETS)) throw apiError('not_found', 'there is no such file');
      return document(request);
    },
    ...Object.fromEntries(
      assets.map((name) => [
        `${ASSETS}${name}`,
        servedFile(join(folder, name), 'public, max-age=31536000, immutable', {}),
      ]),
    ),
  };
}

function servedFile(path: string, cacheControl: string, more: Readonly<Record<string, string>>): Page {
  return preparePage(readFileSync(path), {
    'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
    'cache-control': cacheControl,
    ...more,
  });
}

function wantsHtml(request: PageRequest): boolean {
  return (request.header('accept') ?? '').includes('text/html');
}

/** Beside a bundle, or in the folder of bundles when run from source. */
function findConsole(): string | undefined {
  for (let at = dirname(fileURLToPath(import.meta.url)), depth = 0; depth < 3; at = dirname(at), depth += 1) {
    for (const folder of [join(at, 'console'), join(at, 'dist', 'console')]) {
      if (existsSync(join(folder, 'manifest.json'))) return folder;
    }
  }
  return undefined;
}
