/**
 * This is the story of the ledger: people and a runner act, the team reads and exports what they did, and
 * when somebody with every right in the database cuts its end off while the server is down, the restarted
 * server says so, and so does what the team had kept.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditCheckpoint, AuditEntry, ExportLine } from '@svc/sdk';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../setup/needs.ts';
import { createIndependentRunner } from './independent-runner.ts';
import { startPlatform, type Platform } from './platform.ts';
import { startProgram, type Program } from './processes.ts';

const postgresHere = await has('postgres');

describe.runIf(postgresHere)('the ledger of a team', () => {
  let platform: Platform;
  let restarted: Program | undefined;
  let teamId: string;
  let kept: AuditCheckpoint;

  beforeAll(async () => {
    platform = await startPlatform({}, 'machine');
  }, 120_000);

  afterAll(async () => {
    await restarted?.stop('SIGTERM');
    await platform?.stop();
  });

  it('is read as it was written, newest first', async () => {
    const { sdk, url } = platform;
    teamId = await platform.customerTeam('audited');
    const { token } = await sdk.runners.createEnrollToken(teamId);
    const runnerId = await createIndependentRunner(url).enroll(token, 'bench-1');
    const project = await sdk.projects.create({ name: 'Shop', teamId });
    await sdk.runners.pause(teamId, runnerId, { note: 'new disk' });
    await sdk.runners.revoke(teamId, runnerId);
    await sdk.projects.delete(project.id);

    const entries: readonly AuditEntry[] = await sdk.audit.list(teamId);
    expect(entries.map(({ seq, action, target }) => [seq, action, target])).toEqual([
      [8, 'project.deleted', project.id],
      [7, 'runner.revoked', runnerId],
      [6, 'runner.paused', runnerId],
      [5, 'project.created', project.id],
      [4, 'runner.enrolled', runnerId],
      [3, 'enroll_token.issued', expect.stringMatching(/^tok_/)],
      [2, 'team.region_assigned', teamId],
      [1, 'team.created', teamId],
    ]);
    const { stdout, status } = platform.svc('audit', 'list', '--team', teamId, '--limit', '2');
    expect([
      status,
      stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => line.split('\t')[2]),
    ]).toEqual([0, ['action', 'project.deleted', 'runner.revoked']]);
  });

  it('is exported with a checkpoint to keep, by the SDK, by the command line and as lines', async () => {
    const lines: ExportLine[] = [];
    await platform.sdk.audit.export(teamId, (line) => lines.push(line));
    expect(lines.map(({ entry }) => entry?.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, undefined]);
    const { checkpoint } = lines.at(-1) ?? {};
    if (checkpoint === undefined) throw new Error(`no checkpoint at the end of ${JSON.stringify(lines)}`);
    kept = checkpoint;
    expect(kept).toMatchObject({ chain: teamId, seq: 8, hash: lines[7]?.entry?.hash });

    const rest: ExportLine[] = [];
    for await (const line of platform.sdk.audit.export(teamId, { after: '7' })) rest.push(line);
    expect(rest.map(({ position }) => position)).toEqual(['8', '8']);

    const { stdout } = platform.svc('audit', 'export', '--team', teamId);
    const printed = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as ExportLine);
    expect(printed.slice(0, -1)).toEqual(lines.slice(0, -1));
  });

  it('is found intact', async () => {
    const { report } = await platform.sdk.audit.verify(teamId, { seq: kept.seq, hash: kept.hash });
    expect(report).toMatchObject({ finding: 'intact', entries: 8, hash: kept.hash });
    expect(platform.svc('audit', 'verify', '--team', teamId)).toMatchObject({ status: 0, stderr: '' });
    expect(await platform.staff.adminAudit.verify()).toMatchObject({ intact: true });
  });

  it('is signed into a file beside the database when the server stops', async () => {
    expect(await platform.server.stop('SIGTERM')).toBe(0);
    const path = join(platform.folder, 'platform', 'audit-checkpoints.jsonl');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const signed = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { chain: string; seq: number; hash: string; publicKey: string })
      .findLast(({ chain }) => chain === teamId);
    expect(signed).toMatchObject({ seq: 8, hash: kept.hash, publicKey: kept.publicKey });
  });

  it('cannot be cut off unseen, not even by somebody with every right in the database', async () => {
    const intruder = postgres(platform.databaseUrl, { max: 1, onnotice: () => undefined });
    await expect(intruder`delete from audit_entries where chain = ${teamId} and seq > 6`).rejects.toThrow(
      /append-only/,
    );
    await intruder`alter table audit_entries disable trigger all`;
    await intruder`delete from audit_entries where chain = ${teamId} and seq > 6`;
    await intruder`
      update audit_heads h set seq = e.seq, hash = e.hash from audit_entries e
      where h.chain = ${teamId} and e.chain = h.chain and e.seq = 6`;
    await intruder`alter table audit_entries enable always trigger audit_entries_append_only`;
    await intruder.end();

    restarted = startProgram('server/dist/main.js', [], {
      PORT: new URL(platform.url).port,
      DATA_DIR: join(platform.folder, 'platform'),
      DATABASE_URL: platform.databaseUrl,
      LOG_LEVEL: 'warn',
    });
    await restarted.says(/listening on/, 60_000);
    const { report } = await platform.sdk.audit.verify(teamId);
    expect(report).toMatchObject({ finding: 'tail_missing', seq: 7, entries: 6 });
    const found = platform.svc('audit', 'verify', '--team', teamId);
    expect([found.status, found.stderr]).toEqual([
      1,
      `the ledger of ${teamId} is not intact: tail_missing at 7\n`,
    ]);
    const all = await platform.staff.adminAudit.verify();
    expect(all).toMatchObject({
      intact: false,
      broken: [{ chain: teamId, finding: 'tail_missing', seq: 7 }],
    });

    // The checkpoint that the team has kept says the same, also when the thief goes on as if nothing were
    // missing.
    await platform.sdk.projects.create({ name: 'Shop', teamId });
    await platform.sdk.projects.create({ name: 'Shop', teamId });
    const { report: later } = await platform.sdk.audit.verify(teamId, { seq: kept.seq, hash: kept.hash });
    expect(later).toMatchObject({ finding: 'rewritten', seq: 8 });
  });
});
