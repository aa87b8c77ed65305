/** Checks what serves apps under their names: nginx, its ports, and the authority of its certificates. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createHttpClient } from '../../control-plane/http-client.ts';
import { changeZone, type DnsKey } from '../../edge/dns-proofs.ts';
import { masterPid } from '../../edge/nginx/process.ts';
import { ProofError } from '../../edge/acme/problem.ts';
import { failureText, findProgram, runCommand } from '../../executor/command.ts';
import { errorCode, errorText } from '../../platform/errors.ts';
import { type CheckContext, type CheckGroup, type Finding, fail, ok, skip, warn } from '../check.ts';

const VERSION_MS = 10_000;
const DIRECTORY_MS = 10_000;
const DIRECTORY_BYTES_MAX = 65_536;
/** Older ones cannot refuse a handshake for a name that they do not know. */
const NGINX_MIN = [1, 19, 4] as const;
const INSTALL = 'apt-get install --no-install-recommends nginx-light, then systemctl disable --now nginx';

export const edge: CheckGroup = async (context, check) => {
  const { settings } = context;
  if (settings.edge === 'none') {
    await check('edge', () =>
      skip(
        'none is switched on in config.json; apps are reached by their addresses alone',
        'to serve them under their domains: "edge": "nginx" in config.json, or run --edge nginx',
      ),
    );
    return;
  }
  await check('edge: nginx', nginx);
  await check('edge: ports', async () => await ports(context));
  await check('edge: authority', async () => await authority(context));
  const { acmeDns: key } = settings;
  if (key === undefined) return;
  for (const zone of key.zones) await check(`edge: zone ${zone}`, async () => await mayChange(key, zone));
};

async function nginx(): Promise<Finding> {
  const program = findProgram('nginx');
  if (program === undefined) return fail('nginx is not installed', INSTALL);
  // It writes its version to its standard error.
  const told = await runCommand([program, '-v'], { timeoutMs: VERSION_MS });
  const version = /nginx\/(\d+)\.(\d+)\.(\d+)/.exec(told.stderr);
  if (version === null) return fail(`${program} -v: ${failureText(told)}`, INSTALL);
  const [line, ...parts] = version;
  const at = NGINX_MIN.findIndex((least, place) => Number(parts[place]) !== least);
  const isOld = at >= 0 && Number(parts[at]) < (NGINX_MIN[at] ?? 0);
  return isOld ? fail(`${line} is too old`, `install nginx ${NGINX_MIN.join('.')} or newer`) : ok(line);
}

async function ports({ settings, paths }: CheckContext): Promise<Finding> {
  const wanted = [settings.edgeHttpPort, settings.edgeHttpsPort];
  const named = wanted.join(' and ');
  if (masterPid(join(paths.dataDir, 'edge', 'nginx')) !== undefined)
    return ok(`the runner's nginx holds its ports, ${named}`);
  for (const port of wanted) {
    const problem = await portProblem(port);
    if (problem !== undefined)
      return fail(
        `port ${port} cannot be opened (${problem})`,
        problem === 'EADDRINUSE'
          ? `another program holds it: ss -ltnp 'sport = :${port}'; stop it, or choose --edge-http-port and --edge-https-port`
          : 'run the daemon as root, or choose --edge-http-port and --edge-https-port',
      );
  }
  return ok(`ports ${named} are free`);
}

async function portProblem(port: number): Promise<string | undefined> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', (error) => resolve(errorCode(error) ?? errorText(error)));
    server.listen({ port }, () => server.close(() => resolve(undefined)));
  });
}

/** Takes a record away that nobody has: it changes nothing, and tells whether the key may. */
async function mayChange(key: DnsKey, zone: string): Promise<Finding> {
  try {
    await changeZone(key, zone, `update delete _acme-challenge.svc-doctor.${zone}. TXT`);
    return ok(`the key of ${key.keyFile} may change its records`);
  } catch (error) {
    const detail = error instanceof ProofError ? error.detail : errorText(error);
    return fail(
      `the key of ${key.keyFile} cannot change its records: ${detail}`,
      'apt-get install bind9-dnsutils; let the server of the zone take updates of TXT records with this key; see --acme-dns-server',
    );
  }
}

async function authority({ settings, env }: CheckContext): Promise<Finding> {
  const { acmeDirectory, acmeCaFile } = settings;
  const http = createHttpClient({
    env,
    ...(acmeCaFile === undefined ? {} : { ca: readFileSync(acmeCaFile, 'utf8') }),
  });
  try {
    const { status, body } = await http.send({
      method: 'GET',
      url: new URL(acmeDirectory),
      headers: {},
      timeoutMs: DIRECTORY_MS,
      bytesMax: DIRECTORY_BYTES_MAX,
    });
    if (status === 200 && body.toString().includes('newOrder')) return ok(`${acmeDirectory} answers`);
    return warn(
      `${acmeDirectory} answers ${status}, and no directory of an authority`,
      'see --acme-directory',
    );
  } catch (error) {
    return warn(
      `${acmeDirectory} cannot be asked: ${errorText(error)}`,
      'names stay without certificates until it can: look at the way out of this machine, and at --acme-ca-file',
    );
  } finally {
    http.close();
  }
}
