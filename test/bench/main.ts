/**
 * Runs `npm run bench [name…]`: every figure of the design is measured beside its reference in the same run.
 * It prints one JSON line a figure as it comes and a table at the end; the exit code is 1 when a target is
 * missed.
 */
import { printTable, type Figure } from './figure.ts';

const BENCHES: Record<string, () => Promise<{ run(): Promise<Figure[]> }>> = {
  json: () => import('./json.ts'),
  cli: () => import('./cli.ts'),
  sdk: () => import('./sdk.ts'),
  get: () => import('./get.ts'),
  resolved: () => import('./resolved.ts'),
  features: () => import('./features.ts'),
  dispatch: () => import('./dispatch.ts'),
  heartbeat: () => import('./heartbeat.ts'),
  hosting: () => import('./hosting.ts'),
  machine: () => import('./machine.ts'),
  fair: () => import('./fair.ts'),
  throughput: () => import('./throughput.ts'),
  memory: () => import('./memory.ts'),
  polls: () => import('./polls.ts'),
  timeline: () => import('./timeline.ts'),
  'supply-chain': () => import('./supply-chain.ts'),
  attestations: () => import('./attestations.ts'),
  cataloguing: () => import('./cataloguing.ts'),
  compliance: () => import('./compliance.ts'),
  gates: () => import('./gates.ts'),
  simulate: () => import('./simulate.ts'),
  logs: () => import('./logs.ts'),
  outbox: () => import('./outbox.ts'),
  credits: () => import('./credits.ts'),
  spend: () => import('./spend.ts'),
  webhooks: () => import('./webhooks.ts'),
  wake: () => import('./wake.ts'),
  costs: () => import('./costs.ts'),
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`unknown benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}`);
  process.exit(2);
}

const figures: Figure[] = [];
for (const [name, load] of Object.entries(BENCHES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const { run } = await load();
  for (const one of await run()) {
    figures.push(one);
    console.log(JSON.stringify(one));
  }
}
printTable(figures);
process.exitCode = figures.every(({ pass }) => pass) ? 0 : 1;
