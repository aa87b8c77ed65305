/** What a reader of one CI system is given, and how it puts a pipeline together. */
import { signsOf, verdict, type Signs } from './deploy.ts';
import type { Node } from './node.ts';
import { unique } from './node.ts';
import type { CiDefinitionProvider, DefinedJob, DefinedPipeline, DefinitionProblem } from './types.ts';

export interface Reading {
  readonly provider: CiDefinitionProvider;
  readonly path: string;
  readonly documents: readonly Node[];
  /** Of the file, for evidence. */
  readonly lines: readonly string[];
  readonly problems: DefinitionProblem[];
}

export type Read = (reading: Reading) => readonly DefinedPipeline[];

interface Draft {
  readonly name: string | undefined;
  readonly jobs: readonly DefinedJob[];
  readonly triggers: readonly string[];
  readonly signs: Signs;
  readonly partial?: boolean;
  readonly dynamic?: boolean;
  readonly opaque?: boolean;
  readonly includes?: readonly string[];
}

export function pipelineOf({ provider, path }: Reading, draft: Draft): DefinedPipeline {
  const { name, jobs, triggers, signs, partial, dynamic, opaque, includes = [] } = draft;
  return {
    provider,
    name: name === undefined || name === '' ? path : name,
    path,
    jobs,
    triggers: unique(triggers),
    ...verdict(signs),
    ...(partial === true && { partial }),
    ...(dynamic === true && { dynamic }),
    ...(opaque === true && { opaque }),
    ...(jobs.some(({ matrix }) => matrix) && { matrix: true }),
    ...(includes.length > 0 && { includes: unique(includes) }),
  };
}

export function newSigns({ lines }: Reading): Signs {
  return signsOf(lines);
}

export function problem(
  { problems }: Reading,
  node: Pick<Node, 'line' | 'column'> | undefined,
  severity: DefinitionProblem['severity'],
  message: string,
): void {
  problems.push({ line: node?.line ?? 1, column: node?.column ?? 1, message, severity });
}

/** The root of a file that has one document; a second one is pointed at. */
export function rootOf(reading: Reading): Node | undefined {
  const [root, second] = reading.documents;
  if (second !== undefined) problem(reading, second, 'warning', 'only the first document of the file counts');
  if (root !== undefined && root.kind !== 'map') {
    problem(reading, root, 'error', `the file holds a ${root.kind}, expected a map`);
    return undefined;
  }
  return root;
}
