/**
 * Keeps the certificates of this machine. Each name has one file, which holds key and chain, so that both are
 * replaced in one step, and a spare of it: where the first was damaged, nginx goes on with the spare, and the
 * damage is told.
 */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { removeDurably, writeDurably } from '../../disk/durable-file.ts';
import { errorCode, errorText } from '../../platform/errors.ts';
import type { Issued } from '../acme/issue.ts';
import { AcmeError, cleaned } from '../acme/problem.ts';

const FOLDERS = ['live', 'spare'] as const;
/** File names end at 255 characters, and names of hosts at 253. */
const FILE_CHARS_MAX = 200;

export interface Certificate {
  /** The path from the folder of `certificates`. */
  file: string;
  serial: string;
  issuer: string;
  notBeforeMs: number;
  notAfterMs: number;
  x509: X509Certificate;
}

export interface Kept {
  /** It can be served; expired ones too. */
  certificate?: Certificate;
  /** Fault of the file that should be served. */
  damage?: string;
}

export type CertificateStore = Awaited<ReturnType<typeof openStore>>;

export async function openStore(dir: string) {
  for (const folder of FOLDERS) await mkdir(join(dir, folder), { recursive: true, mode: 0o700 });
  const known = new Map<string, { mark: string; read: Certificate | string }>();
  /** Reads a file again only after it has changed. */
  const readOne = (file: string, name: string): Certificate | string | undefined => {
    const mark = markOf(join(dir, file));
    if (mark === undefined) return undefined;
    const before = known.get(file);
    if (before?.mark === mark) return before.read;
    const read = readCertificate(dir, file, name);
    known.set(file, { mark, read });
    return read;
  };
  return {
    kept(name: string): Kept {
      const [live, spare] = FOLDERS.map((folder) => readOne(`${folder}/${fileOf(name)}`, name));
      if (live === undefined && spare === undefined) return {};
      if (typeof live === 'object') return { certificate: live };
      const damage = live ?? 'its file is gone';
      return typeof spare === 'object' ? { certificate: spare, damage } : { damage };
    },
    async put(name: string, { key, chain }: Issued): Promise<void> {
      const text = `${chain.trim()}\n${key}`;
      const problem = problemIn(text, name);
      if (problem !== undefined) throw new AcmeError({ type: 'badCertificate', detail: problem });
      for (const folder of FOLDERS) await writeDurably(join(dir, folder, fileOf(name)), text);
    },
    async remove(name: string): Promise<void> {
      for (const folder of FOLDERS) await removeDurably(join(dir, folder, fileOf(name)));
    },
    /** Removes keys and certificates of all names but these. */
    async keepOnly(names: readonly string[]): Promise<void> {
      const wanted = new Set(names.map(fileOf));
      for (const folder of FOLDERS)
        for (const file of await readdir(join(dir, folder)))
          if (!wanted.has(file)) await removeDurably(join(dir, folder, file));
    },
  };
}

function fileOf(name: string): string {
  const isLong = name.length > FILE_CHARS_MAX;
  return `${isLong ? createHash('sha256').update(name).digest('hex') : name}.pem`;
}

function markOf(path: string): string | undefined {
  try {
    const { mtimeNs, size, ino } = statSync(path, { bigint: true });
    return `${mtimeNs} ${size} ${ino}`;
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? undefined : errorText(error);
  }
}

/** Returns what is wrong where it cannot be served. */
function readCertificate(dir: string, file: string, name: string): Certificate | string {
  try {
    const text = readFileSync(join(dir, file), 'latin1');
    const problem = problemIn(text, name);
    if (problem !== undefined) return problem;
    const x509 = new X509Certificate(text);
    return {
      file,
      x509,
      serial: x509.serialNumber,
      issuer: cleaned(x509.issuer.replaceAll('\n', ', ')),
      notBeforeMs: Date.parse(x509.validFrom),
      notAfterMs: Date.parse(x509.validTo),
    };
  } catch (error) {
    return errorText(error);
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** Each part is read as nginx would: one that it refuses would stop the reload of all sites. */
function problemIn(text: string, name: string): string | undefined {
  try {
    const [first, ...others] = (text.match(PEM) ?? []).map((pem) => new X509Certificate(pem));
    if (first === undefined) return 'it holds no certificate';
    if (others.length > 9) return 'its chain is too long';
    if (!first.checkPrivateKey(createPrivateKey(text))) return 'the key does not fit the certificate';
    return first.checkHost(name) === undefined ? `the certificate is not for ${name}` : undefined;
  } catch (error) {
    return `it cannot be read: ${errorText(error)}`;
  }
}
