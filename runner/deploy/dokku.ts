/**
 * Deploys to the Dokku of this machine. Dokku keeps the earlier container until its own health checks have passed and takes care of ports and names.
 *
 * Its only way to set variables is by argument, so for a moment they are in the process list of this machine, which is why
 * it is told base64 and not the values; on a machine with other users the `container` target is the better one.
 */
import { call, cleanEnv, type BuildContext } from '../build/context.ts';
import { BuildFailed, MachineFailed } from '../build/failure.ts';
import { said, type ProcessResult } from '../build/process.ts';
import { findProgram } from '../executor/command.ts';
import type { Deployer } from './deployer.ts';

const QUICK_MS = 60_000;

export const dokkuDeployer: Deployer = {
  kind: 'dokku',
  async deploy(context, { target, image, env }) {
    const program = findProgram('dokku');
    if (program === undefined)
      throw new MachineFailed(
        'the deploy target is dokku and this machine has no dokku program; install Dokku or deploy as a container',
      );
    const dokku = async (
      args: readonly string[],
      options: { stdin?: string; slow?: boolean } = {},
    ): Promise<ProcessResult> =>
      await call(context, {
        argv: [program, ...args],
        env: { ...cleanEnv(context), HOME: context.env['HOME'] ?? context.workspace.home },
        onOutput: context.output,
        ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
        ...(options.slow === true ? {} : { timeoutMs: QUICK_MS }),
      });
    const must = async (
      args: readonly string[],
      options: { stdin?: string; slow?: boolean } = {},
    ): Promise<ProcessResult> => {
      const result = await dokku(args, options);
      if (result.code !== 0)
        throw new BuildFailed(`dokku ${args[0]} failed: ${said(result, 3)}`, result.code ?? 1);
      return result;
    };
    if ((await dokku(['apps:exists', target.app])).code !== 0) await must(['apps:create', target.app]);
    const login = loginOf(context, image);
    if (login !== undefined) await must(login.args, { stdin: login.password });
    const pairs = Object.entries(env).map(
      ([name, value]) => `${name}=${Buffer.from(value).toString('base64')}`,
    );
    if (pairs.length > 0) await must(['config:set', '--no-restart', '--encoded', target.app, ...pairs]);
    await must([
      'ports:set',
      target.app,
      `http:${target.hostPort === 0 ? 80 : target.hostPort}:${target.containerPort}`,
    ]);
    const deployed = await dokku(['git:from-image', target.app, image], { slow: true });
    // Dokku does nothing, and says so, when the same image is deployed again.
    if (deployed.code !== 0 && /No changes detected/i.test(deployed.tail))
      await must(['ps:rebuild', target.app], { slow: true });
    else if (deployed.code !== 0)
      throw new BuildFailed(`dokku git:from-image failed: ${said(deployed, 3)}`, deployed.code ?? 1);
    const [address] = (await must(['url', target.app])).stdout.trim().split('\n');
    return address === undefined || address === '' ? {} : { address };
  },
};

function loginOf(context: BuildContext, image: string): { args: string[]; password: string } | undefined {
  const target = context.plan.image;
  if (target?.password === undefined || !image.startsWith(`${target.host}/`)) return undefined;
  return {
    args: ['registry:login', '--password-stdin', target.host, target.username ?? ''],
    password: target.password,
  };
}
