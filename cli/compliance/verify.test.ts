import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { paeOf } from '../artifacts/envelope.ts';
import { useFolder } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex');

const folder = useFolder('package');
let packages = 0;
writeFileSync(join(folder, 'key.pem'), publicKey.export({ format: 'pem', type: 'spki' }));

interface Making {
  /** Files that the manifest names. Default: NAMED. */
  readonly named?: Readonly<Record<string, string>>;
  readonly found?: Readonly<Record<string, string>>;
  readonly predicateType?: string;
  /** Subject of the statement. Default: the manifest. */
  readonly about?: string;
}

const NAMED = { 'README.txt': 'read this', 'changes/exceptions.json': '[]' };

/** A package whose manifest is signed. */
function packageOf({
  named = NAMED,
  found = named,
  predicateType = 'https://svc.example/attestations/compliance-package/v1',
  about,
}: Making = {}): string {
  const files = Object.entries(named).map(([path, text]) => ({ path, sha256: sha256Of(text) }));
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

/** It returns the exit code and the checks that failed. */
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

  it('names each deployment that the ledger was told of and the population lacks', async () => {
    const told = (n: number) => ({ buildId: `bld_${n}`, environmentId: 'env_1', number: n, seq: 10 + n });
    const named = (...population: number[]) => ({
      'changes/expected.json': JSON.stringify([told(1), told(2), told(3)]),
      'changes/population.json': JSON.stringify(
        population.map((n) => ({ id: `dep_${n}`, buildId: `bld_${n}` })),
      ),
    });
    expect(await verify(packageOf({ named: named(3, 1, 2, 4) }))).toEqual([0]);
    expect(await verify(packageOf({ named: named(2) }))).toEqual([
      1,
      'deployments: missing: build bld_1, number 1 of environment env_1, which entry 11 of the ledger names',
      'deployments: missing: build bld_3, number 3 of environment env_1, which entry 13 of the ledger names',
    ]);
    const { 'changes/expected.json': expected } = named();
    expect(await verify(packageOf({ named: { 'changes/expected.json': expected } }))).toHaveLength(4);
    // These were deployed by no build.
    const elsewhere = [1, 2].map((n) => ({
      buildId: null,
      promotionId: `prm_${n}`,
      environmentId: 'env_2',
      number: null,
      seq: 20 + n,
    }));
    const listed = (population: readonly object[]) => ({
      'changes/expected.json': JSON.stringify([told(1), ...elsewhere]),
      'changes/population.json': JSON.stringify(population),
    });
    // The build's promotion is named by no entry of its deployment.
    const all = [{ buildId: 'bld_1', promotionId: 'prm_9' }, ...elsewhere];
    expect(await verify(packageOf({ named: listed(all) }))).toEqual([0]);
    expect(await verify(packageOf({ named: listed(all.slice(0, 2)) }))).toEqual([
      1,
      'deployments: missing: promotion prm_2 of environment env_2, which entry 22 of the ledger names',
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
