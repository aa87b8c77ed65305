/**
 * A statement of 4 MiB with the programs that people have: `svc` packs and uploads it, and gives back what
 * verifies without the service, as a compliance package does.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { packBundle } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { svc, type Outcome } from '../../cli/testing/session.ts';
import { keyPair, listing } from '../setup/listing.ts';
import { has } from '../setup/needs.ts';
import { waitFor } from '../setup/wait-for.ts';
import { world, type World } from '../setup/world.ts';

const STATEMENT_BYTES = 4_194_304;

describe.runIf(await has('postgres'))('a statement of 4 MiB', () => {
  let w: World;
  let folder: string;
  let start: string;
  const { privateKey: by, publicKey } = keyPair();
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const digestOf = (mark: string): string => `sha256:${mark.repeat(64)}`;

  beforeAll(async () => {
    w = await world();
    start = new Date().toISOString();
    folder = mkdtempSync(join(tmpdir(), 'svc-large-'));
    await w.sdk.trustedKeys.add(w.teamId, { name: 'scanner', publicKey: pem });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Several megabytes in one process take more than the default of 8 s on a machine that is busy. */
  const run = async (line: readonly string[]): Promise<Outcome> =>
    await svc({ url: w.server.baseUrl }, [...line, '--timeout', '30s'], {
      env: { SVC_API_KEY: w.owner.token },
    });
  const file = (name: string, content: string | Uint8Array): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const declared = async (digest: string): Promise<string> =>
    (await w.sdk.artifacts.declare(w.teamId, { name: 'web', kind: 'file', digest })).id;
  const upload = (id: string, path: string) =>
    ['artifacts', 'upload', id, '--team', w.teamId, '--json'].concat('--bundle', path);
  const verified = async (digest: string, path: string): Promise<string> => {
    const line = ['artifacts', 'verify', digest, '--bundle', path, '--keys', file('keys.pem', pem)];
    const { code, out } = await run(line);
    return `${code} ${out}`;
  };

  it('is packed by svc, also when it is packed already, and verifies offline as it comes back', async () => {
    const digest = digestOf('a');
    const id = await declared(digest);
    const bundle = listing({ digest, bytes: STATEMENT_BYTES, by });
    const first = await run(upload(id, file('web.sigstore.json', bundle)));
    expect([first.code, first.err]).toEqual([0, '']);
    const again = await run(upload(id, file('web.sigstore.json.gz', gzipSync(bundle))));
    const [stored, same] = [first, again].map(({ out }) => JSON.parse(out) as { id: string; bundle: object });
    expect(same?.id).toBe(stored?.id);
    expect(JSON.stringify(stored?.bundle)).toBe(bundle.toString());
    const listed = await run(['artifacts', 'attestations', id, '--team', w.teamId, '--json']);
    expect(JSON.parse(listed.out)).toMatchObject([{ bundle: stored?.bundle }]);
    for (const path of [
      file('back.json', JSON.stringify(stored?.bundle)),
      join(folder, 'web.sigstore.json.gz'),
    ])
      expect(await verified(digest, path)).toMatch(/^0 /);
    expect(await verified(digestOf('b'), join(folder, 'back.json'))).toMatch(/^1 .*it is about sha256:a/s);
  });

  it('is packed by packBundle of the SDK, and refused by its own length where packing does not help', async () => {
    const digest = digestOf('c');
    const id = await declared(digest);
    const bundle = listing({ digest, bytes: STATEMENT_BYTES - 1, by }).toString();
    const sent = await packBundle(bundle);
    expect(sent.length).toBeLessThan(2_359_296);
    expect(gunzipSync(Buffer.from(sent, 'base64')).toString()).toBe(bundle);
    const taken = await w.sdk.artifacts.upload(w.teamId, id, { bundle: sent }, { timeoutMs: 30_000 });
    expect(taken.verification.status).toBe('valid');
    expect(await packBundle('{}')).toBe('{}');
    const noise = Array.from({ length: 60_000 }, (_, at) =>
      createHash('sha512').update(String(at)).digest('base64'),
    ).join('');
    expect((await run(upload(id, file('noise', noise)))).err).toMatch(
      /the file of --bundle has 5280000 bytes, and \d+ as base64 of its gzip, more than 2359296 bytes, which is the limit/,
    );
    expect((await run(upload(id, file('long', ' '.repeat(6_291_457))))).err).toContain(
      'has 6291457 bytes, more than 6291456 bytes, which is the limit',
    );
  });

  it('is in a compliance package as a gzip, with which sh verify.sh agrees', async () => {
    const digest = digestOf('d');
    const id = await declared(digest);
    const bundle = listing({ digest, bytes: STATEMENT_BYTES, by });
    expect((await run(upload(id, file('package.json', bundle)))).code).toBe(0);
    const made = await w.sdk.compliance.assemble(w.teamId, start, new Date(Date.now() + 1).toISOString());
    await waitFor('the package', async () => await w.sdk.compliance.get(w.teamId, made.id), {
      holds: ({ state }) => state === 'assembled',
    });
    await w.sdk.compliance.markLegalReviewed(w.teamId, made.id);
    const input = await w.sdk.compliance.export(w.teamId, made.id);
    const place = mkdtempSync(join(folder, 'package-'));
    execFileSync('tar', ['-xf', '-', '-C', place], { input });
    expect(execFileSync('sh', ['verify.sh'], { cwd: place, encoding: 'utf8' })).toContain(
      'all files are as they were signed',
    );
    const sha256 = createHash('sha256').update(bundle).digest('hex');
    const path = `attestations/${sha256}.sigstore.json.gz`;
    const { attestations } = JSON.parse(readFileSync(join(place, `artifacts/${id}.json`), 'utf8')) as {
      attestations: readonly unknown[];
    };
    expect(attestations).toMatchObject([{ file: path, sha256 }]);
    expect(gunzipSync(readFileSync(join(place, path))).equals(bundle)).toBe(true);
    expect(await verified(digest, join(place, path))).toMatch(/^0 /);
  });
});
