/**
 * A template's repository is read in the background: one commit, its root, and the first of the files that
 * say what a template is. What the file says is merged into the template under its lock. One job a template:
 * asked for again while it waits, it runs once; while it runs, once more. What fails leaves the template as
 * it was, and says why.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { eq } from 'drizzle-orm';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import type { Connection } from '../../connect/connections/index.ts';
import {
  forgeApi,
  ForgeError,
  forgeOf,
  KNOWN_HOSTS,
  repositoryOfUrl,
  treeOf,
  type ForgeApi,
  type ForgeDeps,
  type RepositoryName,
  type Tree,
} from '../../connect/providers/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import { addJob, doubling, JobFailed, JobNotYet, type JobKind } from '../../kit/jobs/index.ts';
import { appendAudit } from '../../kit/ledger/index.ts';
import { createDocumentReader, type DocumentReader } from './document/document-reader.ts';
import { FILES } from './document/read-document.ts';
import { BYTES_MAX, differing, merge, recipeProblem, type Recipe } from './recipe.ts';
import { revise, templateRows, type Template } from './rows.ts';
import { templates } from './schema.ts';

export const RESYNC = 'template_resync';

/** Entries of the root that are looked through. */
const ENTRIES_MAX = 2_000;
/** Characters; it is shown to people. */
const PROBLEM_MAX = 1_000;
const READER = { kind: 'system', id: 'template_resync', display: 'resync of a template' } as const;

export interface ResyncDeps extends ForgeDeps {
  readonly db: Database;
  readonly clock: Clock;
}

/** Has it read, once for several who ask. It is called in the transaction that says so in the template. */
export async function askResync(
  db: Database,
  { id, teamId }: Pick<Template, 'id' | 'teamId'>,
): Promise<void> {
  await addJob(db, { teamId, kind: RESYNC, key: id, lane: `template ${id}`, payload: { templateId: id } });
}

/** The reason is the repository's, and the same file is read no better later. */
class NoTemplate extends JobFailed {
  constructor(message: string) {
    super(message, { isFinal: true });
    this.name = 'NoTemplate';
  }
}

export function resyncJob(deps: ResyncDeps): JobKind {
  const { db } = deps;
  const reader = createDocumentReader();
  return {
    kind: RESYNC,
    // Somebody waits for it, and asks again: a quarter of a minute of patience with a host, not hours.
    attempts: 3,
    backoff: doubling(5_000, 3_600_000),
    patienceMs: 60_000,
    concurrency: 4,
    perTeam: 2,
    timeoutMs: 60_000,
    run: async ({ teamId, payload }, signal) => {
      const found = await readTemplate(db, { teamId, id: String(payload['templateId']) });
      if (found !== undefined) await resync({ ...deps, reader }, found, signal);
    },
    gaveUp: async ({ teamId, payload }, error) => {
      const why =
        error instanceof JobFailed
          ? wordsOf(error)
          : 'it failed within this service, whose operators were told';
      await noteProblem(db, { teamId, id: String(payload['templateId']) }, why);
    },
  };
}

type TemplateKey = Pick<Template, 'id' | 'teamId'>;

async function readTemplate(db: Database, { id, teamId }: TemplateKey): Promise<Template | undefined> {
  const where = eq(templates.id, id);
  return (await templateRows.list({ db, teams: systemScope(teamId) }, { where }))[0];
}

async function noteProblem(db: Database, { id, teamId }: TemplateKey, problem: string): Promise<void> {
  const set = { syncState: 'failed', syncProblem: problem.slice(0, PROBLEM_MAX) } as const;
  await templateRows.update({ db, teams: systemScope(teamId) }, id, { set });
}

const wordsOf = (error: JobFailed): string =>
  error instanceof ForgeError ? `${error.problem}: ${error.message}` : error.message;

interface Source {
  readonly commit: string;
  readonly path: string;
  /** Branch that was read. */
  readonly branch: string;
  readonly said: Partial<Recipe>;
  readonly warnings: readonly string[];
}

async function resync(
  deps: ResyncDeps & { readonly reader: DocumentReader },
  template: Template,
  signal: AbortSignal,
): Promise<void> {
  const { db, clock } = deps;
  const source = await readSource(deps, template, signal);
  const { id, teamId } = template;
  await db.transact(async (tx) => {
    const who = { db: tx, teams: systemScope(teamId) };
    // Locked by this, so that nobody changes by hand what is being merged.
    const before = await templateRows.update(who, id, { set: { syncProblem: null } });
    if (before === undefined) return;
    const { recipe, kept } = merge(before.recipe, before.base, source.said);
    const problem = recipeProblem(recipe);
    if (problem !== undefined) throw new NoTemplate(`${source.path}: ${problem.field} ${problem.message}`);
    const now = clock.now();
    const set = {
      base: { ...before.base, ...source.said },
      branch: source.branch,
      syncState: 'synced',
      sourceCommit: source.commit,
      sourcePath: source.path,
      syncedAt: now,
      kept,
      warnings: source.warnings,
    } as const;
    const after = await revise(who, before, { recipe, set, now });
    if (after === undefined || after.revision === before.revision) return;
    const details = {
      slug: after.slug,
      revision: after.revision,
      commit: source.commit,
      fields: differing(before.recipe, recipe),
    };
    const entry = { chain: teamId, actor: READER, action: 'template.resynced', target: id, requestId: '' };
    await appendAudit(tx, { ...entry, details }, now);
  });
}

async function readSource(
  deps: ResyncDeps & { readonly reader: DocumentReader },
  template: Template,
  signal: AbortSignal,
): Promise<Source> {
  const name = repositoryOfUrl(template.repository);
  if (name === undefined) throw new NoTemplate(`${template.repository} names no repository`);
  const api = await apiOf(deps, { teamId: template.teamId, name, signal });
  try {
    const tree = treeOf(api);
    const { branch, commit } = await headOf(tree, name, template.branch);
    const { path, bytes } = await fileOf(tree, name, commit);
    const read = await deps.reader.read({ path, bytes });
    if ('problem' in read) throw new NoTemplate(read.problem);
    return { commit, branch, path, ...read };
  } catch (error) {
    if (!(error instanceof ForgeError) || error.problem !== 'not_found' || api.hasToken) throw error;
    throw new NoTemplate(
      `not_found: ${error.message}; a private repository is read with the token of a CI connection of the team, and there is none of ${name.key}`,
    );
  }
}

type Hosted = Pick<
  Connection,
  'id' | 'provider' | 'repositoryHost' | 'repositoryPath' | 'forge' | 'apiUrl' | 'token' | 'quietUntil'
>;

interface AskedHost {
  readonly teamId: string;
  readonly name: RepositoryName;
  readonly signal: AbortSignal;
}

/**
 * Only the team's own connection of this very repository lends its token, and its host is asked at the
 * address that was given with it. Without one, a host that is known by its name is asked as anybody would.
 */
async function apiOf(
  { db, clock, fetch, secrets }: ResyncDeps,
  { teamId, name, signal }: AskedHost,
): Promise<ForgeApi> {
  const { host: repositoryHost, path: repositoryPath, key } = name;
  const [connection] = await db.sql<readonly Hosted[]>`
    select id, provider, repository_host as "repositoryHost", repository_path as "repositoryPath", forge, api_url as "apiUrl", token,
      quiet_until as "quietUntil"
    from ci_connections where team_id = ${teamId} and repository_key = ${key} and status <> 'paused'
    order by token is null, id limit 1`;
  const quietMs = new Date(connection?.quietUntil ?? 0).getTime() - clock.now().getTime();
  if (quietMs > 0) throw new JobNotYet(quietMs);
  const isKnown =
    connection === undefined ? Object.hasOwn(KNOWN_HOSTS, repositoryHost) : forgeOf(connection) !== undefined;
  if (!isKnown)
    throw new NoTemplate(
      `unsupported_host: ${repositoryHost} is none of ${Object.keys(KNOWN_HOSTS).join(', ')}, and no CI connection of the team says what it is`,
    );
  const anybody = {
    id: '',
    provider: 'generic',
    repositoryHost,
    repositoryPath,
    forge: null,
    apiUrl: null,
    token: null,
  } as const;
  return forgeApi({ fetch, secrets }, connection ?? anybody, signal);
}

const BRANCH = 'main';

async function headOf(tree: Tree, { path }: RepositoryName, wanted: string | null) {
  const branch = wanted ?? BRANCH;
  const { commit, defaultBranch } = await tree.head(branch);
  if (commit !== undefined) return { branch, commit };
  if (wanted === null && defaultBranch !== undefined) {
    const head = await tree.head(defaultBranch);
    if (head.commit !== undefined) return { branch: defaultBranch, commit: head.commit };
  }
  throw new NoTemplate(`branch_not_found: ${path} has no branch ${branch}`);
}

async function fileOf(tree: Tree, { path: repository }: RepositoryName, commit: string) {
  const { entries, complete } = await tree.list(commit, undefined, ENTRIES_MAX);
  const found = FILES.flatMap((name) => entries.filter(({ path }) => path === name));
  const [file] = found;
  if (file === undefined)
    throw new NoTemplate(
      `file_not_found: ${repository} has none of ${FILES.join(', ')} at its root${complete ? '' : `, as far as its first ${ENTRIES_MAX} files go`}`,
    );
  const { path, kind, sizeBytes = 0 } = file;
  if (kind !== 'file') throw new NoTemplate(`${path} is no file, and links are not followed`);
  if (sizeBytes > BYTES_MAX)
    throw new NoTemplate(`${path} has ${sizeBytes} bytes, at most ${BYTES_MAX} are read`);
  return { path, bytes: await tree.read(commit, file, BYTES_MAX) };
}
