/**
 * This file says what builds ask of policies, which the engine may not know: it is handed this as a function.
 */
import type { Environment } from '../../apps/environments/index.ts';
import type { Ctx } from '../../kit/context.ts';

/** An owner goes on although a policy says no. */
export interface Override {
  readonly reason: string;
}

/** The promotion that a build deploys. */
export interface Promoted {
  readonly release: { readonly id: string; readonly version: string };
  readonly promotion: {
    readonly id: string;
    readonly requestedBy: string;
    readonly approvals: readonly string[];
  };
}

export interface AskedOfGate {
  /** `build.create`: a build is to be made. `deploy`: an item is to be made that deploys. */
  readonly action: 'build.create' | 'deploy';
  readonly environment: Environment;
  readonly build: {
    readonly id: string;
    /** 0: it has none yet. */
    readonly number: number;
    readonly branch: string;
    /** It is null for the newest of the branch. */
    readonly commit: string | null;
    readonly trigger: string;
  };
  /** It is the image that is deployed; without it, that is what the build will have made. */
  readonly image?: { readonly name: string; readonly digest: string };
  readonly promoted?: Promoted | undefined;
  readonly override?: Override | undefined;
}

/** Within the transaction of the act and before its locks; throws what refuses the act. */
export type BuildGate = (ctx: Ctx, asked: AskedOfGate) => Promise<PassedGate>;

export interface PassedGate {
  readonly isOverridden: boolean;
  /** Keeps the passage with the act, under its locks. */
  keep(ctx: Ctx): Promise<void>;
}
