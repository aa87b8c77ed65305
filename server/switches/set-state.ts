/**
 * This file moves a switch for a person or a program. What can be refused without the database is refused
 * before the transaction; the rest is decided under the lock, on the state that is really changed. The order
 * of the checks is part of the contract.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { FeatureDefinition, SwitchState } from '@svc/proto/features/definition.ts';
import {
  AffectedFeatureSchema,
  PlatformFeatureSchema,
  SwitchStateSchema,
  type SetStateRequest,
  type SetStateResponseSchema,
} from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import type { CallContext } from '@svc/proto/http/call.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { wrongField } from '../kit/wrong-field.ts';
import { visibleLength } from '@svc/proto/http/visible-text.ts';
import { encoder } from '@svc/proto/http/json.ts';
import { auditActor } from '../kit/ledger/index.ts';
import type { Caller, Ctx } from '../kit/context.ts';
import { enumWord, shown } from '../kit/resource/index.ts';
import type { Affected, ChangeSource } from './change.ts';
import { decidingVariable, effectiveOf, type Effective, type Rules } from './effective.ts';
import { foresee, writeMove } from './move.ts';
import { entityTag, readPrecondition, type Precondition } from './precondition.ts';
import { presentFeature } from './present.ts';
import { lockStates, readStates, type StoredStates } from './store.ts';

/** Characters (Unicode code points) of a reason without the blanks around it. */
const REASON_CHARS_MIN = 1;
const REASON_CHARS_MAX = 500;

export interface SetStateDeps {
  readonly rules: Rules;
  find(key: string): FeatureDefinition;
  /** Installs the states at the commit. */
  install(states: StoredStates): void;
}

type Response = MessageInitShape<typeof SetStateResponseSchema>;

interface WantedState {
  readonly definition: FeatureDefinition;
  readonly to: SwitchState;
  readonly reason: string;
  readonly precondition: Precondition | undefined;
}

export async function setState(deps: SetStateDeps, request: SetStateRequest, ctx: Ctx): Promise<Response> {
  const { rules } = deps;
  const definition = deps.find(request.key);
  const to = enumWord(SwitchStateSchema, request.state) as SwitchState;
  const reason = request.dryRun ? '' : checkReason(request.reason);
  assertToggleable(definition, rules, to);
  const precondition = readPrecondition(ctx.call.header('if-match'), request.revision);
  const wanted = { definition, to, reason, precondition };
  const response = request.dryRun ? await tryOut(deps, wanted, ctx) : await move(deps, wanted, ctx);
  ctx.call.responseHeaders.set('etag', entityTag(response.feature?.revision ?? 0));
  return response;
}

async function tryOut({ rules }: SetStateDeps, wanted: WantedState, ctx: Ctx): Promise<Response> {
  const { definition, to } = wanted;
  const before = effectiveOf(rules, await readStates(ctx.db.sql));
  assertUnchanged(wanted, before, rules);
  const { after, affected } = foresee(rules, before, { definition, to });
  return {
    feature: presentFeature(definition, after, rules),
    affected: affected.map(showAffected),
    changed: before.states.get(definition.key) !== to,
  };
}

async function move(deps: SetStateDeps, wanted: WantedState, ctx: Ctx): Promise<Response> {
  const { rules } = deps;
  const { definition, to } = wanted;
  const { key } = definition;
  const { call, clock, caller } = ctx;
  // Looked up before the lock is taken: nobody else waits for it.
  const by = { actor: auditActor(ctx), display: displayOf(caller), source: sourceOf(call) };
  return await ctx.db.transact(async (db) => {
    await lockStates(db.sql);
    const before = effectiveOf(rules, await readStates(db.sql));
    assertUnchanged(wanted, before, rules);
    if (before.states.get(key) === to)
      return { feature: presentFeature(definition, before, rules), affected: [], changed: false };
    const moved = { ...wanted, ...by, requestId: call.requestId, at: clock.now() };
    const states = await writeMove(db, { rules, before }, moved);
    // Told at the commit and before the answer, so that whoever changed it sees it changed.
    db.afterCommit(() => deps.install(states));
    return {
      feature: presentFeature(definition, effectiveOf(rules, states), rules),
      affected: (states.switches.get(key)?.lastChange.affected ?? []).map(showAffected),
      changed: true,
    };
  });
}

const showAffected = (affected: Affected) => shown(AffectedFeatureSchema, affected);

function checkReason(given: string): string {
  const reason = given.trim();
  const { length } = [...reason];
  const seen = visibleLength(reason);
  if (seen < REASON_CHARS_MIN) {
    throw apiError(
      'reason_required',
      `reason has ${seen} characters, ${REASON_CHARS_MIN} to ${REASON_CHARS_MAX} are needed; say why the switch is moved, it is kept for ever`,
      { details: { length: seen, min: REASON_CHARS_MIN, max: REASON_CHARS_MAX } },
    );
  }
  if (length > REASON_CHARS_MAX) {
    const message = `reason has ${length} characters, at most ${REASON_CHARS_MAX} are taken; shorten it and link to the rest`;
    throw wrongField(message, { field: 'reason', rule: 'max_len' });
  }
  return reason;
}

function assertToggleable(definition: FeatureDefinition, rules: Rules, to: SwitchState): void {
  const { key, lifecycle } = definition;
  const variable = decidingVariable(definition, rules.variables);
  if (variable !== undefined) {
    throw apiError(
      'feature_not_toggleable',
      `${key} cannot be switched here: the environment variable ${variable} decides; change it and restart the process`,
      { details: { key, environmentVariable: variable } },
    );
  }
  if (lifecycle === 'planned' && to === 'enabled') {
    throw apiError(
      'feature_not_toggleable',
      `${key} is planned and not built yet, so it cannot be switched on`,
      { details: { key, lifecycle } },
    );
  }
}

/** Also where nothing would change: whoever sends a revision wants to know that it is not the present one. */
function assertUnchanged({ definition, precondition }: WantedState, before: Effective, rules: Rules): void {
  const { key } = definition;
  const revision = before.stored.switches.get(key)?.revision ?? 0;
  if (precondition === undefined || precondition(revision)) return;
  const current = encoder(PlatformFeatureSchema)(presentFeature(definition, before, rules));
  throw apiError(
    'precondition_failed',
    `${key} was changed in the meantime: it is at revision ${revision}, which is not what was asked for; look at it and try again`,
    { details: { current: JSON.parse(current) as unknown }, headers: { etag: entityTag(revision) } },
  );
}

/** The source is a courtesy to readers of the history and proves nothing: callers name themselves. */
export function sourceOf(call: Pick<CallContext, 'header'>): ChangeSource {
  const client = call.header('x-svc-client');
  if (client === 'console' || client === 'cli') return client;
  return call.header('user-agent')?.startsWith('svc-cli/') === true ? 'cli' : 'api';
}

/** The history names staff by e-mail address, as they know each other. */
function displayOf({ names: { email, key } }: Caller): string {
  return key === undefined ? email : `${email} (${key})`;
}
