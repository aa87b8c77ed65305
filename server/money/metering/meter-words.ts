/** Meters as people read them: in exports and on invoices. */
import type { Meter } from './prices.ts';

const WORDS: Readonly<Record<Meter, string>> = {
  'run.runner': 'Sandbox runs on runners of the team',
  'run.service': 'Sandbox runs on runners of the service',
  'build.runner': 'Builds on runners of the team',
  'build.service': 'Builds on runners of the service',
};

/** This returns the words of a meter; any other text is returned as it is. */
export function meterWords(meter: string): string {
  return (WORDS as Readonly<Record<string, string>>)[meter] ?? meter;
}
