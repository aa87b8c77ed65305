/** Judges by one document what past gates saw. Writes nothing. */
import type { SimulatedGate } from '@svc/proto/gen/svc/policies/v1/policies_pb.ts';
import { packagesOfSets } from '../artifacts/index.ts';
import { namesPackages, type PolicyDocument, type PolicyMode } from './engine/document.ts';
import type { PolicyInput } from './engine/input.ts';
import type { Replay } from './engine/replay.ts';
import type { Outcome } from './engine/verdict.ts';
import { inputsOf, pastGates, type PastGate, type PastGates } from './gate-log.ts';
import { setsOf, withPackages, type PackagesOfSets, type RecordedInput } from './recorded-input.ts';
import type { Row, Who } from '../../kit/resource/index.ts';

/** Inputs that are read at once. */
const PAGE = 20;
/** Lists of sets whose packages are kept for the gates that follow. */
const PACKAGES_KEPT = 8;

export interface Simulating extends Omit<PastGates, 'actions'> {
  readonly document: PolicyDocument;
}

export async function simulate(who: Who, replay: Replay, asked: Simulating) {
  const { document } = asked;
  const gates = await pastGates(who.db.sql, who.teams, { ...asked, actions: document.on });
  const replayedGates: PastGate[] = [];
  const taken = inputs(who, { gates, taken: replayedGates, readsPackages: namesPackages(document) });
  const { verdicts, isCut } = await replay(document, taken);
  const counts = { newlyDenied: 0, newlyAllowed: 0, unchanged: 0 };
  const results = replayedGates.slice(0, verdicts.length).map((gate, index): Row<SimulatedGate> => {
    const { outcome: now, failed, detail: problem } = verdicts[index] as (typeof verdicts)[number];
    const { id: gateId, action, subject, at, before, mode } = gate;
    const was = isRefused(before, mode);
    const is = isRefused(now, document.mode);
    const newly = is ? 'newlyDenied' : 'newlyAllowed';
    counts[was === is ? 'unchanged' : newly] += 1;
    const said = { before, now, newlyDenied: is && !was, failed: failed.map((rule) => rule.id), problem };
    return { gateId, action, subject, at, ...said };
  });
  const replayed = results.length;
  const errors = results.filter(({ now }) => now === 'error').length;
  return { ...counts, errors, replayed, oldestAt: results.at(-1)?.at, results, truncated: isCut };
}

/** It is the same as at a gate: what could not be judged was not found to be good. */
const isRefused = (outcome: Outcome | null, mode: PolicyMode | null): boolean =>
  outcome === 'deny' || (outcome === 'error' && mode === 'enforce');

interface Taking {
  readonly gates: readonly PastGate[];
  /** Told which of the gates still have an input. */
  readonly taken: PastGate[];
  readonly readsPackages: boolean;
}

async function* inputs(who: Who, { gates, taken, readsPackages }: Taking): AsyncGenerator<PolicyInput> {
  const packagesOf = packagesReader(who);
  for (let from = 0; from < gates.length; from += PAGE) {
    const page = gates.slice(from, from + PAGE);
    const ids = page.map(({ id }) => id);
    const recorded = await inputsOf(who.db.sql, who.teams, ids);
    for (const gate of page) {
      const input = recorded.get(gate.id);
      if (input === undefined) continue; // Purged meanwhile.
      const packages = readsPackages ? await packagesOf(input) : undefined;
      taken.push(gate);
      yield withPackages(input, packages);
    }
  }
}

function packagesReader({ db, teams }: Who): (input: RecordedInput) => Promise<PackagesOfSets> {
  const kept = new Map<string, PackagesOfSets>();
  return async (input) => {
    const sets = setsOf([input]);
    const key = sets.join(' ');
    const packages = kept.get(key) ?? (await packagesOfSets(db.sql, teams, sets));
    if (kept.size >= PACKAGES_KEPT) kept.clear();
    kept.set(key, packages);
    return packages;
  };
}
