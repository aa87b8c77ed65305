/** Opens the edge that the operator has switched on. */
import { readDokku } from '../deploy/dokku-host.ts';
import { findProgram } from '../executor/command.ts';
import type { DnsKey } from '../edge/dns-proofs.ts';
import { openEdge } from '../edge/edge.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { WireFacts } from '../control-plane/wire.ts';
import { createSites, type HostSites } from './sites.ts';

export interface EdgeSettings {
  readonly edge: 'none' | 'nginx';
  readonly edgeHttpPort: number;
  readonly edgeHttpsPort: number;
  /** Public addresses of the machine. */
  readonly edgeAddress: readonly string[];
  /** `host:port` of a name server; undefined: the machine's own. */
  readonly edgeDns: string | undefined;
  readonly acmeDirectory: string;
  readonly acmeContact: string | undefined;
  readonly acmeCaFile: string | undefined;
  readonly acmeEabFile: string | undefined;
  /** Proves names of some zones by their records. */
  readonly acmeDns: DnsKey | undefined;
}

export interface SitesOptions {
  readonly dataDir: string;
  readonly runnerId: string;
  readonly settings: EdgeSettings;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/** Without nginx, or where its ports are taken, the runner goes on without an edge, and its facts say so. */
export async function openSites(options: SitesOptions): Promise<HostSites | undefined> {
  const { dataDir, runnerId, settings, env, log } = options;
  if (settings.edge === 'none') return undefined;
  const program = findProgram('nginx');
  if (program === undefined) {
    log.error({}, '--edge nginx is set and this machine has no nginx: apt-get install nginx-light');
    return undefined;
  }
  const { edgeDns: resolver, acmeContact: contact, acmeCaFile: caFile } = settings;
  const { acmeEabFile: eabFile, acmeDns: dns } = settings;
  try {
    const edge = await openEdge({
      dataDir,
      program,
      httpPort: settings.edgeHttpPort,
      httpsPort: settings.edgeHttpsPort,
      addresses: settings.edgeAddress,
      acme: {
        directory: settings.acmeDirectory,
        ...(contact !== undefined && { contact }),
        ...(caFile !== undefined && { caFile }),
        ...(eabFile !== undefined && { eabFile }),
        ...(dns !== undefined && { dns }),
      },
      ...(resolver !== undefined && { resolver }),
      // systemd ends what a service has started together with it.
      ...(env['INVOCATION_ID'] !== undefined && { unit: `svc-edge-${runnerId}` }),
      env,
      log,
    });
    return createSites(edge, log);
  } catch (error) {
    log.error({ problem: errorText(error) }, 'the edge cannot be opened: apps are not served by their names');
    return undefined;
  }
}

type EdgeFacts = NonNullable<NonNullable<WireFacts['host']>['edge']>;

/** Says what leads names to apps of this machine: an edge, or Dokku where it has no other one. */
export async function edgeFacts(
  settings: EdgeSettings,
  { hasSites, env }: { readonly hasSites: boolean; readonly env: NodeJS.ProcessEnv },
): Promise<EdgeFacts | undefined> {
  const addresses = [...settings.edgeAddress];
  const proved = ['http-01'];
  if (hasSites) {
    const { edgeHttpPort: httpPort, edgeHttpsPort: httpsPort, acmeDirectory } = settings;
    const solvers = settings.acmeDns === undefined ? proved : [...proved, 'dns-01'];
    return { driver: 'nginx', httpPort, httpsPort, addresses, acmeDirectory, solvers };
  }
  const dokku = settings.edge === 'none' ? await readDokku(env) : undefined;
  if (dokku === undefined) return undefined;
  const solvers = dokku.getsCertificates ? proved : [];
  return { driver: 'dokku', httpPort: 80, httpsPort: 443, addresses, acmeDirectory: '', solvers };
}
