/** Says what a sandbox run executes, as it is stored, and makes the offer of it. */
import { RunOfferSchema, type RunOffer } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { shown } from '../../kit/resource/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Grant } from './poll.ts';
import type { IsolationWord } from './words.ts';

/** Stored as JSON; all defaults are filled in. */
export interface RunSpec {
  readonly purpose: 'agent_task';
  readonly image?: string;
  readonly command: readonly string[];
  readonly envNames: readonly string[];
  readonly workdir: string;
  /**
   * Values of the environment and the standard input, encrypted; absent when there are none, and taken away
   * when the run ends.
   */
  readonly sealed?: string;
  readonly network: 'none';
  readonly isolation: IsolationWord;
  readonly limits: {
    readonly timeoutSeconds: number;
    readonly memoryMb: number;
    readonly cpus: number;
    readonly pids: number;
    readonly outputBytes: number;
  };
}

/** The part that only the runner may read. */
export interface RunInput {
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** Binds what is encrypted to its row. */
const sealedAt = (workId: string): string => `work_items.spec:${workId}`;

export function sealInput(
  secrets: Pick<Secrets, 'seal'>,
  workId: string,
  input: RunInput,
): string | undefined {
  if (Object.keys(input.env).length === 0 && input.stdin === undefined) return undefined;
  return secrets.seal(sealedAt(workId), Buffer.from(JSON.stringify(input)));
}

function openInput(secrets: Pick<Secrets, 'open'>, workId: string, sealed: string | undefined): RunInput {
  if (sealed === undefined) return { env: {} };
  return JSON.parse(Buffer.from(secrets.open(sealedAt(workId), sealed)).toString('utf8')) as RunInput;
}

export function runOffer(grant: Grant, offerMs: number, secrets: Pick<Secrets, 'open'>): RunOffer {
  const { workId: id, leaseId, epoch, attempt, teamId, shared } = grant;
  // Written by submit alone, from a RunSpec.
  const spec = grant.spec as unknown as RunSpec;
  const input = openInput(secrets, id, spec.sealed);
  const { env, stdin } = input;
  const held = { id, leaseId, epoch, leaseMs: offerMs, attempt, teamId, shared };
  return shown(RunOfferSchema, spec, { ...held, env, stdin });
}
