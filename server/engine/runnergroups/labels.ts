import { apiError } from '@svc/proto/http/errors.ts';

type Labels = Readonly<Record<string, string>>;

/** Returns labels with a change of them: one with an empty value is taken away. */
export function withLabels(
  before: Labels,
  changes: Labels,
  { resource, max }: { readonly resource: string; readonly max: number },
): Labels {
  const after = Object.entries({ ...before, ...changes }).filter(([, value]) => value !== '');
  if (after.length <= max) return Object.fromEntries(after);
  throw apiError(
    'limit_reached',
    `the ${resource} would have ${after.length} labels, at most ${max} are allowed`,
    { details: { resource, limit: max, current: after.length } },
  );
}
