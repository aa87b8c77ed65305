/** Brings up every executor that there is, as the daemon would, with a probe task in each. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { surveyExecutors, type ExecutorSurvey } from '../../executor/detect.ts';
import { detectIsolation, type Isolation } from '../../build/builder.ts';
import { detectAppIsolation, type AppIsolation } from '../../deploy/app-isolation.ts';
import { appsOutside } from '../../deploy/app-keeper.ts';
import type { BuildEngine } from '../../executor/executor.ts';
import { SILENT } from '../../platform/log.ts';
import { type CheckContext, type CheckGroup, type Finding, fail, ok, warn } from '../check.ts';

const DETAIL_LENGTH_MAX = 300;

export const executors: CheckGroup = async (context, check) => {
  let survey: ExecutorSurvey[] = [];
  await check('executor', async () => {
    survey = await look(context);
    return verdict(context, survey);
  });
  for (const { name, works, detail } of survey)
    await check(name, () => ({ status: works ? 'ok' : 'skip', detail: shortened(detail) }));
  const chosen = chosenOf(context, survey);
  if (chosen !== undefined) await check('task users', () => users(chosen));
  if (survey.length > 0) await check('builds', async () => await builds(context, survey));
  const engine = engineOf(context, survey);
  if (engine !== undefined) await check('apps', async () => await apps(context, engine));
};

/** Some engines answer a simple question with a page of text. */
function shortened(text: string): string {
  return text.length <= DETAIL_LENGTH_MAX
    ? text
    : `${text.slice(0, DETAIL_LENGTH_MAX / 2)} … ${text.slice(-DETAIL_LENGTH_MAX / 2)}`;
}

async function withScratch<T>(use: (scratch: string) => Promise<T>): Promise<T> {
  const scratch = await mkdtemp(join(tmpdir(), 'svc-runner-doctor-'));
  try {
    return await use(scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function look({ paths, settings }: CheckContext): Promise<ExecutorSurvey[]> {
  return await withScratch(
    async (scratch) =>
      await surveyExecutors({
        ...(settings.defaultImage === undefined ? {} : { defaultImage: settings.defaultImage }),
        dataDir: existsSync(paths.dataDir) ? paths.dataDir : scratch,
        // The id is the doctor's own, because the tasks of a running daemon must not be touched.
        runnerId: `doctor-${process.pid}`,
        log: () => undefined,
      }),
  );
}

/** Reports whether builds are contained on this machine, with advice when they are not. */
export function containmentFinding(engine: string, isolation: Isolation): Finding {
  const without = isolation.unread === undefined ? '' : `; Dockerfiles must do without ${isolation.unread}`;
  if (isolation.contained)
    return {
      status: isolation.flaws === undefined ? 'ok' : 'warn',
      detail: `${isolation.detail}${without}`,
      ...(isolation.flaws === undefined
        ? {}
        : { advice: `${isolation.flaws}; builds are held by the containment alone until then` }),
    };
  return warn(
    `images are built with ${engine}, and builds are not contained: ${isolation.why} (${isolation.engine})${without}`,
    `a Dockerfile can reach this machine, so a machine that builds for many teams refuses builds; ${isolation.flaws ?? 'mend what is named here'}`,
  );
}

function chosenOf(
  { settings: { executor: wanted } }: CheckContext,
  survey: readonly ExecutorSurvey[],
): ExecutorSurvey | undefined {
  return survey.find(({ name, works }) => works && (wanted === undefined || wanted === name));
}

function verdict(context: CheckContext, survey: readonly ExecutorSurvey[]): Finding {
  const { executor: wanted } = context.settings;
  const chosen = chosenOf(context, survey);
  if (chosen === undefined)
    return fail(
      wanted === undefined ? 'none works here' : `${wanted}, the only one allowed, does not work here`,
      'mend one of those below; podman is the simplest to install',
    );
  return ok(
    `runs use ${chosen.name}${wanted === undefined ? ', the strongest that works here' : ', as configured'}`,
  );
}

function users({ sharedUsers }: ExecutorSurvey): Finding {
  if (sharedUsers === undefined) return ok('each task has users of its own');
  return warn(
    'tasks are users of this machine, and all of them the same: one that leaves its container can touch what is of another',
    sharedUsers,
  );
}

function engineOf(
  { settings: { executor: wanted } }: CheckContext,
  survey: readonly ExecutorSurvey[],
): BuildEngine | undefined {
  return survey.find(
    ({ name, works, buildEngine }) =>
      works && buildEngine !== undefined && (wanted === undefined || wanted === name),
  )?.buildEngine;
}

/** Reports whether apps are contained on this machine, and which of this runner are not. */
export function appsFinding(isolation: AppIsolation, open: boolean, outside: readonly string[]): Finding {
  if (!isolation.contained)
    return warn(
      `apps are not contained: ${isolation.why}`,
      'a deployed app can reach this machine and its site, so a machine that many teams deploy to refuses deploys; mend what is named here',
    );
  if (open)
    return warn(
      'apps have the network of the engine, as configured: they reach this machine and its site',
      'without --app-network open each has a network of its own; deploy it again after that',
    );
  if (outside.length > 0)
    return warn(
      `no network of their own have apps of an earlier version: ${outside.join(', ')}`,
      'deploy them again',
    );
  return ok(isolation.detail);
}

/**
 * Proves the containment as the daemon does before its first deploy, with rules and a network of the doctor's
 * own.
 */
async function apps({ settings, paths, config }: CheckContext, engine: BuildEngine): Promise<Finding> {
  return await withScratch(async (scratch) => {
    const dataDir = existsSync(paths.dataDir) ? paths.dataDir : scratch;
    const isolation = await detectAppIsolation({
      buildEngine: engine,
      runnerId: 'doctor',
      dataDir,
      log: SILENT,
    });
    const outside =
      isolation.contained && config !== undefined ? await appsOutside(engine.engine, config.runnerId) : [];
    return appsFinding(isolation, settings.appNetwork === 'open', outside);
  });
}

/** Runs a real build that attempts to escape, as the daemon's first one does. */
async function builds(context: CheckContext, survey: readonly ExecutorSurvey[]): Promise<Finding> {
  const { paths } = context;
  const buildEngine = engineOf(context, survey);
  if (buildEngine !== undefined) {
    return await withScratch(async (scratch) =>
      containmentFinding(
        buildEngine.engine.name,
        await detectIsolation({ buildEngine, dataDir: existsSync(paths.dataDir) ? paths.dataDir : scratch }),
      ),
    );
  }
  return warn(
    'no container engine works here, so this runner takes sandbox runs and no builds',
    'install podman (apt-get install podman) if this machine is to build images',
  );
}
