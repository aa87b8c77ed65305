/**
 * Holds what the commands of promotions have in common: their first argument, and the states in words and
 * exit codes.
 */
import type { Promotion, PromotionPolicyPreview, PromotionRule, PromotionState } from '@svc/sdk';
import type { FieldSpec } from '../command.ts';
import type { GeneratedSpec } from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';

const ENDED: ReadonlySet<PromotionState> = new Set<PromotionState>(['deployed', 'failed', 'rejected']);

/** The environment comes first, and goes on to be taken by its flag `--env`. */
export function environmentFirst({
  positionals,
  flags,
}: GeneratedSpec): Pick<GeneratedSpec, 'positionals' | 'flags'> {
  const isEnvironment = ({ name }: FieldSpec): boolean => name === 'environmentId';
  return {
    positionals: [...flags.filter(isEnvironment), ...positionals],
    flags: flags.filter((field) => !isEnvironment(field)),
  };
}

export const isOver = ({ state }: Pick<Promotion, 'state'>): boolean => ENDED.has(state);

/** 0 only for a promotion that was deployed. */
export function exitCodeOfPromotion(promotion: Promotion): number {
  if (!isOver(promotion)) return EXIT.pending;
  return promotion.state === 'deployed' ? EXIT.ok : EXIT.failed;
}

/** Two that differ in it are worth a line each. */
export const stageOf = ({ state, waitingFor, buildId, approvals }: Promotion): string =>
  JSON.stringify([state, waitingFor?.code, waitingFor?.text, buildId, approvals.length]);

/** `promotion prm_1 of 1.4.0 to production is approved, waits for a runner, build bld_1` */
export function describePromotion(promotion: Promotion): string {
  const { id, version, environmentName, state, rejection, reason, waitingFor, buildId, url } = promotion;
  return [
    `promotion ${id} of ${version} to ${environmentName} is ${state}`,
    ...(rejection === undefined || rejection === 'rejected' ? [] : [rejection]),
    ...(waitingFor === undefined ? [] : [`waits for ${waitingFor.code}: ${waitingFor.text}`]),
    ...(reason === undefined ? [] : [reason]),
    ...(buildId === undefined ? [] : [`build ${buildId}`]),
    ...(url === undefined ? [] : [`at ${url}`]),
  ].join(', ');
}

/** A line for each rule that fails. */
export function describePreview({ denied, warned }: PromotionPolicyPreview): readonly string[] {
  const line = (word: string, { policyName, ruleId, message }: PromotionRule): string =>
    `${word} by policy ${policyName}, rule ${ruleId}: ${message}`;
  return [
    ...denied.map((rule) => `${line('refused', rule)}${rule.overridable ? '' : ' (cannot be overridden)'}`),
    ...warned.map((rule) => line('warned', rule)),
  ];
}
