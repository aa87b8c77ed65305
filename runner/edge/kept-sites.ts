/**
 * The sites that are served, on the disk: after a restart of the daemon the edge goes on with them until it
 * is told of others. A site that is refused keeps its last good form.
 */
import { join } from 'node:path';
import { readIfThere, writeDurably } from '../disk/durable-file.ts';
import { checkedSites, namesSent, upstreamProblem, type Site, type Upstream } from './site.ts';

export type KeptSites = ReturnType<typeof openKeptSites>;

export function openKeptSites(dir: string) {
  const path = join(dir, 'sites.json');
  let saved = readIfThere(path) ?? '[]';
  let served = parsed(saved);
  /** Names of the refused as they were asked for, so that their problem can be shown beside them. */
  let refused: ReadonlyArray<{ environmentId: string; names: readonly string[]; problem: string }> = [];
  return {
    all: (): readonly Site[] => served,
    refused: () => refused,
    replace(sites: readonly Site[]): void {
      const checked = checkedSites(sites);
      const taken = new Set(checked.sites.flatMap(({ names }) => names.map(({ name }) => name)));
      const there = new Set(checked.sites.map(({ environmentId }) => environmentId));
      const kept = served
        .filter(({ environmentId: id }) => checked.refused.has(id) && !there.has(id))
        .map((site) => ({ ...site, names: site.names.filter(({ name }) => !taken.has(name)) }));
      refused = sites.flatMap((site) => {
        const environmentId = String(site.environmentId);
        const problem = checked.refused.get(environmentId);
        return problem === undefined ? [] : [{ environmentId, names: namesSent(site), problem }];
      });
      served = [...checked.sites, ...kept];
    },
    /** Throws when there is no such site, or when the address is none. */
    switchTo(environmentId: string, upstream: Upstream): void {
      const problem = upstreamProblem(upstream);
      if (problem !== undefined) throw new Error(`the app of ${environmentId} cannot be served: ${problem}`);
      const site = served.find((one) => one.environmentId === environmentId);
      if (site === undefined) throw new Error(`the edge serves nothing for ${environmentId}`);
      served = served.map((one) => (one === site ? { ...site, upstream } : one));
    },
    async save(): Promise<void> {
      const text = JSON.stringify(served);
      if (text === saved) return;
      await writeDurably(path, text);
      saved = text;
    },
  };
}

function parsed(text: string): Site[] {
  try {
    const sites = JSON.parse(text) as unknown;
    return Array.isArray(sites) ? checkedSites(sites as Site[]).sites : [];
  } catch {
    return []; // Written by nobody here; the next call brings all of them.
  }
}
