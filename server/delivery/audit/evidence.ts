/** Reads what the checkpoint files of this process's data folder say about chains. */
import { setImmediate } from 'node:timers/promises';
import type { CheckpointFile } from './checkpoint-file.ts';
import type { Signer } from './checkpoint.ts';
import { PLATFORM_CHAIN } from '../../kit/ledger/append.ts';
import type { Evidence } from './verify.ts';

/** The time for which signatures are verified before others have their turn. */
const AT_ONCE_MS = 10;

interface Gathered {
  readonly anchors: Map<number, Set<string>>;
  checkpoints: number;
  invalid: number | undefined;
}

const nothing = (): Gathered => ({ anchors: new Map(), checkpoints: 0, invalid: undefined });

/**
 * Reads the files once; `only`: of this chain alone. A line that cannot be read at all is held against the
 * chain that it names, or `platform`.
 */
export async function gatherEvidence(
  { file, signer }: { readonly file: CheckpointFile; readonly signer: Signer },
  only?: string,
  signal?: AbortSignal,
): Promise<Map<string, Evidence>> {
  const found = new Map<string, Gathered>();
  const of = (chain: string): Gathered => {
    const known = found.get(chain) ?? nothing();
    found.set(chain, known);
    return known;
  };
  let pausedMs = performance.now();
  for await (const line of file.read(only)) {
    if (performance.now() - pausedMs > AT_ONCE_MS) {
      await setImmediate();
      signal?.throwIfAborted();
      pausedMs = performance.now();
    }
    const chain = line.chain ?? PLATFORM_CHAIN;
    if (only !== undefined && chain !== only) continue;
    const evidence = of(chain);
    const { checkpoint } = line;
    if (checkpoint === undefined || !signer.isOurs(checkpoint)) {
      evidence.invalid = Math.min(evidence.invalid ?? Infinity, checkpoint?.seq ?? 0);
      continue;
    }
    evidence.checkpoints += 1;
    anchor(evidence.anchors, checkpoint.seq, checkpoint.hash);
  }
  return found;
}

/** Adds one more place that the caller has kept. */
export function withOwn(
  evidence: Evidence | undefined,
  own: { readonly seq: number; readonly hash: string } | undefined,
): Evidence {
  const { anchors, checkpoints, invalid } = evidence ?? nothing();
  if (own === undefined) return { anchors, checkpoints, invalid };
  const more = new Map([...anchors].map(([seq, hashes]) => [seq, new Set(hashes)]));
  anchor(more, own.seq, own.hash);
  return { anchors: more, checkpoints, invalid };
}

function anchor(anchors: Map<number, Set<string>>, seq: number, hash: string): void {
  const hashes = anchors.get(seq) ?? new Set();
  anchors.set(seq, hashes.add(hash));
}
