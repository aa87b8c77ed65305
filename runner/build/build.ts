/**
 * Takes one build from its first phase to its last.
 *
 *   cloning → building → publishing → deploying (a deploy of an image that exists: deploying alone)
 *
 * Each phase is announced before it is entered, and entered only when the control plane has confirmed it: a
 * runner that cannot confirm may have lost the build to another one, and must not push or deploy any more.
 * Whatever ends the build, its processes, containers, clone and secrets are gone when `done` resolves.
 */
import { MachineFailed, BuildFailed } from './failure.ts';
import { monotonicMs } from '../platform/clock.ts';
import { errorText } from '../platform/errors.ts';
import { findProgram } from '../executor/command.ts';
import { engineArgv } from '../executor/engine.ts';
import { createOutputCap } from '../executor/output-cap.ts';
import type { Executor } from '../executor/executor.ts';
import type { Log } from '../platform/log.ts';
import type { RunningWork, StartContext, WorkOutcome } from '../work/run-work.ts';
import type { BuildPhase, WireBuildResult } from '../control-plane/wire.ts';
import { call, engineEnv, type BuildContext } from './context.ts';
import { admit, admitBuildpack, forgetDeployed, type Builder } from './builder.ts';
import { builderBase, inspectBuilt, type BuiltImage } from './built-image.ts';
import { BuildStopped, createControl, type BuildControl } from './control.ts';
import type { Admission, AppLimits, Deployers } from './deployer.ts';
import { detectRecipe, type Recipe } from './detect.ts';
import { checkSyntax } from './engine-syntax.ts';
import { cloneSource } from './git.ts';
import { buildImage, localTag } from './image.ts';
import { beginsWithImage } from './layer-reuse.ts';
import { packImage } from './pack.ts';
import { requireLocalRegistry } from './local-registry.ts';
import { tagOf, type BuildPlan, type DeployPlan, type SourcePlan } from './plan.ts';
import { pushImage } from './push.ts';
import { checkDockerfile } from './references.ts';
import { catalogueImage } from './sbom/image-catalogue.ts';
import { sbomReport } from './sbom/report.ts';
import { runSteps } from './steps.ts';
import type { TestDatabase, TestDatabases } from './test-database.ts';
import { destroyWorkspace, makeWorkspace, workspaceOf, type BuildHost } from './workspace.ts';

const GRACE_MS = 5_000;

export interface BuildOptions {
  host: BuildHost & { engine: NonNullable<BuildHost['engine']> };
  executor: Pick<Executor, 'start'>;
  /** Contains image builds on this machine. */
  builder: Builder;
  deployers: Pick<Deployers, 'of' | 'admit'>;
  /** Absent where this machine brings up no databases. */
  testDatabases: TestDatabases | undefined;
  env: NodeJS.ProcessEnv;
  caFile: string | undefined;
  deployAddress: string;
  deployLimits: AppLimits;
  log: Log;
}

export function startBuild(plan: BuildPlan, options: BuildOptions, start: StartContext): RunningWork {
  const control = createControl(plan.limits.timeoutSeconds * 1_000);
  const build = new Build(plan, { ...options, start, control });
  return {
    done: build.whole(),
    kill: (reason, graceMs) => control.stop(reason, graceMs ?? GRACE_MS),
  };
}

class Build {
  readonly #plan: BuildPlan;
  readonly #options: BuildOptions;
  readonly #start: StartContext;
  readonly #control: BuildControl;
  #context: BuildContext;
  readonly #begunMs = monotonicMs();
  readonly #result: WireBuildResult & { phases: NonNullable<WireBuildResult['phases']> } = { phases: [] };
  #phaseBegunMs = 0;
  #isOnImage = false;
  #admission: Admission | undefined;
  #testDatabase: Promise<TestDatabase | undefined> | undefined;

  constructor(plan: BuildPlan, options: BuildOptions & { start: StartContext; control: BuildControl }) {
    const { start, control } = options;
    this.#plan = plan;
    this.#options = options;
    this.#start = start;
    this.#control = control;
    const cap = createOutputCap(plan.limits.outputBytes);
    this.#context = {
      plan,
      control,
      workspace: workspaceOf(options.host, plan.id, plan.epoch),
      engine: options.host.engine,
      contained: undefined,
      runnerId: options.host.runnerId,
      env: options.env,
      caFile: options.caFile,
      // The runner's own lines do not count towards the limit, so that the last one, which says how the build
      // ended, is always stored.
      writeLine: async (line) => await start.onOutput('runner', Buffer.from(`==> ${line}\n`)),
      async output(stream, chunk) {
        for (const piece of cap.take(chunk)) await start.onOutput(stream, piece);
      },
    };
  }

  async whole(): Promise<WorkOutcome> {
    let outcome: WorkOutcome;
    try {
      await makeWorkspace(this.#context.workspace);
      // A team's own machine fetches what it deploys with its engine.
      if (this.#plan.source !== undefined || this.#plan.shared) await this.#enterContainment();
      if (this.#plan.deploy !== undefined) await this.#admitDeploy(this.#plan.deploy);
      await this.#phases();
      outcome = { reason: 'exit', exitCode: 0, durationMs: 0 };
    } catch (error) {
      outcome = { ...this.#outcomeOf(error), durationMs: 0 };
    }
    this.#leavePhase();
    this.#control.end();
    await this.#writeEnd(outcome);
    await this.#clean(outcome.exitCode === 0);
    // The time of the clean-up counts: the control plane meters until the report comes, and a difference
    // counts against this runner.
    const durationMs = Math.round(monotonicMs() - this.#begunMs);
    return { ...outcome, durationMs, build: this.#result };
  }

  /**
   * A cloned source is built where it cannot reach the machine; where that is impossible, a machine of the
   * service's pool refuses it.
   */
  async #enterContainment(): Promise<void> {
    const { builder } = this.#options;
    const isolation = await this.#control.race(builder.isolation());
    let line: string | undefined;
    try {
      line = admit(isolation, this.#plan.shared, builder.allowUncontained);
    } catch (error) {
      builder.noteRefusal(`builds: not contained on this machine, see svc-runner doctor`);
      throw error;
    }
    if (line !== undefined) await this.#context.writeLine(line);
    if (isolation.contained)
      this.#context = { ...this.#context, contained: await builder.open(isolation, this.#plan.team) };
  }

  /** Before anything is built: the deploy may be refused. */
  async #admitDeploy(target: DeployPlan): Promise<void> {
    const { deployers } = this.#options;
    this.#admission = await this.#control.race(deployers.admit(target, this.#plan.shared));
    for (const warning of this.#admission.warnings) await this.#context.writeLine(warning);
  }

  async #phases(): Promise<void> {
    const { source, deployImage, image, deploy } = this.#plan;
    const { id, epoch } = this.#plan;
    const tag = localTag(id, epoch);
    let deployed = deployImage;
    if (source !== undefined) {
      await requireLocalRegistry(this.#context);
      await this.#enter('cloning', `cloning ${source.url}, ${source.commit ?? source.branch}`);
      Object.assign(this.#result, await cloneSource(this.#context, source));
      await this.#context.writeLine(`at commit ${this.#result.commit}`);
      await this.#enter('building', `building with ${this.#plan.buildType}`);
      await this.#make(tag, source);
      deployed = tag;
    }
    if (image !== undefined && source !== undefined) {
      const listed = await this.#listPackages(tag);
      const built = await inspectBuilt(this.#context, tag, this.#isOnImage);
      const published = tagOf(image, this.#result.commit ?? '');
      await this.#enter('publishing', `pushing ${image.name}:${published}`);
      const pushed = await pushImage(this.#context, { tag, image: { ...image, tag: published }, built });
      Object.assign(this.#result, {
        ...pushed,
        // A control plane that does not ask for it refuses a word that it does not know.
        ...(image.commitInTag && { tag: published }),
        image: image.name,
        ...sbomReport(listed, { name: image.name, digest: pushed.digest }),
        ...this.#origin(built),
      });
      await this.#context.writeLine(`the registry confirmed ${this.#result.digest}`);
      deployed = `${image.name}@${this.#result.digest}`;
    }
    if (deploy === undefined || deployed === undefined) return;
    await this.#enter('deploying', `deploying ${deploy.app} as ${deploy.kind}`);
    const { address } = await this.#options.deployers.of(deploy.kind).deploy(this.#context, {
      target: deploy,
      image: deployed,
      ...(this.#result.buildType === 'dockerfile' ? { built: tag } : {}),
      env: { ...this.#plan.variables, ...this.#plan.secrets },
      bindAddress: this.#options.deployAddress,
      limits: this.#options.deployLimits,
      network: this.#admission?.network,
    });
    if (address === undefined) return;
    this.#result.address = address;
    await this.#context.writeLine(`${deploy.app} is up at ${address}`);
  }

  #origin({ platform, base }: BuiltImage): Pick<WireBuildResult, 'platform' | 'baseImages'> {
    const { buildType } = this.#result;
    const builder = buildType === 'buildpack' ? builderBase(this.#plan.builderImage) : [];
    const baseImages = [...builder, ...(base === undefined ? [] : [base])];
    return { ...(platform !== undefined && { platform }), ...(baseImages.length > 0 && { baseImages }) };
  }

  /** Lists the packages of the image as it was built; a build does not fail for want of a list. */
  async #listPackages(tag: string): Promise<Awaited<ReturnType<typeof catalogueImage>>> {
    const listed = await catalogueImage(this.#context, { image: tag, signal: this.#control.term });
    this.#control.check();
    const found =
      'problem' in listed ? `not listed: ${listed.problem}` : `${listed.catalogue.packages.length} found`;
    await this.#context.writeLine(`packages of the image: ${found}`);
    return listed;
  }

  async #make(tag: string, { buildPath, dockerfile, context: copied }: SourcePlan): Promise<void> {
    const context = this.#context;
    const deadlineMs = this.#begunMs + this.#plan.limits.timeoutSeconds * 1_000;
    const database = await this.#openTestDatabase();
    await runSteps(context, this.#options.executor, { deadlineMs, database });
    const pack = findProgram('pack');
    const recipe = await detectRecipe({
      clone: context.workspace.clone,
      buildPath,
      dockerfile,
      context: copied,
      wanted: this.#plan.buildType,
      pack: pack !== undefined,
    });
    this.#result.buildType = recipe.type;
    await context.writeLine(`build type ${recipe.type}`);
    if (recipe.type === 'buildpack')
      admitBuildpack(this.#plan.shared, this.#options.builder.allowUncontained);
    if (recipe.type === 'buildpack')
      await packImage(context, { program: pack ?? 'pack', folder: recipe.folder, tag });
    else if (hasDockerfile(recipe)) {
      const text = await checkDockerfile(recipe.dockerfile, this.#plan.variables);
      this.#isOnImage = beginsWithImage(text, this.#plan.source?.target);
      await checkSyntax(this.#options.host.engine.engine, text);
      await buildImage(context, recipe, tag);
    }
  }

  async #openTestDatabase(): Promise<TestDatabase | undefined> {
    const { testDatabase, steps } = this.#plan;
    if (testDatabase === undefined || steps.length === 0) return undefined;
    const { testDatabases } = this.#options;
    if (testDatabases === undefined)
      throw new BuildFailed(
        'the build has a test database, and this machine brings up none: start its runner with --databases',
      );
    await this.#context.writeLine(`test database ${testDatabase.image}`);
    this.#testDatabase = testDatabases.open(this.#plan, this.#context.contained !== undefined);
    return await this.#control.race(this.#testDatabase);
  }

  /** Announces the phase and waits until the control plane knows; the build may be stopped instead. */
  async #enter(phase: BuildPhase, line: string): Promise<void> {
    this.#control.check();
    this.#leavePhase();
    this.#result.phase = phase;
    this.#phaseBegunMs = monotonicMs();
    const entered = this.#start.enter(phase);
    const written = this.#context.writeLine(`${phase}: ${line}`);
    // Only phases with effects outside wait for the confirmation: before them a second grant of the build
    // would do no harm.
    if (phase === 'publishing' || phase === 'deploying') {
      await Promise.all([written, this.#control.race(entered)]);
      return;
    }
    entered.catch((error: unknown) =>
      this.#options.log.error({ problem: errorText(error) }, 'a phase cannot be noted'),
    );
    await written;
  }

  #leavePhase(): void {
    const { phase, phases } = this.#result;
    if (phase === undefined || phases.at(-1)?.phase === phase) return;
    phases.push({ phase, durationMs: Math.round(monotonicMs() - this.#phaseBegunMs) });
  }

  #outcomeOf(error: unknown): Omit<WorkOutcome, 'durationMs'> {
    const { cause } = this.#control;
    if (cause === 'timeout')
      return {
        reason: 'timeout',
        message: `the build was not done within ${this.#plan.limits.timeoutSeconds} s`,
      };
    if (cause !== undefined) return { reason: cause };
    if (error instanceof BuildFailed)
      return { reason: 'exit', exitCode: error.exitCode, message: error.message };
    const known = error instanceof MachineFailed || error instanceof BuildStopped;
    return {
      reason: 'engine_error',
      message: known ? error.message : `the runner failed: ${errorText(error)}`,
    };
  }

  async #writeEnd(outcome: WorkOutcome): Promise<void> {
    const text =
      outcome.exitCode === 0
        ? 'done'
        : `ended in ${this.#result.phase ?? 'the beginning'}: ${outcome.message ?? outcome.reason}`;
    // The output's file is broken then, and the result already says so.
    await this.#context.writeLine(text).catch(() => undefined);
  }

  async #clean(well: boolean): Promise<void> {
    const { host, builder, log } = this.#options;
    const { contained } = this.#context;
    const database = await this.#testDatabase?.catch(() => undefined);
    await database?.close();
    try {
      if (contained === undefined) await this.#forgetImage();
      await destroyWorkspace(contained === undefined ? host.engine : undefined, this.#context.workspace);
      if (contained !== undefined)
        await builder.close(contained, {
          tag: localTag(this.#plan.id, this.#plan.epoch),
          name: this.#context.workspace.name,
          well,
        });
      if (this.#result.phase === 'deploying') await forgetDeployed(host.engine.engine, builder.images);
    } catch (error) {
      log.error(
        { id: this.#plan.id, problem: errorText(error) },
        'a build is not cleaned up, the next start of the daemon tries again',
      );
    }
  }

  async #forgetImage(): Promise<void> {
    const { image, source, deploy } = this.#plan;
    const { phase } = this.#result;
    // Without a registry the deployed container runs this very image.
    const published = image !== undefined && source !== undefined;
    if (
      phase === undefined ||
      phase === 'cloning' ||
      (!published && phase === 'deploying' && deploy !== undefined)
    )
      return;
    const fresh = createControl(30_000);
    // The image does not exist when the build failed before making it.
    await call(
      { ...this.#context, control: fresh },
      {
        argv: engineArgv(this.#options.host.engine.engine, 'rmi', localTag(this.#plan.id, this.#plan.epoch)),
        env: engineEnv(this.#context),
      },
    ).catch(() => undefined);
    fresh.end();
  }
}

function hasDockerfile(recipe: Recipe): recipe is Recipe & { dockerfile: string } {
  return recipe.dockerfile !== undefined;
}
