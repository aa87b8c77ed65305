/**
 * This file runs git for a build. A machine that builds for many teams runs it contained: its network leads
 * to public addresses alone, whatever a repository names (submodules, redirects, endpoints), and its folders
 * have names that tell nothing of the machine. On a team's own machine git is a process of the host, because
 * it must reach what that team's network reaches.
 */
import { basename } from 'node:path';
import { fileBind } from './containment-script.ts';
import { containedCommand } from './contained-engine.ts';
import {
  call,
  cleanEnv,
  egressOf,
  giveToContainment,
  takeFromContainment,
  type BuildContext,
  type ContainedBuild,
} from './context.ts';
import { UNREACHABLE, watchRefusals } from '../network/refusals.ts';
import { BuildFailed } from './failure.ts';
import { gitAccess } from './git-access.ts';
import type { SourcePlan } from './plan.ts';
import { lastLines, type ProcessResult } from './process.ts';

/** In the containment, git finds the clone and its other files here. */
const FOLDER = '/git';
const CLONE = `${FOLDER}/clone`;
const REFUSED = `${UNREACHABLE}: on a machine that builds for many teams, git reaches public addresses alone, on its usual ports and the one in the address of the repository`;
const TRANSIENT =
  /could not resolve host|connection (?:timed out|refused|reset)|failed to connect|early EOF|hung up|RPC failed|returned error: 5\d\d|timed out|unexpected disconnect/i;

export interface GitCall {
  args: readonly string[];
  timeoutMs: number;
  abort: AbortSignal;
  /** The call may connect. */
  network: boolean;
}

export interface GitResult extends ProcessResult {
  /** It is for people; in a failure to connect from the containment it is the same whatever is there. */
  problem: string;
  /** Another try may help. */
  isTransient: boolean;
}

export interface Git {
  run(call: GitCall): Promise<GitResult>;
  /** Gives the clone back to this user, for what comes after. */
  close(): Promise<void>;
}

export async function openGit(context: BuildContext, source: SourcePlan): Promise<Git> {
  const { contained, plan } = context;
  return plan.shared && contained !== undefined
    ? await openContained(context, contained, source)
    : await openOnHost(context, source);
}

async function openOnHost(context: BuildContext, source: SourcePlan): Promise<Git> {
  const { clone, folder } = context.workspace;
  const access = await gitAccess(context, source, (path) => path);
  const env = { ...cleanEnv(context), ...access.env, GIT_CEILING_DIRECTORIES: folder };
  return {
    async run({ args, timeoutMs, abort }) {
      const result = await call(context, { argv: ['git', ...args], env, cwd: clone, timeoutMs, abort });
      const isTransient = result.failure !== undefined || TRANSIENT.test(result.tail);
      return { ...result, problem: lastLines(result), isTransient };
    },
    close: async () => undefined,
  };
}

async function openContained(
  context: BuildContext,
  contained: ContainedBuild,
  source: SourcePlan,
): Promise<Git> {
  const { clone } = context.workspace;
  const place = (path: string) => `${FOLDER}/${basename(path)}`;
  const { env, files } = await gitAccess(context, source, place);
  await giveToContainment(context, [clone, ...files]);
  const binds = [
    { source: clone, target: CLONE, directory: true, writable: true },
    ...files.map((path) => fileBind(path, place(path))),
  ];
  const run = async ({ args, network, ...limits }: GitCall): Promise<GitResult> => {
    const rules = egressOf(context, contained, 'public');
    const watch = watchRefusals({
      ...rules,
      ports: portsOf(source),
      refused(line, why) {
        // The failure says it, in the same words for all of them.
        if (why === 'failed') rules.refused(line, why);
      },
    });
    const result = await containedCommand(
      contained.host,
      {
        ...limits,
        argv: ['git', '-C', CLONE, ...args],
        binds,
        env: { ...env, GIT_CEILING_DIRECTORIES: FOLDER },
        name: context.workspace.name,
        caFile: context.caFile,
        limits: context.plan.limits,
        ...(network ? { egress: watch.rules } : {}),
      },
      context.control,
    );
    if (result.overMemory)
      throw new BuildFailed(`git was over the memory limit of ${context.plan.limits.memoryMb} MiB`, 137);
    if (watch.isUnreachable(result.tail)) return { ...result, problem: REFUSED, isTransient: false };
    const isTransient = watch.failed || result.failure !== undefined || TRANSIENT.test(result.tail);
    return { ...result, problem: lastLines(result), isTransient };
  };
  return { run, close: async () => await takeFromContainment(context, [clone]) };
}

/** Finds the usual ports, and the one that the address of the repository names. */
function portsOf({ url }: SourcePlan): number[] {
  const port = URL.canParse(url) ? Number(new URL(url).port) : 0;
  return port === 0 ? [] : [port];
}
