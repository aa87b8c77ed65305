/**
 * Spaces are people and projects of one purpose, across teams. A space gives nobody a right. Who is not a
 * member is told that it does not exist; who is one sees in it the projects of the own teams alone, because
 * everything in it is read through the caller's TeamScope.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { gateRefusal } from '@svc/proto/http/feature-disabled.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  SearchRequestSchema,
  SearchResultSchema,
  SpaceMemberSchema,
  SpaceSchema,
  SpacesService,
} from '@svc/proto/gen/svc/spaces/v1/spaces_pb.ts';
import { requireRole } from '../../kit/authorise.ts';
import type { Ctx, Role } from '../../kit/context.ts';
import type { FeatureGate } from '../../kit/feature-gate.ts';
import { notFound } from '../../kit/not-found.ts';
import { given, shown } from '../../kit/resource/index.ts';
import { roleName } from '../../kit/scopes.ts';
import { projectRows, projectsFeature, projectsInSpace } from '../../apps/projects/index.ts';
import { accountsFeature } from '../../access/accounts/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { environmentsFeature } from '../../apps/environments/index.ts';
import { switchesFeature } from '../../switches/index.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { addProject, changeSpace, createSpace, refuseNarrowed, removeProject, removeSpace } from './acts.ts';
import { countContents, searchSpace } from './contents.ts';
import { removeMember, setMember } from './members.ts';
import { findSpace, listSpaceMembers, listSpaces, projectIdsInSpace, type Space } from './store.ts';

const ALL_KINDS = ['project', 'environment'];

function createSpaces(): Handlers<Ctx> {
  return implement(SpacesService, {
    list: async (_request, ctx: Ctx) => ({
      spaces: (await listSpaces(ctx)).map((space) => shown(SpaceSchema, space)),
    }),
    create: async (request, ctx: Ctx) => shown(SpaceSchema, await createSpace(ctx, request)),
    update: async (request, ctx: Ctx) => {
      const space = await spaceOf(ctx, request.spaceId, 'admin');
      refuseNarrowed(ctx.caller);
      await changeSpace(ctx, space, request);
      return shown(SpaceSchema, await spaceOf(ctx, space.id));
    },
    delete: async ({ spaceId }, ctx: Ctx) => {
      const space = await spaceOf(ctx, spaceId, 'owner');
      refuseNarrowed(ctx.caller);
      await removeSpace(ctx, space);
      return {};
    },
    setMember: async ({ spaceId, userId, role }, ctx: Ctx) => {
      const { id } = await spaceOf(ctx, spaceId);
      const wanted = { userId, role: role === undefined ? undefined : roleName(role) };
      return shown(SpaceMemberSchema, await setMember(ctx, id, wanted));
    },
    removeMember: async ({ spaceId, userId }, ctx: Ctx) => {
      const { id } = await spaceOf(ctx, spaceId);
      await removeMember(ctx, id, userId);
      return {};
    },
    addProject: async ({ spaceId, projectId }, ctx: Ctx) => {
      const space = await spaceOf(ctx, spaceId, 'developer');
      await addProject(ctx, space, await projectRows.find(ctx, projectId));
      return {};
    },
    removeProject: async ({ spaceId, projectId }, ctx: Ctx) => {
      const space = await spaceOf(ctx, spaceId, 'developer');
      await removeProject(ctx, space, await projectRows.find(ctx, projectId));
      return {};
    },
    search: async (request, ctx: Ctx) => {
      const space = await spaceOf(ctx, request.spaceId);
      const { kinds = ALL_KINDS } = given(SearchRequestSchema, request);
      const search = { spaceId: space.id, query: request.query.trim(), kinds };
      const found = await searchSpace(ctx.db, ctx.teams, search);
      return { results: found.map((row) => shown(SearchResultSchema, row)) };
    },
    overview: async ({ spaceId }, ctx: Ctx) => {
      const space = await spaceOf(ctx, spaceId);
      const members = await listSpaceMembers(ctx.db, space.id);
      const counts = await countContents(ctx.db, ctx.teams, space.id);
      return {
        space: shown(SpaceSchema, space),
        members: members.map((member) => shown(SpaceMemberSchema, member)),
        projectCount: counts.projects,
        environmentCount: counts.environments,
        teamCount: counts.teams,
      };
    },
    ai: async ({ spaceId }, ctx: Ctx) => {
      await spaceOf(ctx, spaceId);
      // It is not retryable: it is the same until an operator changes the installation.
      throw apiError('unavailable', 'AI is not configured on this installation', { retryable: false });
    },
  });
}

/** It tells `projects.list` which projects of the caller's teams are in the space. */
function createSpaceFilter(gate: FeatureGate): (ctx: Ctx, spaceId: string) => Promise<readonly string[]> {
  return async (ctx, spaceId) => {
    // The filter is a part of the feature although the list is not.
    const refusal = gateRefusal(gate.state('host.spaces'), 'host.spaces');
    if (refusal !== undefined) throw refusal;
    const space = await spaceOf(ctx, spaceId);
    return await projectIdsInSpace(ctx.db, ctx.teams, space.id);
  };
}

async function spaceOf(ctx: Ctx, spaceId: string, needed: Role = 'viewer'): Promise<Space> {
  const space = await findSpace(ctx, spaceId);
  if (space === undefined) throw notFound('space');
  requireRole(space.role, needed, { of: 'space' });
  return space;
}

export const spacesFeature = declareFeature({
  name: 'spaces',
  on: {
    switches: switchesFeature,
    accounts: accountsFeature,
    teams: teamsFeature,
    projects: projectsFeature,
    environments: environmentsFeature,
  },
  prefixes: ['spc'],
  start: (_system, { switches: { switches } }) => ({
    services: [createSpaces()],
    fills: [fill(projectsInSpace, createSpaceFilter(switches.gate))],
  }),
});
