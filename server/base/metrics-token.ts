/**
 * The credential for /metrics of an installation that sets none: of its key, so that all of its servers have
 * the same, and in a file for whoever reads figures.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Secrets } from './secrets.ts';

export function ownMetricsToken(secrets: Pick<Secrets, 'mac'>, dataDir: string): string {
  const token = Buffer.from(secrets.mac('metrics.token', '')).toString('base64url');
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const path = join(dataDir, 'metrics.token');
  writeFileSync(`${path}.${process.pid}`, `${token}\n`, { mode: 0o600 });
  renameSync(`${path}.${process.pid}`, path);
  return token;
}
