/** Words of a notice about a day that stands out. */
import { centsOf, moneyOf } from '../amounts/index.ts';
import type { FoundAnomaly } from './anomalies.ts';

export interface Notice {
  readonly title: string;
  readonly body: string;
}

export function notice(
  { day, projectId, projectName, actual, expected, deviationPct, contributors }: FoundAnomaly,
  { teamId, currency }: { readonly teamId: string; readonly currency: string },
): Notice {
  const of = projectId === undefined ? '' : ` of the project ${projectName ?? projectId}`;
  const amount = (pico: bigint): string => moneyOf(centsOf(pico, currency), currency);
  const more = deviationPct === undefined ? '' : `, ${Math.round(deviationPct)} % more`;
  const grown = contributors.map(({ kind, id, name }) =>
    id === undefined ? 'work of no environment' : `the ${kind} ${name ?? id}`,
  );
  return {
    title: `Costs${of} on ${day} were far above the usual`,
    body: [
      `They were ${amount(actual)} where ${amount(expected)} is usual for the day of the week${more}.`,
      ...(grown.length === 0 ? [] : [`Most grew ${listed(grown)}.`]),
      `svc costs anomalies --team ${teamId} shows them.`,
    ].join(' '),
  };
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
