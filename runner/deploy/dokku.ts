/**
 * Deploys to the Dokku of this machine. Dokku keeps the earlier container until its own health checks have
 * passed and takes care of ports and names.
 *
 * It takes variables by argument only, so for a moment they are in the process list of this machine. That is
 * why they are passed in base64; on a machine with other users the `container` target is the better one.
 */
import { call, cleanEnv, type BuildContext } from '../build/context.ts';
import { BuildFailed, MachineFailed } from '../build/failure.ts';
import { lastLines, type ProcessOptions, type ProcessResult } from '../build/process.ts';
import { findProgram } from '../executor/command.ts';
import type { Deployer, DeployRequest } from '../build/deployer.ts';
import { ownedByAnother } from './app-owner.ts';
import { CERTIFICATE_VARIABLE, DOMAINS_VARIABLE } from './dokku-domains.ts';
import { changesOfStorage, ENVIRONMENT_VARIABLE as ENVIRONMENT } from './dokku-host.ts';

const QUICK_MS = 60_000;
/**
 * Two variables that a deploy adds to the app's own configuration: the names of the variables that it set,
 * between spaces, and its environment. Dokku only adds variables, and those that a person or a plugin set (a
 * database's address) must stay: a variable that is in this list and not in the deploy any more is unset, and
 * no other. An app without the list was deployed by an earlier version: nothing is unset at first.
 */
const VARIABLES = 'SVC_DEPLOYED_VARIABLES';
const KEPT = [VARIABLES, ENVIRONMENT, DOMAINS_VARIABLE, CERTIFICATE_VARIABLE];

interface CallOptions {
  stdin?: string;
  slow?: boolean;
  /** Takes the output instead of the build's own. */
  onOutput?: ProcessOptions['onOutput'];
}

type Call = (args: readonly string[], options?: CallOptions) => Promise<ProcessResult>;

export const dokkuDeployer: Deployer = {
  kind: 'dokku',
  async deploy(context, request) {
    const { target, image, env } = request;
    const program = findProgram('dokku');
    if (program === undefined)
      throw new MachineFailed(
        'the deploy target is dokku and this machine has no dokku program; install Dokku or deploy as a container',
      );
    const { app, environment } = target;
    const dokku = async (args: readonly string[], options: CallOptions = {}): Promise<ProcessResult> =>
      await call(context, {
        argv: [program, ...args],
        env: { ...cleanEnv(context), HOME: context.env['HOME'] ?? context.workspace.home },
        onOutput: options.onOutput ?? context.output,
        ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
        ...(options.slow === true ? {} : { timeoutMs: QUICK_MS }),
      });
    const must = async (args: readonly string[], options: CallOptions = {}): Promise<ProcessResult> => {
      const result = await dokku(args, options);
      if (result.code !== 0)
        throw new BuildFailed(`dokku ${args[0]} failed: ${lastLines(result, 3)}`, result.code ?? 1);
      return result;
    };
    const taken = Object.keys(env).find((name) => KEPT.includes(name));
    if (taken !== undefined)
      throw new BuildFailed(`variable ${taken} is what deploys to Dokku keep for themselves; rename it`);
    const there = (await dokku(['apps:exists', app])).code === 0;
    const noted = there ? await notesOf(must, app) : { environment: '', variables: [] };
    if (environment !== undefined && noted.environment !== '' && noted.environment !== environment)
      throw new BuildFailed(ownedByAnother(app, environment, noted.environment));
    if (!there) await must(['apps:create', app]);
    const login = loginOf(context, image);
    if (login !== undefined) await must(login.args, { stdin: login.password });
    await setVariables(must, request, noted.variables);
    for (const args of changesOfStorage(target, await outputOf(must, ['storage:list', app])))
      await must(args);
    await must([
      'ports:set',
      app,
      `http:${target.hostPort === 0 ? 80 : target.hostPort}:${target.containerPort}`,
    ]);
    const deployed = await dokku(['git:from-image', app, image], { slow: true });
    // When the same image is deployed again, Dokku does nothing and reports that.
    if (deployed.code !== 0 && /No changes detected/i.test(deployed.tail))
      await must(['ps:rebuild', app], { slow: true });
    else if (deployed.code !== 0)
      throw new BuildFailed(`dokku git:from-image failed: ${lastLines(deployed, 3)}`, deployed.code ?? 1);
    const [address] = (await must(['url', app])).stdout.trim().split('\n');
    return address === undefined || address === '' ? {} : { address };
  },
};

async function outputOf(must: Call, args: readonly string[]): Promise<string> {
  const parts: Uint8Array[] = [];
  const onOutput = async (stream: 'stdout' | 'stderr', chunk: Uint8Array) => {
    if (stream === 'stdout') parts.push(chunk);
  };
  await must(args, { onOutput });
  return Buffer.concat(parts).toString();
}

/** Reads the variables of the last deploy's list that still exist, and its environment. */
async function notesOf(must: Call, app: string): Promise<{ environment: string; variables: string[] }> {
  const ask = async (args: readonly string[]): Promise<string> => await outputOf(must, args);
  const keys = (await ask(['config:keys', app])).split('\n').map((line) => line.trim());
  // Dokku's failure for a variable that is not set cannot be told from others.
  const valueOf = async (name: string) =>
    keys.includes(name) ? (await ask(['config:get', app, name])).trim() : '';
  const variables = (await valueOf(VARIABLES)).split(' ');
  return {
    environment: await valueOf(ENVIRONMENT),
    variables: variables.filter((name) => name !== '' && keys.includes(name)),
  };
}

/** @param earlier Names that the last deploy set. */
async function setVariables(
  must: Call,
  { target: { app, environment }, env }: DeployRequest,
  earlier: readonly string[],
): Promise<void> {
  const names = Object.keys(env);
  const gone = earlier.filter((name) => !names.includes(name));
  // The list of names is written afterwards: a crash in between must not lose a name that was set here.
  if (gone.length > 0) await must(['config:unset', '--no-restart', app, ...gone]);
  const values = {
    ...env,
    [VARIABLES]: names.join(' '),
    ...(environment === undefined ? {} : { [ENVIRONMENT]: environment }),
  };
  const pairs = Object.entries(values).map(
    ([name, value]) => `${name}=${Buffer.from(value).toString('base64')}`,
  );
  await must(['config:set', '--no-restart', '--encoded', app, ...pairs]);
}

function loginOf(context: BuildContext, image: string): { args: string[]; password: string } | undefined {
  const target = context.plan.image;
  if (target?.password === undefined || !image.startsWith(`${target.host}/`)) return undefined;
  return {
    args: ['registry:login', '--password-stdin', target.host, target.username ?? ''],
    password: target.password,
  };
}
