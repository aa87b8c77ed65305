/**
 * Reads one file, and cuts the result to the limits of names, lists and the database. Runs in a thread of its
 * own.
 */
import { clip, text } from '../read.ts';
import {
  discoverDefinition,
  type CiDefinitionProvider,
  type DefinedPipeline,
  type DefinitionFile,
  type ParsedDefinition,
} from './definitions.ts';

/** Limits of one file: names as long as the contract of runs takes, lists as long as a person reads. */
const NAME_MAX = 255;
const PIPELINES_MAX = 100;
const JOBS_MAX = 500;
const TRIGGERS_MAX = 50;
const INCLUDES_MAX = 50;
const EVIDENCE_MAX = 10;
const PROBLEMS_MAX = 20;
const MESSAGE_MAX = 500;

/**
 * Limit of all results of a search together, as JSON, so that an answer of the API does not become too large.
 */
export const RESULTS_CHARS_MAX = 2_000_000;

export interface Measured {
  readonly result: ReadResult;
  /** Length of the result as JSON. */
  readonly chars: number;
}

export function resultOfFile(file: DefinitionFile): Measured {
  const parsed = discoverDefinition(file);
  const result = parsed === undefined ? { pipelines: [], problems: [] } : resultOf(file.path, parsed);
  const chars = JSON.stringify(result).length;
  // It would be left out in any case, and need not be handed over.
  return chars > RESULTS_CHARS_MAX ? { result: { pipelines: [], problems: [] }, chars } : { result, chars };
}

function resultOf(path: string, { pipelines, problems }: ParsedDefinition): ReadResult {
  const named = new Map(pipelines.map((pipeline) => [shown(pipeline.name, NAME_MAX), pipeline]));
  const notes = [
    ...(named.size < pipelines.length
      ? ['several pipelines of one name, of which the last one is kept']
      : []),
    ...cutOf(named.size, PIPELINES_MAX, 'pipelines'),
    ...cutOf(problems.length, PROBLEMS_MAX, 'problems'),
    ...pipelines.flatMap(({ jobs }) => cutOf(jobs.length, JOBS_MAX, 'jobs')).slice(0, 1),
  ];
  return {
    pipelines: [...named].slice(0, PIPELINES_MAX).map(([name, pipeline]) => foundOf(name, pipeline)),
    problems: [
      ...problems.slice(0, PROBLEMS_MAX).map(({ line, message, severity }) => ({
        path,
        line,
        message: shown(message, MESSAGE_MAX),
        fatal: severity === 'error',
      })),
      ...notes.map((message): FoundProblem => ({ path, line: 0, message, fatal: false })),
    ],
  };
}

function cutOf(count: number, max: number, what: string): readonly string[] {
  return count > max ? [`${count} ${what}, of which the first ${max} are kept`] : [];
}

/** A file may hold what no database stores: `"\0"`, halves of a pair. */
function shown(value: string, max: number): string {
  return clip(text(value) ?? '', max);
}

function foundOf(name: string, pipeline: DefinedPipeline): FoundPipeline {
  const { provider, path, deployDetected, partial = false, includes = [] } = pipeline;
  const names = (all: readonly string[], max: number) => all.slice(0, max).map((one) => shown(one, NAME_MAX));
  const jobs = pipeline.jobs.map((job) => job.name);
  return {
    provider,
    path,
    name: name === '' ? path : name,
    jobs: names(jobs, JOBS_MAX),
    triggers: names(pipeline.triggers, TRIGGERS_MAX),
    deployDetected,
    evidence: pipeline.evidence.slice(0, EVIDENCE_MAX).map(({ line, text: written, why }) => ({
      line,
      text: shown(written, NAME_MAX),
      why: shown(why, NAME_MAX),
    })),
    partial,
    includes: names(includes, INCLUDES_MAX),
  };
}

export interface FoundPipeline {
  readonly provider: CiDefinitionProvider;
  readonly name: string;
  readonly path: string;
  readonly jobs: readonly string[];
  readonly triggers: readonly string[];
  readonly deployDetected: boolean;
  readonly evidence: readonly { readonly line: number; readonly text: string; readonly why: string }[];
  readonly partial: boolean;
  readonly includes: readonly string[];
}

export interface FoundProblem {
  readonly path: string;
  /** 1-based; 0: the file as a whole. */
  readonly line: number;
  readonly message: string;
  /** No pipeline comes from the file. */
  readonly fatal: boolean;
}

/** The result of one file. */
export interface ReadResult {
  readonly pipelines: readonly FoundPipeline[];
  readonly problems: readonly FoundProblem[];
}

/**
 * A file that was read. Its result holds for as long as `key` does, which stands for its content and the
 * readers of that time.
 */
export interface ReadFile extends ReadResult {
  readonly path: string;
  readonly key: string;
}

/** The result of a search. */
export interface Snapshot {
  readonly commit: string;
  readonly scanned: number;
  readonly truncated: boolean;
  readonly incompleteReason: string | undefined;
  readonly files: readonly ReadFile[];
  /**
   * Problems with files that were not read: links, submodules, a setting that leads elsewhere. Problems of a
   * file that was read are with the file.
   */
  readonly problems: readonly FoundProblem[];
}
