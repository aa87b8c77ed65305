/** Run as an ordinary user by namespaces.test.ts: one task through the namespaces executor; prints what came of it as JSON. */
import { createNamespacesExecutor } from '../../../runner/executor/namespaces.ts';
import { makeSpec, runToEnd, shell } from './executor-fixtures.ts';

const [runnerId = '', dataDir = '', script = ''] = process.argv.slice(2);
const executor = await createNamespacesExecutor({ dataDir, runnerId, log: () => undefined });
const outcome = await runToEnd(
  executor,
  makeSpec(shell(script), { runnerId, limits: { timeoutSeconds: 5 } }),
);
process.stdout.write(`${JSON.stringify({ description: executor.describe(), ...outcome })}\n`);
