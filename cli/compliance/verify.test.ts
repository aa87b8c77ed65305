import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { paeOf } from '../artifacts/envelope.ts';
import { svc } from '../testing/session.ts';

const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex');

let folder: string;
let packages = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-package-'));
  writeFileSync(join(folder, 'key.pem'), publicKey.export({ format: 'pem', type: 'spki' }));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Making {
  readonly found?: Readonly<Record<string, string>>;
  readonly predicateType?: string;
  /** What the statement is about. Default: the manifest. */
  readonly about?: string;
}

const NAMED = { 'README.txt': 'read this', 'changes/exceptions.json': '[]' };

/** A package whose manifest names NAMED. */
function packageOf({
  found = NAMED,
  predicateType = 'https://svc.example/attestations/compliance-package/v1',
  about,
}: Making = {}): string {
  const files = Object.entries(NAMED).map(([path, text]) => ({ path, sha256: sha256Of(text) }));
  const manifest = JSON.stringify({ files });
  const subject = [{ name: 'MANIFEST.json', digest: { sha256: about ?? sha256Of(manifest) } }];
  const statement = { _type: 'https://in-toto.io/Statement/v1', predicate: {}, predicateType, subject };
  const payload = Buffer.from(JSON.stringify(statement));
  const sig = sign('sha256', paeOf(PAYLOAD_TYPE, payload), privateKey).toString('base64');
  const envelope = { payload: payload.toString('base64'), payloadType: PAYLOAD_TYPE, signatures: [{ sig }] };
  const place = join(folder, String((packages += 1)));
  const all = { ...found, 'MANIFEST.json': manifest, 'manifest.sigstore.json': JSON.stringify(envelope) };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(join(place, path, '..'), { recursive: true });
    writeFileSync(join(place, path), text);
  }
  execFileSync('tar', ['--format=ustar', '-cf', `${place}.tar`, '-C', place, ...Object.keys(all)]);
  return `${place}.tar`;
}

/** The exit code, and the checks that failed. */
async function verify(path: string) {
  const line = ['compliance', 'verify', path, '--keys', join(folder, 'key.pem'), '--json'];
  const { code, out, err } = await svc({ url: 'http://127.0.0.1:1' }, line);
  if (out === '') return [code, err];
  const { checks } = JSON.parse(out) as { checks: Array<{ check: string; ok: boolean; detail: string }> };
  return [code, ...checks.filter(({ ok }) => !ok).map(({ check, detail }) => `${check}: ${detail}`)];
}

describe('svc compliance verify', () => {
  it('believes a package whose manifest is signed and names what is there', async () => {
    expect(await verify(packageOf())).toEqual([0]);
  });

  it('names each file that was changed, is missing, or was added', async () => {
    const path = packageOf({ found: { 'changes/exceptions.json': '{}', 'more.txt': 'more' } });
    expect(await verify(path)).toEqual([
      1,
      'files: missing: README.txt',
      'files: changed: changes/exceptions.json',
      'files: additional: more.txt',
    ]);
  });

  it('believes no statement about another manifest, and none of another kind', async () => {
    expect(await verify(packageOf({ about: '1'.repeat(64) }))).toEqual([
      1,
      expect.stringMatching(/^subject: it is about sha256:1{64}, expected /),
    ]);
    const predicateType = 'https://svc.example/attestations/evaluation/v1';
    expect(await verify(packageOf({ predicateType }))).toEqual([1, `kind: it states ${predicateType}`]);
  });

  it('says why a file is no package', async () => {
    const path = join(folder, 'none.tar');
    writeFileSync(path, 'none');
    expect(await verify(path)).toEqual([2, expect.stringContaining('cannot read the package')]);
    const link = join(folder, 'link.tar');
    execFileSync('ln', ['-s', '/etc/passwd', join(folder, 'link')]);
    execFileSync('tar', ['--format=ustar', '-cf', link, '-C', folder, 'link']);
    expect(await verify(link)).toEqual([2, expect.stringContaining('link is no file such as packages have')]);
  });
});
