/**
 * Makes the context of a build for tests of one phase: a real workspace, programs that record their
 * arguments, and no engine.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Deployers } from '../../../runner/build/deployer.ts';
import type { Builder } from '../../../runner/build/builder.ts';
import type { BuildContext } from '../../../runner/build/context.ts';
import { createControl } from '../../../runner/build/control.ts';
import { planOf, type BuildPlan, type ImagePlan } from '../../../runner/build/plan.ts';
import { makeWorkspace, workspaceOf } from '../../../runner/build/workspace.ts';
import { createTeamImages } from '../../../runner/executor/team-images.ts';
import { createDeployers, type DeployersOptions } from '../../../runner/deploy/deployers.ts';
import type { BuildEngine } from '../../../runner/executor/executor.ts';
import type { Log } from '../../../runner/platform/log.ts';
import { collectedLog } from './collected-log.ts';
import { ENGINE_TIMEOUTS, type EngineName } from '../../../runner/executor/engine.ts';
import type { BuildOffer } from '../../../runner/control-plane/wire.ts';
import { tempDir } from './temp-dir.ts';

/** An offer of a build whose source nothing looks at. */
export const SOURCE: Partial<BuildOffer> = {
  source: { repository: 'https://git.example/x.git', branch: 'main' },
};

/** Plans a push to the registry. */
export const imageAt = (host: string, changes: Partial<ImagePlan> = {}): ImagePlan => ({
  host,
  home: `${host}/acme`,
  name: `${host}/acme/web`,
  tag: '1',
  insecure: false,
  guarded: false,
  commitInTag: false,
  local: false,
  ...changes,
});

export const dockerfileIn = (folder: string) =>
  ({ type: 'dockerfile', folder, dockerfile: join(folder, 'Dockerfile') }) as const;

/** Returns this part of a plan, which the offer of the test has. */
export function planned<Part extends 'source' | 'image' | 'deploy'>(
  plan: BuildPlan,
  part: Part,
): NonNullable<BuildPlan[Part]> {
  const { [part]: found } = plan;
  if (found === undefined) throw new Error(`the plan has no ${part}`);
  return found;
}

export interface TestContext extends BuildContext {
  /** All lines and output together. */
  text(): string;
  /** Makes a program of this name that records its arguments, a line each, and then runs the script. */
  fake(name: string, script?: string): string;
  /** Calls of a fake, each with its arguments. */
  calls(name: string): string[][];
}

export async function testContext(
  offer: Partial<BuildOffer> = SOURCE,
  engine: EngineName = 'podman',
): Promise<TestContext> {
  const dataDir = tempDir();
  const bin = join(dataDir, 'bin');
  mkdirSync(bin);
  const host = {
    dataDir,
    runnerId: 'rnr_test',
    engine: {
      engine: {
        name: engine,
        program: join(bin, engine),
        timeouts: ENGINE_TIMEOUTS,
        processesPerUser: 1_024,
      },
      rootless: false,
      privateFolder: join(dataDir, 'private'),
      stepImage: 'localhost/none:1',
    },
  };
  const plan = planOf({ id: `bld_${process.pid}`, epoch: 1, ...offer }, { allowInsecureGit: true });
  const workspace = workspaceOf(host, plan.id, plan.epoch);
  await makeWorkspace(workspace);
  const control = createControl(60_000);
  onTestFinished(() => control.end());
  const parts: string[] = [];
  return {
    plan,
    workspace,
    control,
    engine: host.engine,
    contained: undefined,
    runnerId: host.runnerId,
    env: { PATH: `${bin}:${process.env['PATH']}`, HOME: '/nowhere' },
    caFile: undefined,
    writeLine: async (line) => void parts.push(`==> ${line}\n`),
    output: async (_stream, chunk) => void parts.push(Buffer.from(chunk).toString()),
    text: () => parts.join(''),
    fake(name, script = 'exit 0') {
      const path = join(bin, name);
      const log = join(dataDir, `${name}.calls`);
      writeFileSync(
        path,
        `#!/bin/sh\n{ for word; do printf '%s\\n' "$word"; done; echo; } >>'${log}'\n${script}\n`,
      );
      chmodSync(path, 0o755);
      return path;
    },
    calls(name) {
      const log = join(dataDir, `${name}.calls`);
      if (!existsSync(log)) return [];
      return readFileSync(log, 'utf8')
        .split('\n\n')
        .filter((call) => call !== '')
        .map((call) => call.split('\n'));
    },
  };
}

/** The builder of a machine that cannot contain builds. */
export function uncontainedBuilder(): Builder {
  return {
    allowUncontained: false,
    images: createTeamImages(tempDir()),
    notReady: () => [],
    noteRefusal: () => undefined,
    isolation: async () => ({ contained: false, why: 'no namespaces here', engine: 'podman 5.3.2' }),
    open: () => Promise.reject(new Error('nothing is contained here')),
    close: async () => undefined,
  };
}

/** As a daemon without flags has them. */
export function testDeployers(
  buildEngine: BuildEngine,
  dataDir: string,
  { log = collectedLog(), ...changes }: Partial<DeployersOptions['settings']> & { log?: Log } = {},
): Deployers {
  const settings = {
    allowEgress: [],
    allowUncontainedApps: false,
    allowMount: [],
    appNetwork: 'contained' as const,
  };
  return createDeployers({
    executor: { buildEngine },
    settings: { ...settings, ...changes },
    dataDir,
    runnerId: 'rnr_test',
    log,
  });
}
