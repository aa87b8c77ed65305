/**
 * A passage is what passes a gate: every act that policies are asked about goes through one of these, whether
 * there are policies or not.
 */
import type { Ctx } from '../../kit/context.ts';
import type { PolicyAction } from './engine/document.ts';
import type { PolicyArtifact, PolicyInput } from './engine/input.ts';

export interface Passage {
  readonly action: PolicyAction;
  readonly teamId: string;
  /** Project and environment of the act: policies may be narrowed to them. */
  readonly projectId?: string | undefined;
  readonly environmentId?: string | undefined;
  /** Id of what is to be done, or of what it is done to. */
  readonly subject: string;
  /** Facts that the caller knows beside the actor, the team, the time and the artifacts. */
  readonly facts: Partial<Pick<PolicyInput, 'project' | 'environment' | 'build' | 'release' | 'promotion'>>;
  readonly artifactIds: readonly string[];
  /** Images that are no artifacts, or not yet. What is left out is not known. */
  readonly uncatalogued?: ReadonlyArray<Partial<Omit<PolicyArtifact, 'packages'>>>;
  /** An owner goes on although a policy says no, unless its document forbids that. */
  readonly override?: { readonly reason: string } | undefined;
}

/**
 * A rule that does not hold or could not be judged; without an id, a policy that could not be judged as a
 * whole. The message says why.
 */
export interface FailedRule {
  readonly policyId: string;
  readonly policyName: string;
  readonly ruleId: string;
  readonly message: string;
  /** Its policy lets an owner go on where this is true. */
  readonly overridable: boolean;
}

export interface Word {
  readonly allowed: boolean;
  readonly denied: readonly FailedRule[];
  readonly warned: readonly FailedRule[];
}

export interface Passed extends Omit<Word, 'allowed'> {
  readonly gateId: string;
  readonly isAllowed: boolean;
  readonly isOverridden: boolean;
}

/** Let through, and not kept yet. */
export interface Judged extends Passed {
  /** Within the act's transaction, with its other locks taken: an override locks the head of the ledger. */
  keep(ctx: Ctx): Promise<void>;
}

export interface Gates {
  /**
   * Throws `policy_denied` (403) with the failed rules. Each passage is kept, also a denied one, whose act is
   * not. Within the act's transaction, so that one goes with the other; an override has its entry in the
   * ledger, whose head is locked from then on: take the act's own locks before. All gates of one transaction
   * have the time of one together.
   */
  pass(ctx: Ctx, passage: Passage): Promise<Passed>;
  /**
   * As `pass`, for acts that are judged before they lock anything: what is let through is kept when they
   * have.
   */
  judge(ctx: Ctx, passage: Passage): Promise<Judged>;
  /**
   * Says what the gates of one act would say now, each rule once, in the time of that act. Nothing is kept.
   */
  preview(ctx: Ctx, passages: readonly Passage[]): Promise<Word>;
}
