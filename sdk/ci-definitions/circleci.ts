/** Reads `.circleci/config.yml` into one pipeline per workflow. */
import { sign, signOfCommands, signOfName, signOfPart, signsOf, type Signs } from './deploy.ts';
import { at, entriesOf, itemsOf, textOf, wordsOf, type Entry, type Node } from './node.ts';
import { pipelineOf, refuse, rootOf, warn, type JobDraft, type Reading } from './reading.ts';
import type { DefinedPipeline, DeployEvidence } from './types.ts';

/** Each of them goes through the steps of its jobs. */
const WORKFLOWS_MAX = 200;

export function readCircleci(reading: Reading): readonly DefinedPipeline[] {
  const root = rootOf(reading);
  if (root === undefined) return [];
  const orbs = orbsOf(root);
  const shared: Shared = {
    commands: new Map(),
    includes: [...orbs.values()],
    dynamic: textOf(at(root, 'setup')) === 'true',
    partial: textOf(at(root, 'setup')) === 'true',
  };
  const workflows = entriesOf(at(root, 'workflows')).filter(({ key }) => key !== 'version');
  if (workflows.length > WORKFLOWS_MAX)
    warn(reading, workflows[0]?.value, `${workflows.length} workflows, of which ${WORKFLOWS_MAX} are read`);
  if (workflows.length > 0)
    return workflows
      .slice(0, WORKFLOWS_MAX)
      .map((entry) => readWorkflow(reading, { root, orbs, ...shared }, entry));
  const jobs = at(root, 'jobs');
  const build = entriesOf(jobs).find(({ key }) => key === 'build') ?? entriesOf(jobs)[0];
  if (build === undefined) return refuse(reading, root, 'neither "workflows" nor "jobs"');
  // Without workflows the job `build` is run.
  const signs = signsOf(reading);
  signOfJob({ root, orbs, signs, seen: new Set(), commands: shared.commands }, build.key, build.line);
  const job = { name: build.key, line: build.line, matrix: isParallel(build.value) };
  return [pipelineOf(reading, { jobs: [job], triggers: ['push'], signs, ...shared })];
}

/** A search looks for signs of a deployment in one workflow. */
interface Search {
  readonly root: Node;
  readonly orbs: ReadonlyMap<string, string>;
  readonly signs: Signs;
  /** Jobs and commands that were looked into: each says the same whoever calls it. */
  readonly seen: Set<string>;
  readonly commands: Shared['commands'];
}

interface Shared {
  readonly includes: readonly string[];
  readonly dynamic: boolean;
  readonly partial: boolean;
  /**
   * Signs of each command of the file, found once, because workflows by the hundred may run the same ones.
   */
  readonly commands: Map<Node, readonly DeployEvidence[]>;
}

function readWorkflow(
  reading: Reading,
  { root, orbs, ...shared }: Shared & Pick<Search, 'root' | 'orbs'>,
  { key: name, value: workflow }: Entry,
): DefinedPipeline {
  const signs = signsOf(reading);
  const search: Search = { root, orbs, signs, seen: new Set(), commands: shared.commands };
  const jobs = itemsOf(at(workflow, 'jobs')).flatMap((item) => readInvocation(search, item));
  const triggers = itemsOf(at(workflow, 'triggers')).flatMap((trigger) => wordsOf(trigger));
  const conditions = ['when', 'unless'].filter((word) => at(workflow, word) !== undefined);
  const partial = shared.partial || jobs.some(({ calls }) => calls !== undefined);
  return pipelineOf(reading, {
    ...shared,
    partial,
    name,
    jobs,
    triggers: [...(triggers.length > 0 ? triggers : ['push']), ...conditions],
    signs,
  });
}

/** Reads `- test`, or `- test: {name: …, matrix: …}`. */
function readInvocation(search: Search, item: Node): readonly JobDraft[] {
  const { orbs, signs } = search;
  const entry = entriesOf(item)[0];
  const called = textOf(item) ?? entry?.key;
  if (called === undefined) return [];
  const options = entry?.value;
  const line = entry?.line ?? item.line;
  const name = textOf(at(options, 'name')) ?? called;
  const isApproval = textOf(at(options, 'type')) === 'approval';
  if (!isApproval) {
    signOfName(signs, { kind: 'job', name, line });
    signOfJob(search, called, line);
    for (const steps of ['pre-steps', 'post-steps']) signOfSteps(search, at(options, steps));
  }
  const orb = orbs.get(called.split('/', 1)[0] ?? '');
  const calls = called.includes('/') && orb !== undefined ? `${orb} ${called}` : undefined;
  return [{ name, line, matrix: at(options, 'matrix') !== undefined, calls }];
}

function signOfJob(search: Search, called: string, line: number): void {
  const { root, orbs, signs, seen } = search;
  signOfPart(signs, partOf(called, orbs), line);
  if (seen.has(`job ${called}`)) return;
  seen.add(`job ${called}`);
  const [orb = '', inner = ''] = called.split('/', 2);
  const job = at(root, 'jobs', called) ?? at(root, 'orbs', orb, 'jobs', inner);
  signOfSteps(search, at(job, 'steps'));
}

/** Commands of the file itself are looked into, each once. */
function signOfSteps(search: Search, steps: Node | undefined): void {
  const { root, orbs, signs, seen } = search;
  for (const step of itemsOf(steps)) {
    const entry = entriesOf(step)[0];
    const called = textOf(step) ?? entry?.key ?? '';
    // `deploy` is a step of version 2.0; later versions may name a command so.
    const isDeploy = called === 'deploy' && at(root, 'commands', called) === undefined;
    if (called === 'run' || isDeploy) {
      const run = entry?.value;
      signOfName(signs, { kind: 'step', name: textOf(at(run, 'name')), line: entry?.line ?? step.line });
      signOfCommand(search, run?.kind === 'map' ? at(run, 'command') : run);
    } else if (called === 'when' || called === 'unless') {
      signOfSteps(search, at(entry?.value, 'steps'));
    } else if (!seen.has(called)) {
      seen.add(called);
      signOfPart(signs, partOf(called, orbs), entry?.line ?? step.line);
      signOfSteps(search, at(root, 'commands', called, 'steps'));
    }
  }
}

function signOfCommand({ signs, commands }: Search, command: Node | undefined): void {
  if (command === undefined) return;
  let found = commands.get(command);
  if (found === undefined) {
    const own = signsOf(signs);
    signOfCommands(own, command);
    found = own.found;
    commands.set(command, found);
  }
  for (const { line, strength, why } of found) sign(signs, { line, strength, why });
}

/**
 * Returns the full name of a part: with `circleci/aws-ecs@3` under the name `ecs`, `ecs/deploy` is
 * `circleci/aws-ecs/deploy`.
 */
function partOf(called: string, orbs: ReadonlyMap<string, string>): string {
  const slash = called.indexOf('/');
  const name = slash < 0 ? called : called.slice(0, slash);
  return (orbs.get(name)?.split('@', 1)[0] ?? name) + called.slice(name.length);
}

/** It returns sources of orbs by name; an orb that is written out in the file has none. */
function orbsOf(root: Node): ReadonlyMap<string, string> {
  const orbs = entriesOf(at(root, 'orbs'));
  return new Map(
    orbs.flatMap(({ key, value }) => (textOf(value) ? [[key, textOf(value) ?? ''] as const] : [])),
  );
}

function isParallel(job: Node): boolean {
  return Number(textOf(at(job, 'parallelism')) ?? 1) > 1;
}
