/** What a sandbox run executes, as it is stored, and the offer made of it. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { OfferSchema } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import type { Grant } from './claim.ts';
import { ISOLATIONS, NETWORKS } from './words.ts';
import type { IsolationWord } from './words.ts';

/** Stored as JSON; all defaults are filled in. */
export interface RunSpec {
  readonly purpose: 'agent_task';
  readonly image?: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly stdin?: string;
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

export function toOffer(grant: Grant, offerMs: number): MessageInitShape<typeof OfferSchema> {
  const { workId: id, leaseId, epoch, attempt } = grant;
  const common = { id, leaseId, epoch, leaseMs: offerMs };
  if (grant.kind === 'build') return { work: { case: 'build', value: common } };
  // Written by submit alone, from a RunSpec.
  const spec = grant.spec as unknown as RunSpec;
  return {
    work: {
      case: 'run',
      value: {
        ...common,
        attempt,
        ...(spec.image === undefined ? {} : { image: spec.image }),
        command: [...spec.command],
        env: { ...spec.env },
        workdir: spec.workdir,
        ...(spec.stdin === undefined ? {} : { stdin: spec.stdin }),
        network: NETWORKS[spec.network],
        isolation: ISOLATIONS[spec.isolation],
        limits: { ...spec.limits },
      },
    },
  };
}
