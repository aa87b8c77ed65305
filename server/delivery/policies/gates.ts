/**
 * Gates: each act that policies are asked about is judged here by those that are in force, and what was seen
 * and decided is kept at every passage. A passage is kept with the act's transaction; a denial, which undoes
 * that transaction, is kept again behind it.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { visibleLength } from '@svc/proto/http/visible-text.ts';
import { requireRole, systemScope } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { recordAct } from '../../kit/ledger/index.ts';
import { artifactFacts, packagesOfSets } from '../artifacts/index.ts';
import type { TrustRoot } from '../attestations/index.ts';
import { namesPackages } from './engine/document.ts';
import { emptyInput } from './engine/input.ts';
import { PolicyRunner, WITHIN_MS, type Allowance } from './engine/policy-runner.ts';
import { decide, type Verdict } from './engine/verdict.ts';
import { keepGate, policiesAt, type KeptGate, type NamedPolicy } from './gate-log.ts';
import type { FailedRule, Gates, Judged, Passage, Passed, Word } from './passage.ts';
import { recordedInput, setsOf, withPackages, type RecordedInput } from './recorded-input.ts';
import { createAccountTurns } from './turns.ts';

const REASON_CHARS = { min: 8, max: 500 };
/** Failed rules that an error or the ledger names. */
const RULES_NAMED_MAX = 50;

export interface GatesDeps {
  /** Database, and not a transaction: denials are kept with it. */
  readonly db: Database;
  readonly runner?: PolicyRunner;
  readonly root?: TrustRoot | undefined;
}

interface Judges {
  readonly runner: PolicyRunner;
  readonly inTurn: ReturnType<typeof createAccountTurns>;
  /** Default: that of the transaction. */
  readonly allowance?: Allowance;
}

interface Judgement extends Omit<Word, 'allowed'> {
  readonly input: RecordedInput;
  readonly verdicts: readonly Verdict[];
}

export function createGates({ db, runner = new PolicyRunner(), root }: GatesDeps): Gates & { close(): void } {
  // No act waits for a preview.
  const acts: Judges = { runner, inTurn: createAccountTurns() };
  const previews: Judges = { runner: new PolicyRunner(), inTurn: createAccountTurns() };
  // A transaction holds a connection and locks: however many gates it passes, policies hold it no longer than
  // one.
  const allowances = new WeakMap<Database, Allowance>();
  const allowanceOf = (handle: Database): Allowance => {
    const allowance = allowances.get(handle) ?? runner.allowance();
    if (handle.inTransaction) allowances.set(handle, allowance);
    return allowance;
  };
  const judgementOf = async (
    ctx: Ctx,
    passage: Passage,
    { runner: judging, inTurn, allowance = allowanceOf(ctx.db) }: Judges = acts,
  ): Promise<Judgement> => {
    const { teamId } = passage;
    const { sql } = ctx.db;
    // The team's alone: what the caller may see of other teams must not count here.
    const teams = systemScope(teamId);
    const { teamName, payerId, policies } = await policiesAt(sql, passage);
    const artifacts = await artifactFacts({ ...ctx, teams, root }, teamId, passage.artifactIds);
    const team = { id: teamId, name: teamName };
    const input = recordedInput({ ...inputOf(ctx, passage), team }, artifacts, passage.uncatalogued);
    if (policies.length === 0) return { input, verdicts: [], denied: [], warned: [] };
    const isRead = policies.some(({ document }) => namesPackages(document));
    const packages = isRead ? await packagesOfSets(sql, teams, setsOf([input])) : undefined;
    const full = withPackages(input, packages);
    const askedAt = performance.now();
    const verdicts = await inTurn(
      { callerId: ctx.caller.userId, payerId, teamId },
      async () =>
        await judging.judge(policies, full, {
          allowance,
          withinMs: WITHIN_MS - Math.round(performance.now() - askedAt),
        }),
    );
    return { input, verdicts, ...objections(policies, verdicts) };
  };
  const judge = async (ctx: Ctx, passage: Passage): Promise<Judged> => {
    checkOverride(ctx, passage);
    const judgement = await judgementOf(ctx, passage);
    const kept = keptOf(passage, judgement);
    const keep = async (tx: Ctx): Promise<void> =>
      kept.outcome === 'overridden' ? await keepOverridden(tx, kept) : await keepGate(tx.db.sql, kept);
    if (kept.outcome !== 'deny') return { ...passedOf(judgement, kept), keep };
    await keep(ctx);
    ctx.db.afterRollback(async () => await keepGate(db.sql, kept));
    throw denial(passage, judgement, kept);
  };
  return {
    judge,
    pass: async (ctx, passage) => {
      const { keep, ...passed } = await judge(ctx, passage);
      await keep(ctx);
      return passed;
    },
    preview: async (ctx, passages) => {
      const judges = { ...previews, allowance: previews.runner.allowance() };
      const said: Judgement[] = [];
      for (const passage of passages) said.push(await judgementOf(ctx, passage, judges));
      return wordOf(said);
    },
    close: () => {
      runner.close();
      previews.runner.close();
    },
  };
}

/** Each rule is told once: a policy may be on several gates of one act. */
function wordOf(said: readonly Judgement[]): Word {
  const once = (rules: readonly FailedRule[]): readonly FailedRule[] => [
    ...new Map(rules.map((rule) => [`${rule.policyId} ${rule.ruleId}`, rule])).values(),
  ];
  const denied = once(said.flatMap((each) => each.denied));
  const warned = once(said.flatMap((each) => each.warned));
  return { allowed: denied.length === 0, denied, warned };
}

function inputOf({ caller, clock, teams }: Ctx, { action, teamId, facts }: Passage) {
  const { kind, userId, credentialId, ciJob } = caller;
  const actor = { id: ciJob === undefined ? userId : credentialId, kind, role: teams.role(teamId) ?? '' };
  return { ...emptyInput(), ...facts, action, now: clock.now().toISOString(), actor };
}

function checkOverride({ teams }: Ctx, { teamId, override }: Passage): void {
  if (override === undefined) return;
  requireRole(teams.role(teamId), 'owner', { act: 'overriding a policy' });
  const { length } = override.reason;
  const seen = visibleLength(override.reason);
  const { min, max } = REASON_CHARS;
  if (seen >= min && length <= max) return;
  const message = `the reason of the override has ${seen} characters that can be seen, expected ${min} to ${max}`;
  throw wrongField(message, { field: 'override.reason', rule: 'length' });
}

function objections(
  policies: readonly NamedPolicy[],
  verdicts: readonly Verdict[],
): Pick<Judgement, 'denied' | 'warned'> {
  const byId = new Map(policies.map((policy) => [policy.policyId, policy]));
  const rulesOf = (verdict: Verdict): readonly FailedRule[] => {
    const { policyId } = verdict;
    const policy = byId.get(policyId);
    const overridable = policy?.document.overridable !== false;
    const of = { policyId, policyName: policy?.name ?? '', overridable };
    const failed = verdict.failed.map(({ id, message }) => ({ ...of, ruleId: id, message }));
    if (verdict.outcome !== 'error' || failed.length > 0) return failed;
    const message = `the policy "${of.policyName}" could not be judged: ${verdict.detail ?? 'unknown'}`;
    return [{ ...of, ruleId: '', message }];
  };
  const { denied, warned } = decide(verdicts);
  return {
    denied: denied.flatMap(rulesOf),
    // What is only audited is for the log.
    warned: warned.filter(({ mode }) => mode === 'warn').flatMap(rulesOf),
  };
}

/** One that no owner overrides. */
const firmOf = (denied: readonly FailedRule[]): FailedRule | undefined =>
  denied.find(({ overridable }) => !overridable);

function keptOf(passage: Passage, { input, verdicts, denied }: Judgement): KeptGate {
  const at = new Date(input.now);
  const isOverridden = denied.length > 0 && passage.override !== undefined && firmOf(denied) === undefined;
  const refused = isOverridden ? 'overridden' : 'deny';
  return {
    gateId: newId('pgt', at.getTime()),
    at,
    passage,
    input,
    verdicts,
    outcome: denied.length === 0 ? 'allow' : refused,
    denied,
    overrideReason: isOverridden ? (passage.override?.reason ?? null) : null,
  };
}

async function keepOverridden(ctx: Ctx, kept: KeptGate): Promise<void> {
  const { gateId, denied, overrideReason: reason, passage } = kept;
  const { action, teamId: chain, subject: target } = passage;
  const rules = denied.slice(0, RULES_NAMED_MAX).map(({ policyId, ruleId }) => ({ policyId, ruleId }));
  await ctx.db.transact(async (db) => {
    await keepGate(db.sql, kept);
    const details = { gateId, action, reason, rules };
    await recordAct(db, ctx, { chain, action: 'policy.overridden', target, details });
  });
}

const passedOf = ({ denied, warned }: Judgement, { gateId, outcome }: KeptGate): Passed => ({
  gateId,
  isAllowed: outcome !== 'deny',
  isOverridden: outcome === 'overridden',
  denied,
  warned,
});

function denial({ override }: Passage, { denied }: Judgement, { gateId }: KeptGate): Error {
  const said = denied[0]?.message ?? '';
  const why =
    override === undefined ? '' : `the policy "${firmOf(denied)?.policyName}" cannot be overridden: `;
  const failed = denied.slice(0, RULES_NAMED_MAX);
  return apiError('policy_denied', `${why}${said}`, { details: { gateId, failed } });
}
