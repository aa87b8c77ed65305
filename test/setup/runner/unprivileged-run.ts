/**
 * namespaces.test.ts runs this program as an ordinary user: it runs one task through the namespaces executor
 * and prints the result as JSON.
 */
import { createNamespacesExecutor } from '../../../runner/executor/namespaces.ts';
import { makeSpec, runToEnd, shell } from './executor-fixtures.ts';

const [runnerId = '', dataDir = '', script = ''] = process.argv.slice(2);
const executor = await createNamespacesExecutor({ dataDir, runnerId, log: () => undefined });
const outcome = await runToEnd(
  executor,
  makeSpec(shell(script), { runnerId, limits: { timeoutSeconds: 5 } }),
);
process.stdout.write(`${JSON.stringify({ description: executor.describe(), ...outcome })}\n`);
