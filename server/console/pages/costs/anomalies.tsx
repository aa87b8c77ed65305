/** Days that stand out, each with what made it. */
import type { CostAnomaly, CostContributor } from '@svc/sdk';
import { amount, day, type Currency } from './words.ts';

interface Props {
  readonly anomalies: readonly CostAnomaly[];
  readonly currency: Currency;
}

export function Anomalies({ anomalies, currency }: Props) {
  if (anomalies.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="anomalies-title">
      <h2 id="anomalies-title">Days that stand out</h2>
      <ul class="anomalies">
        {anomalies.map((each) => (
          <li key={`${each.day} ${each.projectId ?? ''}`}>
            <strong>
              {day(each.day)},{' '}
              {each.projectId === undefined ? 'the whole team' : (each.projectName ?? each.projectId)}
            </strong>
            <p>
              {amount(each.actual, currency)}, where that weekday comes to {amount(each.expected, currency)}
              {each.deviationPct !== undefined &&
                `: ${Math.round(each.deviationPct).toLocaleString('en')} % more`}
            </p>
            {each.contributors.length > 0 && (
              <p class="muted">
                Mostly {each.contributors.map((part) => contributor(part, currency)).join('; ')}
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function contributor({ kind, id, name, actual, expected }: CostContributor, currency: Currency): string {
  const named = name ?? id ?? 'work of no environment';
  return `${id === undefined ? named : `${kind} ${named}`} with ${amount(actual, currency)} in place of ${amount(expected, currency)}`;
}
