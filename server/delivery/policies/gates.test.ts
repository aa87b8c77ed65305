/**
 * Here gates are tested over a real database: what is kept of a passage, what an owner may override, and what
 * one team costs another.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/setup/database.ts';
import { bundled, signingPair, statementAbout } from '../../../test/setup/delivery/statements.ts';
import { has } from '../../../test/setup/needs.ts';
import { testCtx } from '../../../test/setup/work/ctx.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Ctx, Role } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { ATTESTATIONS_MAX, storeAttestation } from '../attestations/index.ts';
import { PROVENANCE_TYPE } from '../attestations/statement.ts';
import { recordArtifact } from '../artifacts/record.ts';
import { PACKAGES_MAX } from '../artifacts/index.ts';
import { listPackages } from '../artifacts/sbom/package-list.ts';
import { storePackageSet } from '../artifacts/sbom/store.ts';
import type { PolicyDocument } from './engine/document.ts';
import { INPUT } from './engine/input.ts';
import type { ApiError } from '@svc/proto/http/errors.ts';
import { PolicyRunner } from './engine/policy-runner.ts';
import { createReplay } from './engine/replay.ts';
import { inputsOf, purgeGates } from './gate-log.ts';
import { createGates } from './gates.ts';
import type { Passage } from './passage.ts';
import { simulate } from './simulation.ts';

const REASON = 'the fix cannot wait';
const DAY_MS = 86_400_000;

const documentOf = (require: string, more: Partial<PolicyDocument> = {}): PolicyDocument => ({
  on: ['deploy'],
  mode: 'enforce',
  overridable: true,
  rules: [{ id: 'rule', message: `not so: ${require}`, require }],
  ...more,
});
/** It has six loops over 20 items, and is written past the check of documents, which refuses them. */
const ITEMS = `[${Array.from({ length: 20 }, (_, n) => n).join(', ')}]`;
const ENDLESS = `${['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `${ITEMS}.all(${name}, `).join('')}true${')'.repeat(6)}`;

describe.skipIf(!(await has('postgres')))('gates', () => {
  let test: TestDatabase;
  let db: Database;
  let sql: SqlTag;
  let gates: ReturnType<typeof createGates>;
  let teamId: string;
  let otherId: string;
  const key = signingPair();

  beforeAll(async () => {
    test = await createTestDatabase({ max: 10 });
    ({ db } = test);
    ({ sql } = db);
    gates = createGates({ db });
    await sql`insert into regions (id, name, operator) values ('reg_1', 'r', 'service')`;
    await sql`insert into users (id, email, username, password_hash, created_at) values ('user_1', 'a@example.com', 'ann', 'none', now())`;
  });
  afterAll(async () => {
    gates?.close();
    await test?.drop();
  });
  beforeEach(async () => {
    [teamId, otherId] = [newId('team'), newId('team')];
    for (const id of [teamId, otherId])
      await sql`insert into teams (id, name, region_id, created_at) values (${id}, 'makers', 'reg_1', now())`;
  });

  const ctxOf = (role: Role = 'owner', handle: Database = db, userId = 'user_1'): Ctx => {
    const given = { db: handle, userId, teamIds: [teamId, otherId] };
    const ctx = testCtx('svc.builds.v1.BuildsService/Create', given);
    return { ...ctx, teams: { ...ctx.teams, role: () => role } };
  };
  const passage = (more: Partial<Passage> = {}): Passage => ({
    action: 'deploy',
    teamId,
    subject: 'bld_1',
    facts: {},
    artifactIds: [],
    ...more,
  });
  const enabled = async (document: PolicyDocument, of = teamId): Promise<string> => {
    const id = newId('pol');
    await sql`insert into policies (id, team_id, created_at, name, enabled) values (${id}, ${of}, now(), ${id}, true)`;
    await sql`
      insert into policy_revisions (team_id, policy_id, revision, document, document_bytes, sha256, by, at)
      values (${of}, ${id}, 1, ${sql.json(document as never)}, 1, ''::bytea, 'user_1', now())`;
    return id;
  };
  const said = async (work: Promise<unknown>): Promise<string> =>
    await work.then(
      () => 'passed',
      (error: { code?: string; message: string }) => `${error.code}: ${error.message}`,
    );
  const passing = async (...artifactIds: string[]): Promise<string> =>
    await said(gates.pass(ctxOf(), passage({ artifactIds })));
  const outcomes = async (): Promise<string[]> => {
    const gates = await sql`select outcome from policy_gates where team_id = ${teamId} order by id`;
    return gates.map((gate) => String(gate['outcome']));
  };
  const artifact = async (name: string, of = teamId): Promise<{ id: string; digest: string }> => {
    const digest = `sha256:${createHash('sha256').update(`${of} ${name}`).digest('hex')}`;
    const at = new Date();
    const seen = { teamId: of, digest, kind: 'image', name } as const;
    await recordArtifact(db, seen, { origin: 'declared', ref: 'user_1', commit: 'first', at });
    const later = new Date(at.getTime() + 1_000);
    const build = { origin: 'build', ref: 'bld_1', branch: 'main', commit: 'c0ffee' } as const;
    const { id } = await recordArtifact(db, seen, { ...build, runnerId: 'rnr_1', at: later });
    return { id, digest };
  };
  const listed = async (
    artifactId: string,
    setId: number,
    { source = 'runner', unread = [] }: { source?: string; unread?: readonly string[] } = {},
  ): Promise<void> => {
    await sql`
      insert into artifact_sboms (team_id, artifact_id, source, sha256, package_set_id, unread, at)
      values (${teamId}, ${artifactId}, ${source}, ${newId('art')}, ${setId}, ${unread}::text[], now())`;
  };
  const state = async (digest: string, by = key.privateKey): Promise<void> => {
    const predicate = { runDetails: { builder: { id: 'https://ci.example.com/v1' } } };
    const row = {
      teamId,
      predicateType: PROVENANCE_TYPE,
      brief: null,
      source: 'upload',
      bundle: bundled(statementAbout(digest, PROVENANCE_TYPE, predicate), by),
      dedupeKey: newId('ats'),
      uploadedBy: 'user_1',
      countsAs: by === key.privateKey ? 'tky_1' : null,
    } as const;
    const actor = { kind: 'user', id: 'user_1', display: '' } as const;
    const entry = { action: 'attestation.uploaded', actor, requestId: '' };
    await storeAttestation(db, row, { digests: [digest], at: new Date(), entry });
  };

  it('keep what a denial undoes, behind the rollback, and once where the caller goes on all the same', async () => {
    const policyId = await enabled(documentOf('false'));
    const refusal = db.transact(async (tx) => {
      await tx.sql`update teams set name = 'changed' where id = ${teamId}`;
      await gates.pass(ctxOf('owner', tx), passage());
    });
    expect(await said(refusal)).toBe('policy_denied: not so: false');
    expect(await outcomes()).toEqual(['deny']);
    expect(await sql`select name from teams where id = ${teamId}`).toEqual([{ name: 'makers' }]);
    await db.transact(async (tx) => {
      expect(await said(gates.pass(ctxOf('owner', tx), passage()))).toContain('policy_denied');
    });
    expect(await outcomes()).toEqual(['deny', 'deny']);
    const told = await sql`select payload from outbox where team_id = ${teamId} and kind = 'policy.denied'`;
    expect(told).toHaveLength(2);
    expect(told[0]).toMatchObject({ payload: { subject: 'bld_1', failed: [{ policyId, ruleId: 'rule' }] } });
  });

  it('take an allowed passage along when its act fails', async () => {
    const failing = db.transact(async (tx) => {
      await gates.pass(ctxOf('owner', tx), passage());
      throw new Error('the act failed');
    });
    expect(await said(failing)).toContain('the act failed');
    expect(await outcomes()).toEqual([]);
  });

  it('let no two dozens of denials at once wait for each other’s connections', async () => {
    await enabled(documentOf('false'));
    const all = Array.from({ length: 24 }, async (_, n) => {
      const of = n % 2 === 0 ? teamId : otherId;
      return await said(db.transact(async (tx) => gates.pass(ctxOf('owner', tx), passage({ teamId: of }))));
    });
    const answers = await Promise.all(all);
    expect(answers.filter((answer) => answer === 'passed')).toHaveLength(12);
    const denied = answers.filter((answer) => answer.startsWith('policy_denied')).length;
    const busy = answers.filter((said) => said.startsWith('unavailable: the policies of the team')).length;
    expect([denied > 0, denied + busy]).toEqual([true, 12]);
    expect(await outcomes()).toHaveLength(denied);
  });

  it('are overridden by an owner with a reason, which stands in the ledger, and by nobody else', async () => {
    const override = { reason: REASON };
    const policyId = await enabled(documentOf('actor.role == "none"'));
    expect(await said(gates.pass(ctxOf('admin'), passage({ override })))).toContain('role_insufficient');
    const short = passage({ override: { reason: 'because' } });
    expect(await said(gates.pass(ctxOf(), short))).toContain('validation_failed');
    expect(await outcomes()).toEqual([]);
    const passed = await gates.pass(ctxOf(), passage({ override }));
    expect(passed).toMatchObject({ isAllowed: true, isOverridden: true, denied: [{ policyId }] });
    expect(await outcomes()).toEqual(['overridden']);
    const entries = await sql`select action, target, details from audit_entries where chain = ${teamId}`;
    const rules = [{ policyId, ruleId: 'rule' }];
    const details = { gateId: passed.gateId, action: 'deploy', reason: REASON, rules };
    expect(entries).toEqual([{ action: 'policy.overridden', target: 'bld_1', details }]);
    const firm = await enabled(documentOf('false', { overridable: false }));
    expect(await said(gates.pass(ctxOf(), passage({ override })))).toBe(
      `policy_denied: the policy "${firm}" cannot be overridden: not so: actor.role == "none"`,
    );
    expect(await outcomes()).toEqual(['overridden', 'deny']);
    expect(await sql`select 1 from audit_entries where chain = ${teamId}`).toHaveLength(1);
  });

  it('call nothing overridden that nobody refused', async () => {
    await enabled(documentOf('false', { mode: 'warn' }));
    const passed = await gates.pass(ctxOf(), passage({ override: { reason: REASON } }));
    expect(passed).toMatchObject({ isOverridden: false, denied: [], warned: [{ ruleId: 'rule' }] });
    expect(await outcomes()).toEqual(['allow']);
    expect(await sql`select 1 from audit_entries where chain = ${teamId}`).toHaveLength(0);
  });

  it('say what they would say, and keep nothing of that', async () => {
    await enabled(documentOf('false'));
    expect(await gates.preview(ctxOf(), [passage(), passage()])).toMatchObject({
      allowed: false,
      denied: [{ message: 'not so: false' }],
    });
    expect(await outcomes()).toEqual([]);
  });

  it('cost another team one gate of a policy that takes all of its time, however many wait', async () => {
    const policyId = await enabled(documentOf(ENDLESS));
    await enabled(documentOf('true'), otherId);
    const hurried = createGates({ db, runner: new PolicyRunner({ gateMs: 500, waitingMax: 32 }) });
    const ended: string[] = [];
    const pass = async (of: string): Promise<void> => {
      const ctx = ctxOf('owner', db, `user of ${of}`);
      const answer = await said(hurried.pass(ctx, passage({ teamId: of })));
      ended.push(answer.split(':')[0] ?? '');
    };
    await pass(otherId); // The thread starts.
    ended.splice(0);
    await Promise.all([pass(teamId), pass(teamId), pass(otherId)]);
    hurried.close();
    expect(ended.toSorted()).toEqual(['passed', 'policy_denied', 'policy_denied']);
    expect(ended.indexOf('passed'), 'behind one gate at most').toBeLessThan(2);
    const decisions =
      await sql`select distinct outcome, reason from policy_decisions where policy_id = ${policyId}`;
    expect(decisions).toEqual([{ outcome: 'error', reason: 'time' }]);
  });

  it('wait for no preview of one account, of however many teams', async () => {
    await enabled(documentOf('true'), otherId);
    const teamIds = Array.from({ length: 9 }, () => newId('team'));
    for (const id of teamIds) {
      await sql`insert into teams (id, name, region_id, created_at) values (${id}, 'many', 'reg_1', now())`;
      await enabled(documentOf(ENDLESS), id);
    }
    const own = createGates({ db });
    const stranger = async () =>
      await said(own.pass(ctxOf('owner', db, 'user_2'), passage({ teamId: otherId })));
    await stranger(); // The thread starts.
    const ended: string[] = [];
    const previews = Array.from({ length: 45 }, async (_, n) => {
      const preview = own.preview(ctxOf('viewer', db, 'user_3'), [passage({ teamId: teamIds[n % 9] ?? '' })]);
      const answer = preview.then(({ allowed }) => `allowed ${allowed}`);
      ended.push(await answer.catch((error: ApiError) => error.code));
    });
    for (let n = 0; n < 5; n += 1) expect(await stranger()).toBe('passed');
    // One that is judged takes a quarter of a second of a processor; five of a stranger are judged meanwhile.
    expect(ended.filter((word) => word !== 'unavailable').length).toBeLessThan(3);
    await Promise.all(previews);
    expect(new Set(ended)).toEqual(new Set(['unavailable', 'allowed false']));
    own.close();
  });

  it('of one transaction have the time of one together, and those of the next have theirs', async () => {
    const slow = await enabled(documentOf(ENDLESS, { on: ['build.create'], mode: 'audit' }));
    await enabled(documentOf('true'));
    const hurried = createGates({ db, runner: new PolicyRunner({ gateMs: 500, waitingMax: 32 }) });
    const deploying = async (tx: Database) => await hurried.pass(ctxOf('owner', tx), passage());
    const both = db.transact(async (tx) => {
      await hurried.pass(ctxOf('owner', tx), passage({ action: 'build.create' }));
      await deploying(tx);
    });
    expect(await said(both)).toMatch(
      /^policy_denied: the policy "pol_\w+" could not be judged: the policies took more than \d+ ms/,
    );
    expect(await said(db.transact(deploying))).toBe('passed');
    hurried.close();
    // It was undone with the transaction, in which it was no denial.
    expect(await sql`select 1 from policy_decisions where policy_id = ${slow}`).toHaveLength(0);
  });

  it('let a passage be judged before the act has its locks, and kept behind them', async () => {
    await enabled(documentOf('false'));
    const override = { reason: REASON };
    await db.transact(async (tx) => {
      const ctx = ctxOf('owner', tx);
      const { keep, isOverridden } = await gates.judge(ctx, passage({ override }));
      expect(isOverridden).toBe(true);
      expect(await tx.sql`select 1 from audit_entries where chain = ${teamId}`).toHaveLength(0);
      await keep(ctx);
      expect(await tx.sql`select 1 from audit_entries where chain = ${teamId}`).toHaveLength(1);
    });
    expect(await outcomes()).toEqual(['overridden']);
  });

  it('see artifacts as they are: first build, what is verified, packages by their set; and so does a replay', async () => {
    const { id, digest } = await artifact('app');
    await state(digest);
    await state(digest, signingPair().privateKey);
    const spki = key.publicKey.export({ format: 'der', type: 'spki' });
    for (const [of, name] of Object.entries({ [teamId]: 'scanner', [otherId]: 'another' }))
      await sql`
        insert into trusted_keys (id, team_id, created_at, name, spki, hint, predicate_types)
        values (${newId('tky')}, ${of}, now(), ${name}, ${spki}, 'h', '{}')`;
    const { packages } = listPackages([
      { purls: ['pkg:npm/left-pad@1.3.0'], name: '', version: '', source: undefined, licenses: ['MIT'] },
    ]);
    const { setId } = await storePackageSet(sql, teamId, packages);
    await listed(id, setId, { unread: ['rpm'] });
    const rules = [
      "artifacts[0].origin == 'build' && artifacts[0].commit == 'c0ffee' && artifacts[0].runner == 'rnr_1'",
      "artifacts[0].attestations.exists_one(t, t.verified && t.signer == 'scanner' && t.builderId == 'https://ci.example.com/v1')",
      'size(artifacts[0].attestations) == 1',
      "artifacts[0].packages.exists(p, p.name == 'left-pad' && 'MIT' in p.licenses)",
      "artifacts[0].sbom.present && artifacts[0].sbom.byRunner && artifacts[0].sbom.packages == 1 && artifacts[0].sbom.unread == ['rpm']",
      "team.name == 'makers' && actor.id == 'user_1' && actor.role == 'developer'",
    ].map((require, n) => ({ id: `r${n}`, message: require, require }));
    const document = documentOf('true', { rules });
    await enabled(document);
    const { gateId } = await gates.pass(ctxOf('developer'), passage({ artifactIds: [id] }));
    const scope = systemScope(teamId);
    const recorded = (await inputsOf(sql, scope, [gateId])).get(gateId);
    expect(recorded?.artifacts[0]?.packages).toEqual([setId]);
    const asked = { policyId: 'pol_none', projectId: null, environmentId: null, limit: 10, document };
    const who = { db, teams: scope };
    const same = { replayed: 1, unchanged: 1, errors: 0 };
    expect(await simulate(who, createReplay(), asked)).toMatchObject(same);
    // As versions before 0.11 recorded it, with one list and without what was not told then.
    await sql`
      update policy_inputs set input = jsonb_set(input #- '{artifacts,0,sbom,byRunner}', '{artifacts,0,packages}', ${setId}::text::jsonb) where team_id = ${teamId}`;
    const old = documentOf(
      "artifacts[0].packages.exists(p, p.name == 'left-pad') && !artifacts[0].sbom.byRunner",
    );
    expect(await simulate(who, createReplay(), { ...asked, document: old })).toMatchObject({
      newlyDenied: 0,
      errors: 0,
    });
    expect((await inputsOf(sql, systemScope(otherId), [gateId])).size).toBe(0);
  });

  it('take the artifact of another team for a missing one', async () => {
    const { id } = await artifact('theirs', otherId);
    expect(await passing(id)).toContain('not_found');
    expect(await said(gates.pass(ctxOf(), passage({ teamId: otherId, artifactIds: [id] })))).toBe('passed');
  });

  it('refuse what is too much to be read, and never judge a part of it', async () => {
    expect([ATTESTATIONS_MAX, PACKAGES_MAX]).toEqual([
      INPUT.fields.artifacts.list.fields.attestations.max,
      INPUT.fields.artifacts.list.fields.packages.max,
    ]);
    const stated = await artifact('stated');
    await sql`
      insert into attestations (id, team_id, created_at, predicate_type, source, bundle, sha256, dedupe_key, ledger_seq, counts_as)
      select 'ats_' || ${teamId} || n, ${teamId}, now(), 't', 'upload', '{}', '', 'k' || n, 1, 'tky_1 ' || n from generate_series(1, 101) n`;
    await sql`
      insert into attestation_subjects (team_id, digest, attestation_id)
      select ${teamId}, ${stated.digest}, id from attestations where team_id = ${teamId}`;
    const packed = await artifact('packed');
    const [set] = await sql<Array<{ id: number }>>`
      insert into package_sets (team_id, digest, packages, created_at) values (${teamId}, '', 10001, now()) returning id`;
    await listed(packed.id, set?.id ?? 0);
    expect(await passing(stated.id, packed.id)).toBe('passed');
    const notJudged =
      /^policy_denied: the policy "pol_\w+" could not be judged: input\.artifacts\[\d+\]\.\w+ has \d+ elements/;
    await enabled(documentOf('true'));
    expect(await passing(stated.id)).toMatch(notJudged);
    expect(await passing(packed.id), 'no policy names packages').toBe('passed');
    await enabled(documentOf('artifacts.all(a, size(a.packages) >= 0)'));
    expect(await passing(packed.id)).toMatch(notJudged);
  });

  it('are told of what is verified, however much others state and list beside it', async () => {
    const { id, digest } = await artifact('busy');
    await sql`
      insert into attestations (id, team_id, created_at, predicate_type, source, bundle, sha256, dedupe_key, ledger_seq)
      select 'ats_' || ${teamId} || n, ${teamId}, now(), 't', 'upload', '{}', '', 'k' || n, 1 from generate_series(1, 300) n`;
    await sql`
      insert into attestations (id, team_id, created_at, predicate_type, source, bundle, sha256, dedupe_key, ledger_seq, counts_as)
      select 'ats_e' || ${teamId} || n, ${teamId}, now(), 'https://x/evaluation/v1', 'platform', '{}', '', 'e' || n, 1, 'user_' || n % 3 || ' ' || n
      from generate_series(1, 300) n`;
    await sql`
      insert into attestation_subjects (team_id, digest, attestation_id) select ${teamId}, ${digest}, id from attestations where team_id = ${teamId}`;
    for (let n = 0; n < 3; n += 1) {
      const [set] = await sql<Array<{ id: number }>>`
        insert into package_sets (team_id, digest, packages, chars, created_at) values (${teamId}, ${String(n)}, ${n === 0 ? 0 : 10_001}, 0, now()) returning id`;
      await listed(id, set?.id ?? 0, { source: n === 0 ? 'runner' : 'upload' });
    }
    await enabled(
      documentOf(
        "artifacts.all(a, size(a.packages) == 0 && a.attestations == [] && a.sbom.unread.exists(u, u.contains('10001')))",
      ),
    );
    expect(await passing(id)).toBe('passed');
  });

  it('see all artifacts of the largest release', async () => {
    const made: Array<{ id: string }> = [];
    for (let n = 0; n < 101; n += 1) made.push(await artifact(`app-${n}`));
    const ids = made.map(({ id }) => id);
    const require = "size(artifacts) == 100 && artifacts.all(a, a.commit == 'c0ffee' && a.packages == [])";
    await enabled(documentOf(require));
    const { gateId } = await gates.pass(ctxOf(), passage({ artifactIds: ids.slice(0, 100) }));
    const recorded = (await inputsOf(sql, systemScope(teamId), [gateId])).get(gateId);
    expect(recorded?.artifacts.map(({ id }) => id)).toEqual(ids.slice(0, 100));
    expect(await passing(...ids)).toContain('input.artifacts has 101 elements: 100 are the limit');
  });

  it('keep what passed for 90 days', async () => {
    await enabled(documentOf('true'));
    await gates.pass(ctxOf(), passage());
    const left = async () =>
      await sql`
      select (select count(*)::int from policy_gates where team_id = ${teamId}) as gates,
        (select count(*)::int from policy_inputs where team_id = ${teamId}) as inputs,
        (select count(*)::int from policy_decisions where team_id = ${teamId}) as decisions`;
    await purgeGates(sql, Date.now() + 89 * DAY_MS);
    expect(await left()).toEqual([{ gates: 1, inputs: 1, decisions: 1 }]);
    await purgeGates(sql, Date.now() + 91 * DAY_MS);
    expect(await left()).toEqual([{ gates: 0, inputs: 0, decisions: 0 }]);
  });
});
