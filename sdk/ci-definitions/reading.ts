/** Defines what a reader of one CI system is given, and how it puts a pipeline together. */
import { signsOf, verdict, type Signs } from './deploy.ts';
import { unique, type Node } from './node.ts';
import { shorten } from './lines.ts';
import type { CiDefinitionProvider, DefinedJob, DefinedPipeline, DefinitionProblem } from './types.ts';

/** Characters of a name that are shown: it may be as long as the file, and inherited by each of its jobs. */
const NAME_MAX = 255;

export interface Reading {
  readonly provider: CiDefinitionProvider;
  readonly path: string;
  readonly documents: readonly Node[];
  /** Lines of the file, for evidence. */
  readonly lines: readonly string[];
  readonly problems: DefinitionProblem[];
}

export type Read = (reading: Reading) => readonly DefinedPipeline[];

/** A job as a reader finds it: what it has not is undefined or false. */
export type JobDraft = Pick<DefinedJob, 'name' | 'line'> & {
  readonly stage?: string | undefined;
  readonly matrix?: boolean;
  readonly calls?: string | undefined;
  readonly disabled?: boolean;
};

interface Draft {
  readonly name?: string | undefined;
  readonly jobs?: readonly JobDraft[];
  readonly triggers?: readonly string[];
  /** It is absent where there is nothing to look at. */
  readonly signs?: Signs;
  readonly partial?: boolean;
  readonly dynamic?: boolean;
  readonly opaque?: boolean;
  readonly includes?: readonly string[];
}

export function pipelineOf({ provider, path, lines }: Reading, draft: Draft): DefinedPipeline {
  const { name, jobs = [], triggers = [], includes = [], partial, dynamic, opaque } = draft;
  const shown = (all: readonly string[]) => unique(all.map((one) => shorten(one, NAME_MAX)));
  return {
    provider,
    name: name === undefined || name === '' ? path : shorten(name, NAME_MAX),
    path,
    jobs: jobs.map(shownJob),
    triggers: shown(triggers),
    ...verdict(draft.signs ?? signsOf({ lines })),
    ...(partial === true && { partial }),
    ...(dynamic === true && { dynamic }),
    ...(opaque === true && { opaque }),
    ...(jobs.some(({ matrix }) => matrix) && { matrix: true }),
    ...(includes.length > 0 && { includes: shown(includes) }),
  };
}

function shownJob({ name, line, stage, matrix, calls, disabled }: JobDraft): DefinedJob {
  return {
    name: shorten(name, NAME_MAX),
    line,
    ...(stage !== undefined && { stage: shorten(stage, NAME_MAX) }),
    ...(matrix === true && { matrix }),
    ...(calls !== undefined && { calls: shorten(calls, NAME_MAX) }),
    ...(disabled === true && { disabled }),
  };
}

type Placed = Pick<Node, 'line' | 'column'> | undefined;

/** Tells of an error, with which a file defines nothing. */
export function refuse({ problems }: Reading, node: Placed, message: string): readonly [] {
  problems.push({ line: node?.line ?? 1, column: node?.column ?? 1, message, severity: 'error' });
  return [];
}

export function warn({ problems }: Reading, node: Placed, message: string): void {
  problems.push({ line: node?.line ?? 1, column: node?.column ?? 1, message, severity: 'warning' });
}

/** Returns the root of a file that has one document; a second one is pointed at. */
export function rootOf(reading: Reading): Node | undefined {
  const [root, second] = reading.documents;
  if (second !== undefined) warn(reading, second, 'only the first document of the file counts');
  if (root !== undefined && root.kind !== 'map') {
    refuse(reading, root, `the file holds a ${root.kind}, expected a map`);
    return undefined;
  }
  return root;
}
