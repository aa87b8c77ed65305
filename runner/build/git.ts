/**
 * Clones one commit of an untrusted repository.
 *
 * git gets an empty home, no system or user configuration, no hooks, no filters, no helpers, and only the
 * protocols of the plan. It runs nothing of the clone.
 */
import { runCommand } from '../executor/command.ts';
import type { BuildContext } from './context.ts';
import { BuildFailed } from './failure.ts';
import { accessHint, persistently, type CloneCalls } from './git-calls.ts';
import { fetchLfs } from './git-lfs.ts';
import { openGit, type Git, type GitCall, type GitResult } from './git-process.ts';
import type { SourcePlan } from './plan.ts';

/** Time limit of each try of the whole fetch. */
const FETCH_MS = 600_000;
/** Time limit of local commands. */
const LOCAL_MS = 120_000;
/** Largest clone with its working tree, in MiB. */
const CLONE_MB_MAX = 4_096;
const LOOK_MS = 1_000;
/** Depths to search for a commit where the server hands out branches only. */
const DEPTHS = [50, 1_000];
const TOO_LARGE = `the clone is larger than ${CLONE_MB_MAX} MB, the limit of a build`;

const SETTINGS = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.askPass': '',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'credential.helper': '',
  // Only the first request may be redirected to another host, as hosting services do for a renamed
  // repository; the token is asked for by host.
  'http.followRedirects': 'initial',
  'http.lowSpeedLimit': '1000',
  'http.lowSpeedTime': '60',
  'filter.lfs.smudge': '',
  'filter.lfs.clean': '',
  'filter.lfs.process': '',
  'filter.lfs.required': 'false',
  'submodule.recurse': 'false',
  'protocol.file.allow': 'never',
  'protocol.ext.allow': 'never',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'advice.detachedHead': 'false',
};

export interface Cloned {
  commit: string;
  /** Full name of the branch or tag that was cloned; absent for a commit that was named. */
  ref?: string;
}

export async function cloneSource(context: BuildContext, source: SourcePlan): Promise<Cloned> {
  const opened = await openGit(context, source);
  const calls = callsOf(context, opened);
  const { local } = calls;
  await local('init', '--quiet', '--template=', '.');
  await local('remote', 'add', 'origin', source.url);
  const { head, ref } = await fetchCommit(context, source, calls);
  await local('checkout', '--quiet', '--force', '--detach', head);
  const commit = await local('rev-parse', 'HEAD');
  if (source.submodules) await fetchSubmodules(source, calls);
  await fetchLfs(context, source, calls);
  await opened.close();
  return { commit, ...(ref === undefined ? {} : { ref }) };
}

function callsOf(context: BuildContext, opened: Git): CloneCalls {
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const git = async (options: Pick<GitCall, 'timeoutMs' | 'network'>, args: string[]) => {
    const watched = watchSize(context);
    const result = await opened
      .run({ ...options, args: [...settings, ...args], abort: watched.over })
      .finally(() => watched.stop());
    if (watched.over.aborted) throw new BuildFailed(TOO_LARGE, 128);
    return result;
  };
  const attempt = async (...args: string[]) => await git({ timeoutMs: LOCAL_MS, network: false }, args);
  return {
    attempt,
    async local(...args) {
      const result = await attempt(...args);
      if (result.code !== 0)
        throw new BuildFailed(`git ${args[0]} failed: ${result.problem}`, result.code ?? 128);
      return result.stdout.trim();
    },
    remote: async (...args) => await git({ timeoutMs: FETCH_MS, network: true }, args),
  };
}

/** Returns the revision to check out, and the full name by which it was found. */
async function fetchCommit(
  context: BuildContext,
  source: SourcePlan,
  { local, remote }: CloneCalls,
): Promise<{ head: string; ref?: string }> {
  const { commit, branch, cloneDepth } = source;
  const fetch = async (depth: number, what: string): Promise<GitResult> =>
    await persistently(context, 'git fetch', async () => {
      const flags = ['--quiet', `--depth=${depth}`, '--no-recurse-submodules'];
      const tags = source.tags ? [] : ['--no-tags'];
      return await remote('fetch', ...flags, ...tags, '--', source.url, refspecOf(what, source.tags));
    });
  const fetchNamed = async (depth: number): Promise<string> => {
    const refs = refsOf(branch);
    for (const [at, ref] of refs.entries()) {
      const result = await fetch(depth, ref);
      if (result.code === 0) return ref;
      if (at === refs.length - 1 || !MISSING.test(result.tail))
        throw fetchFailed(source, describeRef(branch), result);
    }
    throw new Error(`${branch} stands for nothing`);
  };
  if (commit === undefined) return { ref: await fetchNamed(cloneDepth), head: 'FETCH_HEAD' };
  const direct = await fetch(cloneDepth, commit);
  if (direct.code === 0) return { head: commit };
  if (!MISSING.test(direct.tail)) throw fetchFailed(source, `commit ${commit}`, direct);
  const named = describeRef(branch);
  await context.writeLine(`the server does not hand out single commits, looking for ${commit} on ${named}`);
  for (const depth of DEPTHS) {
    await fetchNamed(Math.max(depth, cloneDepth));
    const there = await local('cat-file', '-e', `${commit}^{commit}`).then(
      () => true,
      () => false,
    );
    context.control.check();
    if (there) return { head: commit };
  }
  throw new BuildFailed(
    `commit ${commit} is not among the last ${Math.max(DEPTHS.at(-1) ?? 0, cloneDepth)} commits of ${named}, and the server does not hand out single commits`,
    128,
  );
}

const MISSING =
  /not our ref|unadvertised object|no such remote ref|couldn't find remote ref|does not allow request/i;

/** The branch comes first. */
function refsOf(name: string): string[] {
  return name.startsWith('refs/') ? [name] : [`refs/heads/${name}`, `refs/tags/${name}`];
}

function describeRef(name: string): string {
  const [, kind, short] = /^refs\/(heads|tags)\/(.*)$/s.exec(name) ?? [];
  if (kind === undefined) return `branch or tag ${name}`;
  return `${kind === 'tags' ? 'tag' : 'branch'} ${short}`;
}

/**
 * git fetches the tags of what it gets only where that gets a name. A tag has its own name, for what asks git
 * for it.
 */
function refspecOf(what: string, tags: boolean): string {
  if (what.startsWith('refs/tags/')) return `+${what}:${what}`;
  return tags ? `+${what}:refs/remotes/origin/${what.replace(/^refs\/heads\//, '')}` : what;
}

async function fetchSubmodules(source: SourcePlan, { remote }: CloneCalls): Promise<void> {
  const flags = ['--init', '--recursive', '--depth=1', '--quiet'];
  const result = await remote('submodule', 'update', ...flags);
  if (result.code === 0) return;
  const [, url = source.url] = /clone of '([^']+)' into submodule path/.exec(result.tail) ?? [];
  throw new BuildFailed(
    `submodules cannot be fetched: ${result.problem}${accessHint(source, url, result.tail)}`,
    result.code ?? 128,
  );
}

function fetchFailed(source: SourcePlan, what: string, result: GitResult): BuildFailed {
  return new BuildFailed(
    `${what} of ${source.url} cannot be fetched: ${result.problem}${accessHint(source, source.url, result.tail)}`,
    result.code ?? 128,
  );
}

/** git has no limit of its own: this aborts the fetch as soon as the folder has grown too large. */
function watchSize(context: BuildContext): { stop: () => void; over: AbortSignal } {
  const { clone } = context.workspace;
  const over = new AbortController();
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking || over.signal.aborted) return;
    looking = true;
    const used = await runCommand(['du', '-sm', clone], { timeoutMs: LOCAL_MS });
    looking = false;
    if (Number(used.stdout.split('\t')[0]) > CLONE_MB_MAX) over.abort(TOO_LARGE);
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  return { stop: () => clearInterval(timer), over: over.signal };
}
