/**
 * A process answers from a view: one state of all switches, resolved, with the answers of the hot paths made
 * ready. A view never changes; a new state makes a new view, and swapping the one pointer to it changes
 * everything at once.
 */
import { createHash } from 'node:crypto';
import {
  ResolvedResponseSchema,
  type ResolvedResponse,
} from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import type { Gate } from '@svc/proto/http/call.ts';
import { prepareJson } from '@svc/proto/http/prepared.ts';
import { effectiveOf, type Effective, type Rules } from './effective.ts';
import { presentForEverybody, presentForStaff } from './present.ts';
import type { ResolvedFeature } from './snapshot.ts';
import type { StoredStates } from './store.ts';

export interface ReadyAnswer {
  readonly message: ResolvedResponse;
  /** Tag of the very bytes of the JSON body: a change that its reader cannot see does not change it. */
  readonly etag: string;
}

export interface View extends Effective {
  readonly revision: number;
  readonly gates: ReadonlyMap<string, Gate>;
  readonly forStaff: ReadyAnswer;
  readonly forEverybody: ReadyAnswer;
}

/** 132 bits of the digest are plenty to tell two bodies apart. */
const ETAG_CHARS = 22;

export function tagOf(body: string): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, ETAG_CHARS)}"`;
}

function ready(message: ResolvedResponse): ReadyAnswer {
  return { message, etag: tagOf(prepareJson(ResolvedResponseSchema, message)) };
}

function gateOf({ enabled, visibility }: ResolvedFeature): Gate {
  if (enabled) return 'open';
  return visibility === 'public' ? 'disabled' : 'hidden';
}

export function createView(rules: Rules, stored: StoredStates): View {
  const effective = effectiveOf(rules, stored);
  const { snapshot } = effective;
  return Object.freeze({
    ...effective,
    revision: stored.revision,
    gates: new Map(snapshot.features.map((feature) => [feature.key, gateOf(feature)])),
    forStaff: ready(presentForStaff(snapshot)),
    forEverybody: ready(presentForEverybody(snapshot)),
  });
}
