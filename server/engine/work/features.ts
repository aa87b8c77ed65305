/**
 * What dispatch has to do with platform features: it tells gateways in other processes how the gates stand,
 * and grants nothing while runners are switched off. The gateways' own gate is what runners see; this is the
 * net under a gateway that has not heard of the change yet.
 */
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import type { Gate } from '@svc/proto/http/call.ts';
import { waitUntil } from '@svc/proto/process/wait.ts';
import type { FeatureGate } from '../../kit/feature-gate.ts';

/** As platform-features/index.ts has it; tests bring their own. */
export interface FeatureGates {
  readonly gate: FeatureGate;
  /** Grows with each change of a switch. */
  revision(): number;
  onChange(listener: () => void): () => void;
}

/**
 * A gateway waits so long for a change that does not come: within the second in which every replica follows a
 * switch.
 */
export const WATCH_MS = 1_000;

export interface GatesAnswer {
  readonly revision: string;
  readonly disabled: string[];
  readonly hidden: string[];
}

/**
 * The revision begins with the number of the switches' state, which orders answers of servers that are not
 * equally fast, and goes on with the gates themselves, because a server's environment closes some without any
 * change of a switch.
 */
export function gatesNow(features: FeatureGates): GatesAnswer {
  const keysAt = (state: Gate): string[] =>
    MANIFEST.filter(({ key }) => features.gate.state(key) === state).map(({ key }) => key);
  const [disabled, hidden] = [keysAt('disabled'), keysAt('hidden')];
  return { revision: `${features.revision()} ${disabled.join(',')} ${hidden.join(',')}`, disabled, hidden };
}

/** Answers as soon as the revision is not `known` any more, after `WATCH_MS` at the latest. */
export async function watchGates(features: FeatureGates, known: string): Promise<GatesAnswer> {
  if (gatesNow(features).revision === known)
    await waitUntil(WATCH_MS, undefined, (done) =>
      features.onChange(() => {
        if (gatesNow(features).revision !== known) done();
      }),
    );
  return gatesNow(features);
}
