/** The result of a search consists of plain values that go into JSON columns and out to callers. */
import type { CiDefinitionProvider } from './definitions.ts';

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
