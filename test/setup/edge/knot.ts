/** A real name server (knot) that takes signed updates of its zone, on loopback. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Resolver } from 'node:dns/promises';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../registry.ts';
import { tempDir } from '../runner/temp-dir.ts';
import { whenDone } from '../runner/when-done.ts';
import { waitFor } from '../wait-for.ts';

export type Knot = Awaited<ReturnType<typeof startKnot>>;

/**
 * @param zone Its servers are ns1 at 127.0.0.1, which is this one, and whatever `others` has; each name of it
 * has the address 127.0.0.1.
 */
export async function startKnot(zone: string, others: Readonly<Record<string, string>> = {}) {
  const folder = tempDir();
  const port = await freePort();
  const run = join(folder, 'run');
  mkdirSync(run);
  const secret = randomBytes(32).toString('base64');
  const keyFile = join(folder, 'svc-runner.key');
  const keyOf = (text: string) => `key "svc-runner" { algorithm hmac-sha256; secret "${text}"; };\n`;
  writeFileSync(keyFile, keyOf(secret), { mode: 0o600 });
  const servers = Object.entries({ ns1: '127.0.0.1', ...others });
  writeFileSync(
    join(folder, 'zone'),
    [
      `$ORIGIN ${zone}.`,
      '$TTL 60',
      `@ SOA ns1 ops 1 60 60 600 5`,
      ...servers.flatMap(([name, address]) => [`@ NS ${name}`, `${name} A ${address}`]),
      '@ A 127.0.0.1',
      '* A 127.0.0.1',
      '',
    ].join('\n'),
  );
  writeFileSync(
    join(folder, 'knot.conf'),
    `server:
  listen: 127.0.0.1@${port}
  rundir: ${run}
database:
  storage: ${folder}
log:
- target: ${join(folder, 'log')}
  any: info
key:
- id: svc-runner
  algorithm: hmac-sha256
  secret: ${secret}
acl:
- id: proofs
  key: svc-runner
  action: update
  update-type: TXT
zone:
- domain: ${zone}
  storage: ${folder}
  file: zone
  zonefile-sync: -1
  zonefile-load: difference
  journal-content: changes
  acl: proofs
`,
  );
  const child = spawn('knotd', ['-c', join(folder, 'knot.conf')], { stdio: 'ignore' });
  whenDone(async () => {
    if (child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  });
  const asking = new Resolver({ timeout: 1_000, tries: 1 });
  asking.setServers([`127.0.0.1:${port}`]);
  await waitFor('knot to answer', async () => (await asking.resolve4(zone).catch(() => [])).length > 0);
  return {
    address: `127.0.0.1:${port}`,
    port,
    keyFile,
    /** Path of a key of the same name that the server does not know. */
    wrongKeyFile: () => {
      const path = join(folder, 'wrong.key');
      writeFileSync(path, keyOf(randomBytes(32).toString('base64')), { mode: 0o600 });
      return path;
    },
    /** Values of the records that prove a name. */
    proofsOf: async (name: string): Promise<string[]> =>
      (await asking.resolveTxt(`_acme-challenge.${name}`).catch(() => [])).map((parts) => parts.join('')),
  };
}
