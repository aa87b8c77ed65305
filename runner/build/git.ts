/**
 * Clones one commit of an untrusted repository.
 *
 * git gets an empty home, no system or user configuration, no hooks, no filters, no helpers, and only the protocols of the plan. A token is passed by
 * GIT_ASKPASS, a key by a file, both in the build's private folder; neither is ever in an argument, an address or a log. git runs nothing of the clone.
 */
import { pause } from '../platform/clock.ts';
import { runCommand } from '../executor/command.ts';
import { quoteShell } from '../executor/launcher.ts';
import { call, cleanEnv, type BuildContext } from './context.ts';
import { BuildFailed, MachineFailed, withRetries } from './failure.ts';
import type { SourcePlan } from './plan.ts';
import { lastLines, type ProcessResult } from './process.ts';
import { writeSecret } from './workspace.ts';

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
  // Only the first request may be redirected to another host, as hosting services do for a renamed repository; the token is asked for by host.
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

/** Returns the commit that the working tree is at. */
export async function cloneSource(context: BuildContext, source: SourcePlan): Promise<string> {
  const env = await gitEnv(context, source);
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const git = async (timeoutMs: number, ...args: string[]): Promise<ProcessResult> => {
    const watched = watchSize(context);
    const result = await call(context, {
      argv: ['git', ...settings, ...args],
      env,
      cwd: context.workspace.clone,
      timeoutMs,
      abort: watched.over,
    }).finally(() => watched.stop());
    if (watched.over.aborted) throw new BuildFailed(TOO_LARGE, 128);
    return result;
  };
  const local = async (...args: string[]): Promise<string> => {
    const result = await git(LOCAL_MS, ...args);
    if (result.code !== 0)
      throw new BuildFailed(`git ${args[0]} failed: ${lastLines(result)}`, result.code ?? 128);
    return result.stdout.trim();
  };
  const fetch = async (depth: number, what: string): Promise<ProcessResult> =>
    await withRetries(
      async () => {
        const args = [
          'fetch',
          '--quiet',
          `--depth=${depth}`,
          '--no-tags',
          '--no-recurse-submodules',
          '--',
          source.url,
          what,
        ];
        const result = await git(FETCH_MS, ...args);
        if (result.code !== 0 && isTransient(result))
          throw new MachineFailed(`git fetch failed: ${lastLines(result)}`);
        return result;
      },
      {
        note: context.writeLine,
        wait: async (ms) => await context.control.race(pause(ms, context.control.term)),
      },
    );

  await local('init', '--quiet', '--template=', '.');
  const head = await fetchCommit(context, source, { fetch, local });
  await local('checkout', '--quiet', '--force', '--detach', head);
  const commit = await local('rev-parse', 'HEAD');
  if (source.submodules) {
    await local('remote', 'add', 'origin', source.url);
    const result = await git(
      FETCH_MS,
      'submodule',
      'update',
      '--init',
      '--recursive',
      '--depth=1',
      '--quiet',
    );
    if (result.code !== 0)
      throw new BuildFailed(`submodules cannot be fetched: ${lastLines(result)}`, result.code ?? 128);
  }
  return commit;
}

interface Fetching {
  fetch: (depth: number, what: string) => Promise<ProcessResult>;
  local: (...args: string[]) => Promise<string>;
}

/** Returns the revision to check out. */
async function fetchCommit(
  context: BuildContext,
  source: SourcePlan,
  { fetch, local }: Fetching,
): Promise<string> {
  const { commit, branch } = source;
  const ref = `refs/heads/${branch}`;
  if (commit === undefined) {
    const result = await fetch(1, ref);
    if (result.code !== 0) throw fetchFailed(source, `branch ${branch}`, result);
    return 'FETCH_HEAD';
  }
  const direct = await fetch(1, commit);
  if (direct.code === 0) return commit;
  if (
    !/not our ref|unadvertised object|no such remote ref|couldn't find remote ref|does not allow request/i.test(
      direct.tail,
    )
  )
    throw fetchFailed(source, `commit ${commit}`, direct);
  await context.writeLine(
    `the server does not hand out single commits, looking for ${commit} on branch ${branch}`,
  );
  for (const depth of DEPTHS) {
    const result = await fetch(depth, ref);
    if (result.code !== 0) throw fetchFailed(source, `branch ${branch}`, result);
    const there = await local('cat-file', '-e', `${commit}^{commit}`).then(
      () => true,
      () => false,
    );
    context.control.check();
    if (there) return commit;
  }
  throw new BuildFailed(
    `commit ${commit} is not among the last ${DEPTHS.at(-1)} commits of branch ${branch}, and the server does not hand out single commits`,
    128,
  );
}

function fetchFailed(source: SourcePlan, what: string, result: ProcessResult): BuildFailed {
  const why = lastLines(result, 3);
  const hint =
    /Authentication failed|could not read (?:Username|Password)|terminal prompts disabled|Permission denied|HTTP (?:401|403)|returned error: (?:401|403)/i.test(
      result.tail,
    )
      ? source.token === undefined && source.sshKey === undefined
        ? '; the repository asks for credentials and the build has none: register git credentials for this host'
        : '; the git credentials were refused: check that they are valid and may read this repository'
      : /Host key verification failed|No .* host key is known/i.test(result.tail)
        ? '; the host key is not in the known hosts of the git credentials'
        : '';
  return new BuildFailed(`${what} of ${source.url} cannot be fetched: ${why}${hint}`, result.code ?? 128);
}

function isTransient(result: ProcessResult): boolean {
  return (
    result.failure !== undefined ||
    /could not resolve host|connection (?:timed out|refused|reset)|failed to connect|early EOF|hung up|RPC failed|returned error: 5\d\d|timed out|unexpected disconnect/i.test(
      result.tail,
    )
  );
}

async function gitEnv(context: BuildContext, source: SourcePlan): Promise<Record<string, string>> {
  const { workspace } = context;
  const askpass = await writeAskpass(context, source);
  return {
    ...cleanEnv(context),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_ASKPASS: askpass,
    SSH_ASKPASS: '/bin/false',
    GIT_ALLOW_PROTOCOL: source.transport === 'http' ? 'http:https:ssh' : 'https:ssh',
    GIT_SSH_COMMAND: await sshCommand(context, source),
    GIT_CEILING_DIRECTORIES: workspace.folder,
  };
}

/** Answers git's two questions, compared as whole texts, for the plan's own host and port only: a submodule or a redirect elsewhere gets nothing. */
async function writeAskpass(context: BuildContext, source: SourcePlan): Promise<string> {
  const { workspace } = context;
  const answers = [];
  if (source.token !== undefined) {
    const user = await writeSecret(workspace, { name: 'git-username', text: source.username ?? 'git' });
    const token = await writeSecret(workspace, { name: 'git-token', text: source.token });
    // Submodules of a repository on ssh may use https of the same host.
    const scheme = source.transport === 'http' ? 'http' : 'https';
    const username = quoteShell(`Username for '${scheme}://${source.host}': `);
    const password = [`Password for '${scheme}://`, `@${source.host}': `].map(quoteShell).join('*');
    answers.push(
      `  ${username}) exec cat ${quoteShell(user)} ;;`,
      `  ${password}) exec cat ${quoteShell(token)} ;;`,
    );
  }
  const script = ['#!/bin/sh', 'case "$1" in', ...answers, '  *) exit 1 ;;', 'esac', ''].join('\n');
  return await writeSecret(workspace, { name: 'askpass', text: script, mode: 0o700 });
}

async function sshCommand(context: BuildContext, source: SourcePlan): Promise<string> {
  const { workspace } = context;
  const knownHosts = await writeSecret(workspace, {
    name: 'known-hosts',
    text: `${(source.knownHosts ?? '').trim()}\n`,
  });
  const options = [
    '-F',
    '/dev/null',
    '-o',
    'BatchMode=yes',
    '-o',
    'StrictHostKeyChecking=yes',
    '-o',
    `UserKnownHostsFile=${knownHosts}`,
    '-o',
    'GlobalKnownHostsFile=/dev/null',
    '-o',
    'UpdateHostKeys=no',
    '-o',
    'IdentityAgent=none',
    '-o',
    'ForwardAgent=no',
    '-o',
    'PermitLocalCommand=no',
    '-o',
    'ConnectTimeout=30',
  ];
  if (source.sshKey !== undefined) {
    const key = await writeSecret(workspace, { name: 'ssh-key', text: `${source.sshKey.trim()}\n` });
    options.push('-o', 'IdentitiesOnly=yes', '-i', key);
  }
  return ['ssh', ...options].map(quoteShell).join(' ');
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
