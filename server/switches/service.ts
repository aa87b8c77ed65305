/** This file implements the operations of platform features. */
import type { FeatureDefinition } from '@svc/proto/features/definition.ts';
import {
  FeatureChangeSchema,
  PlatformFeaturesService,
} from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../kit/context.ts';
import { closePage, openPage } from '../kit/paging.ts';
import { shown } from '../kit/resource/index.ts';
import type { ReadCompanion } from './companion.ts';
import type { Rules } from './effective.ts';
import type { Follower } from './follow.ts';
import { entityTag } from './precondition.ts';
import { presentFeature } from './present.ts';
import { answerResolved } from './resolved.ts';
import { setState } from './set-state.ts';
import { listChanges } from './store.ts';

export interface ServiceDeps {
  readonly rules: Rules;
  readonly follower: Follower;
  readonly companion: ReadCompanion;
}

export function createPlatformFeaturesService(deps: ServiceDeps): Handlers<Ctx> {
  const { rules, follower, companion } = deps;
  const find = (key: string): FeatureDefinition => {
    const found = rules.manifest.find((definition) => definition.key === key);
    if (found === undefined) throw unknown(key);
    return found;
  };
  return implement(PlatformFeaturesService, {
    resolved: async (_request, ctx) => answerResolved(follower.view(), ctx),

    list: async () => {
      // Staff decide by what they read here, so it is not a moment old.
      await follower.catchUp();
      const view = follower.view();
      return {
        features: rules.manifest.map((definition) => presentFeature(definition, view, rules)),
        revision: view.revision,
      };
    },

    get: async ({ key }, { call }) => {
      const definition = find(key);
      await follower.catchUp();
      const feature = presentFeature(definition, follower.view(), rules);
      call.responseHeaders.set('etag', entityTag(feature.revision));
      return feature;
    },

    history: async (request, ctx) => {
      const { key } = find(request.key);
      const page = openPage(ctx, key, request);
      const [before] = page.after ?? [];
      const rows = await listChanges(ctx.db.sql, {
        key,
        before: before === undefined ? undefined : Number(before),
        take: page.take,
      });
      const { items, ...next } = closePage(page, rows, (row) => [row.revisionTo]);
      return { ...next, changes: items.map((row) => shown(FeatureChangeSchema, row)) };
    },

    setState: async (request, ctx) =>
      await setState({ rules, find, install: follower.install }, request, ctx),

    watch: async (_request, { call }) => revisions(follower, call.signal),

    companion: async () => await companion(),
  });
}

function unknown(key: string): Error {
  return apiError(
    'feature_unknown',
    `there is no platform feature "${key.slice(0, 100)}"; GET /admin/platform-features lists them`,
    { details: { key: key.slice(0, 100) } },
  );
}

/**
 * The present one, and each that comes. Whoever comes back with a position is told the present one as well:
 * it reads everything again anyway.
 */
async function* revisions(follower: Follower, signal: AbortSignal) {
  for (let told: number | undefined; !signal.aborted;) {
    const { revision } = follower.view();
    if (revision === told) {
      await nextChange(follower, signal);
      continue;
    }
    told = revision;
    yield { position: String(revision), revision };
  }
}

/** Resolves at the next change, or when the caller is gone. */
async function nextChange(follower: Follower, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      end();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const end = follower.onChange(done);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
