/**
 * Where an incident stands, and what may follow what:
 *
 *     open ──mitigate──> mitigated
 *      │                    │
 *      └──resolve, dismiss──┴──> resolved | dismissed   (final)
 */
export type IncidentState = 'open' | 'mitigated' | 'resolved' | 'dismissed';

/** What a person can move an incident to. */
export type Target = Exclude<IncidentState, 'open'>;

/** States that each target is reached from; being there already changes nothing, anything else is a conflict. */
export const FROM: Readonly<Record<Target, readonly IncidentState[]>> = {
  mitigated: ['open'],
  resolved: ['open', 'mitigated'],
  dismissed: ['open', 'mitigated'],
};
