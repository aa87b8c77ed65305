/**
 * A daemon that switches apps of an edge back and forth until it is killed; it prints a dot for each switch.
 */
import { openEdge, type EdgeOptions, type Site } from '../../../runner/edge/edge.ts';
import { SILENT } from '../../../runner/platform/log.ts';

interface Settings extends Omit<EdgeOptions, 'log'> {
  sites: readonly Site[];
  ports: readonly number[];
}

const { sites, ports, ...options } = JSON.parse(process.argv[2] ?? '') as Settings;
const edge = await openEdge({ ...options, log: SILENT });
for (let n = 0; ; n += 1) {
  for (const { environmentId } of sites)
    await edge.switchTo(environmentId, { host: '127.0.0.1', port: ports[n % ports.length] ?? 0 });
  process.stdout.write('.');
}
