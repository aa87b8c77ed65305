/**
 * Bundles certificate authorities for the programs that the daemon starts. git, pack and an engine's client
 * take one file *instead of* their own list, so a private authority alone would exclude the public ones: this
 * file has both. Certificates are public, so containers may read it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { writeDurably } from '../disk/durable-file.ts';

/** Distributions keep the list here that an administrator may have added to. */
const SYSTEM_BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/** The path of the bundle in the containers of builds. */
export const CA_BUNDLE_IN_CONTAINER = '/run/svc/ca.pem';
/** The id by which image builds may mount it: `RUN --mount=type=secret,id=svc-ca …`. */
export const CA_SECRET = 'svc-ca';

/**
 * Writes the file and returns its path; returns undefined when the operator named no authority: then every
 * program uses its own list. `NODE_EXTRA_CA_CERTS` counts like `--ca-file`, because the daemon itself trusts
 * what is in it, and a clone without it would fail where the daemon works.
 */
export async function writeCaBundle(
  dataDir: string,
  { ca, env }: { readonly ca: string | undefined; readonly env: NodeJS.ProcessEnv },
): Promise<string | undefined> {
  const extra = env['NODE_EXTRA_CA_CERTS'];
  const own = [ca, extra === undefined || extra === '' ? undefined : await readCertificates(extra)].filter(
    (text) => text !== undefined,
  );
  if (own.length === 0) return undefined;
  const path = join(dataDir, 'ca-bundle.pem');
  await writeDurably(
    path,
    [await usualAuthorities(), ...own].map((text) => `${text.trimEnd()}\n`).join(''),
    0o644,
  );
  return path;
}

async function usualAuthorities(): Promise<string> {
  for (const path of SYSTEM_BUNDLES) {
    const text = await readCertificates(path);
    if (text !== undefined) return text;
  }
  return rootCertificates.join('\n');
}

/** Returns undefined when the file cannot be read or holds no certificate: Node ignores such a file, too. */
async function readCertificates(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.includes('-----BEGIN CERTIFICATE-----') ? text : undefined;
}

/** The variables by which common tools take such a file. */
export function caEnv(path: string): Record<string, string> {
  return Object.fromEntries(
    ['SSL_CERT_FILE', 'GIT_SSL_CAINFO', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS'].map(
      (name) => [name, path],
    ),
  );
}
