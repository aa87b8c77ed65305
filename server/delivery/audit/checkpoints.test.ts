/**
 * Here the file of checkpoints is tested: what a crash leaves, what a rotation keeps, and when something is
 * written at all.
 */
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/setup/clock.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { createSecrets } from '../../base/secrets.ts';
import { createCheckpointFile, type ReadCheckpoint } from './checkpoint-file.ts';
import { createCheckpointer } from './checkpointer.ts';
import { createSigner, type Checkpoint } from './checkpoint.ts';
import { gatherEvidence } from './evidence.ts';

const signer = createSigner(createSecrets(Buffer.alloc(32, 1)));
const hash = (n: number): string => n.toString(16).padStart(64, '0');
const signed = (chain: string, seq: number): Checkpoint =>
  signer.sign({ chain, seq, hash: hash(seq), at: 5 });

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'svc-checkpoints-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

async function all(file: { read(): AsyncGenerator<ReadCheckpoint> }): Promise<string[]> {
  const lines: string[] = [];
  for await (const { chain, checkpoint } of file.read())
    lines.push(`${chain} ${checkpoint?.seq ?? 'unreadable'}`);
  return lines;
}

describe('a checkpoint', () => {
  it('is ours only as it was signed', () => {
    const own = signed('team_1', 3);
    expect(signer.isOurs(own)).toBe(true);
    const others = createSigner(createSecrets(Buffer.alloc(32, 2)));
    for (const forged of [
      { ...own, chain: 'team_2' },
      { ...own, seq: 4 },
      { ...own, hash: hash(4) },
      { ...own, at: 6 },
      { ...own, signature: own.signature.slice(0, -4) },
      { ...own, signature: '' },
      others.sign(own),
      { ...others.sign(own), publicKey: own.publicKey },
    ])
      expect([forged, signer.isOurs(forged)]).toEqual([forged, false]);
  });

  it('is signed with the same key by every process of the installation', () => {
    expect(createSigner(createSecrets(Buffer.alloc(32, 1))).publicKey).toBe(signer.publicKey);
    expect(Buffer.from(signer.publicKey, 'base64url')).toHaveLength(32);
  });
});

describe('the file of checkpoints', () => {
  it('is for the eyes of its owner, in a folder that it makes', async () => {
    const file = createCheckpointFile(join(dataDir, 'new'));
    expect(await all(file)).toEqual([]);
    await file.append([signed('team_1', 1), signed('platform', 2)]);
    expect(statSync(file.path).mode & 0o777).toBe(0o600);
    expect(await all(file)).toEqual(['team_1 1', 'platform 2']);
  });

  it('forgets what a crash has cut off, and keeps what somebody wrote into it', async () => {
    const before = createCheckpointFile(dataDir);
    await before.append([signed('team_1', 1)]);
    appendFileSync(before.path, 'no checkpoint\n{"chain":"team_1","se');
    expect(await all(before)).toEqual(['team_1 1', 'undefined unreadable']);
    const after = createCheckpointFile(dataDir); // the next process
    await after.append([signed('team_1', 2)]);
    expect(await all(after)).toEqual(['team_1 1', 'undefined unreadable', 'team_1 2']);
  });

  it('begins anew with the last of each chain when it has grown long, and keeps the one before', async () => {
    const file = createCheckpointFile(dataDir, { bytesMax: 3_000 });
    await file.append([signed('quiet', 1)]);
    for (let seq = 1; seq <= 100; seq += 1) await file.append([signed('busy', seq)]);
    expect(readdirSync(dataDir).toSorted()).toEqual(['audit-checkpoints.1.jsonl', 'audit-checkpoints.jsonl']);
    const text = readFileSync(file.path, 'utf8');
    expect(text).toContain('"chain":"quiet"');
    const seen = await all(file);
    expect(seen.at(-1)).toBe('busy 100');
    expect(seen.length).toBeLessThan(40);
    expect(statSync(file.path).size).toBeLessThan(3_000);
  });
});

describe('what checkpoints say of a chain', () => {
  const COUNT = 3_000;
  const secrets = createSecrets(Buffer.alloc(32, 1));

  /** Returns the milliseconds of a processor that this process took. */
  async function cpuOf<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
    const before = process.cpuUsage();
    const result = await work();
    const { user, system } = process.cpuUsage(before);
    return { result, ms: (user + system) / 1_000 };
  }

  it('is verified once, and again wherever something is another', async () => {
    const file = createCheckpointFile(dataDir);
    const own = Array.from({ length: COUNT }, (_, n) => signed('team_1', n + 1));
    await file.append([...own, ...Array.from({ length: COUNT }, (_, n) => signed('team_2', n + 1))]);
    const deps = { file, signer: createSigner(secrets) }; // of a process that signed none of them
    const gather = async () => (await gatherEvidence(deps, 'team_1')).get('team_1');
    const first = await cpuOf(gather);
    expect(first.result).toMatchObject({ checkpoints: COUNT, invalid: undefined });
    await gather();
    const later = await cpuOf(gather);
    expect(later.result).toEqual(first.result);
    // What is left is reading the lines.
    expect(later.ms / first.ms).toBeLessThan(0.4);

    const lines = readFileSync(file.path, 'utf8').split('\n');
    const change = async (at: number, how: (line: string) => string): Promise<number | undefined> => {
      writeFileSync(file.path, lines.map((line, n) => (n === at ? how(line) : line)).join('\n'));
      return (await gather())?.invalid;
    };
    expect(await change(9, (line) => line.replace(hash(10), hash(11)))).toBe(10);
    expect(await change(9, (line) => line.replace('"at":5', '"at":6'))).toBe(10);
    expect(await change(9, (line) => line.replace(own[9]?.signature ?? '', own[8]?.signature ?? ''))).toBe(
      10,
    );
    expect(await change(9, (line) => line.replace('"seq":10', '"seq":7'))).toBe(7);
    expect(await change(9, (line) => line)).toBeUndefined();
  });

  it('keeps nobody else waiting while it is verified', async () => {
    const file = createCheckpointFile(dataDir);
    await file.append(Array.from({ length: COUNT }, (_, n) => signed('team_1', n + 1)));
    let turns = 0;
    const others = setInterval(() => (turns += 1), 0);
    const { ms } = await cpuOf(async () => await gatherEvidence({ file, signer: createSigner(secrets) }));
    clearInterval(others);
    // One turn for each slice of 10 ms, and some to spare.
    expect(turns).toBeGreaterThan(ms / 50);
    const gone = AbortSignal.abort(new Error('gone'));
    const left = gatherEvidence({ file, signer: createSigner(secrets) }, undefined, gone);
    await expect(left).rejects.toThrow('gone');
  });
});

describe('the checkpointer', () => {
  it('signs a chain a minute after it changed, after a thousand entries, and at the end', async () => {
    const clock = createFakeClock();
    const heads = new Map([['team_1', 1]]);
    // Only the one statement that it makes.
    const sql = (async () =>
      await Promise.resolve(
        [...heads].map(([chain, seq]) => ({ chain, seq, hash: hash(seq) })),
      )) as unknown as SqlTag;
    const file = createCheckpointFile(dataDir);
    const checkpointer = createCheckpointer({ sql, clock, signer, file });
    expect(await checkpointer.run()).toBe(1); // never signed before
    expect(await checkpointer.run()).toBe(0);
    heads.set('team_1', 2);
    clock.advance(59_999);
    expect(await checkpointer.run()).toBe(0);
    clock.advance(1);
    expect(await checkpointer.run()).toBe(1);
    heads.set('team_1', 1_001);
    expect(await checkpointer.run()).toBe(0);
    heads.set('team_1', 1_002);
    expect(await checkpointer.run()).toBe(1);
    heads.set('team_1', 1_003);
    expect(await checkpointer.run(true)).toBe(1);
    expect(await all(file)).toEqual(['team_1 1', 'team_1 2', 'team_1 1002', 'team_1 1003']);

    const next = createCheckpointer({ sql, clock, signer, file }); // the next process goes on from the file
    expect(await next.run(true)).toBe(0);
  });
});
