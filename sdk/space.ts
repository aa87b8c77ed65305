/** Makes a handle bound to one space, so that its id is said once. */
import type { ApiPromise, CallOptions, PagePromise } from './core/client.ts';
import type {
  AiMessage,
  Project,
  ProjectsListPageParams,
  ProjectsListParams,
  ProjectsListResponse,
  Resources,
  SearchKind,
  SearchResult,
  SpacesAiResponse,
  SpacesOverviewResponse,
} from './gen/index.ts';

/**
 * One space. Nothing is requested before a method is called: a space that does not exist shows at the first
 * call.
 */
export interface SpaceHandle {
  /** Space id, `spc_…`. */
  readonly id: string;
  /** Projects in the space. */
  readonly projects: {
    /** Lists the projects that the caller may see, newest first, over all pages. */
    list(
      params?: Omit<ProjectsListParams, 'spaceId'> & CallOptions,
      options?: CallOptions,
    ): PagePromise<Project>;
    /** Gives one page: pass `nextCursor` as `cursor` for the next one; it is absent on the last. */
    listPage(
      params?: Omit<ProjectsListPageParams, 'spaceId'> & CallOptions,
      options?: CallOptions,
    ): ApiPromise<ProjectsListResponse>;
  };
  /** Finds projects and environments of the space by a part of their name. */
  search(
    query: string,
    kinds?: readonly SearchKind[],
    options?: CallOptions,
  ): ApiPromise<readonly SearchResult[]>;
  /** Tells its members, and how much is in it. */
  overview(options?: CallOptions): ApiPromise<SpacesOverviewResponse>;
  /** Asks an AI model about the space. */
  ai(messages: readonly AiMessage[], options?: CallOptions): ApiPromise<SpacesAiResponse>;
}

export function createSpaceHandle(
  { projects, spaces }: Pick<Resources, 'projects' | 'spaces'>,
  spaceId: string,
): SpaceHandle {
  return {
    id: spaceId,
    projects: {
      list: (params, options) => projects.list({ ...params, spaceId }, options),
      listPage: (params, options) => projects.listPage({ ...params, spaceId }, options),
    },
    search: (query, kinds, options) => spaces.search(spaceId, query, kinds, options),
    overview: (options) => spaces.overview(spaceId, options),
    ai: (messages, options) => spaces.ai(spaceId, messages, options),
  };
}
