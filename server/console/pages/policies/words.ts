/** Says what the pages tell about policies, in plain words. */
import type { GateOutcome, Policy, PolicyDecision, PolicyOutcome, SimulatedGate, Simulation } from '@svc/sdk';
import type { StateWord } from '../../fact.tsx';

export function standing({ enabled, scopeDeleted }: Pick<Policy, 'enabled' | 'scopeDeleted'>): StateWord {
  if (scopeDeleted) return ['Bound to what was deleted', 'warn'];
  return enabled ? ['Enabled', 'good'] : ['Disabled', 'quiet'];
}

export const OUTCOME: Readonly<Record<PolicyOutcome, StateWord>> = {
  allow: ['Allow', 'good'],
  warn: ['Warn', 'warn'],
  deny: ['Deny', 'bad'],
  error: ['Error', 'bad'],
  skipped: ['Skipped', 'quiet'],
};

export const GATE: Readonly<Record<GateOutcome, StateWord>> = {
  allow: ['Act went on', 'good'],
  deny: ['Act refused', 'bad'],
  overridden: ['Overridden', 'warn'],
};

const REASONS: Readonly<Record<string, string>> = {
  rule: 'the condition "when" has no result',
  input: 'what it is given exceeds a limit',
  time: 'it took too long',
  memory: 'it took too much memory',
  thread: 'the thread that judges ended',
};

/** Messages of the rules that failed, why it could not be judged, and why it went on all the same. */
export function reasonsOf({
  failed = [],
  reason,
  overrideReason,
}: Partial<PolicyDecision>): readonly string[] {
  // Rules that could not be judged say so themselves.
  const why = reason === undefined || failed.length > 0 ? undefined : REASONS[reason];
  return [
    ...failed.map(({ message }) => message),
    ...(why === undefined ? [] : [`could not be judged: ${why}`]),
    ...(overrideReason === undefined ? [] : [`overridden: ${overrideReason}`]),
  ];
}

/** Returns the messages of a document's rules by their ids. */
export function messagesOf(document: unknown): ReadonlyMap<string, string> {
  const { rules } = (document ?? {}) as { readonly rules?: unknown };
  if (!Array.isArray(rules)) return new Map();
  return new Map(
    rules.flatMap((rule: { id?: unknown; message?: unknown } | null) =>
      rule === null ? [] : [[String(rule.id), String(rule.message)] as const],
    ),
  );
}

export function whyOf(
  { now, failed, problem }: SimulatedGate,
  messages: ReadonlyMap<string, string>,
): readonly string[] {
  if (now === 'error') return [problem ?? 'could not be judged'];
  return failed.map((id) => messages.get(id) ?? `rule ${id}`);
}

/** It would be treated in another way than it was, or cannot be judged. */
export const isOtherwise = ({ before, now, newlyDenied }: SimulatedGate): boolean =>
  newlyDenied || now === 'error' || ((before === 'deny' || before === 'error') && now !== 'deny');

export function resultOf({ replayed, newlyDenied, newlyAllowed, errors }: Simulation): string {
  if (replayed === 0) return 'Nothing has passed these gates in the last 90 days.';
  const parts = [
    `${newlyDenied} of ${replayed} would newly be refused`,
    newlyAllowed > 0 ? `${newlyAllowed} would newly be allowed` : undefined,
    errors > 0 ? `${errors} could not be judged` : undefined,
  ];
  return `${parts.filter((each) => each !== undefined).join(', ')}.`;
}
