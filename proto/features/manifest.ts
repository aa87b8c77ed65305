/**
 * Lists every platform feature. It is the one place to add a key: gates in the contracts, the CLI's check,
 * the resolver, the console and the documentation follow. It lies beside the contracts because both ends of
 * the wire need it: the generator refuses a gate on an unknown key, and the CLI must know which keys it may
 * expect to see.
 */
import type { FeatureDefinition } from './definition.ts';

export const MANIFEST = [
  {
    key: 'host.spaces',
    description: 'Spaces: people and projects of one purpose, with search and an overview.',
    owner: 'workspace',
    since: '0.10.0',
    lifecycle: 'preview',
    visibility: 'public',
    default: 'enabled',
  },
  {
    key: 'host.graph',
    description: 'The graph of environments, builds, releases and commits.',
    owner: 'workspace',
    since: '0.10.0',
    lifecycle: 'preview',
    visibility: 'public',
    default: 'enabled',
  },
  {
    key: 'host.runners',
    description: 'Runners on machines of the customer: enrollment, sandbox runs and builds.',
    owner: 'runners',
    since: '0.10.0',
    lifecycle: 'experimental',
    visibility: 'internal',
    default: 'enabled',
    environment: { variable: 'RUNNERS_ENABLED', decides: 'off' },
  },
  {
    key: 'host.ci',
    description: 'Connect: runs of external CI systems in the timeline.',
    owner: 'connect',
    since: '0.10.0',
    lifecycle: 'ga',
    visibility: 'public',
    default: 'enabled',
  },
  {
    key: 'host.job_runner',
    description: "The service's own command execution, on its own pool.",
    owner: 'runners',
    since: '0.10.0',
    lifecycle: 'experimental',
    visibility: 'internal',
    default: 'disabled',
    environment: { variable: 'JOB_RUNNER_ENABLED', decides: 'always' },
  },
  {
    key: 'host.compliance.residency_chain',
    description: 'Attestation of data residency through the companion service.',
    owner: 'compliance',
    since: '0.10.0',
    lifecycle: 'experimental',
    visibility: 'public',
    default: 'disabled',
  },
  {
    key: 'host.automation.maintenance',
    description: 'The maintenance agent that proposes and applies changes to repositories.',
    owner: 'automation',
    since: '0.10.0',
    lifecycle: 'experimental',
    visibility: 'internal',
    default: 'disabled',
    dependsOn: ['host.job_runner'],
  },
  {
    key: 'host.incidents',
    description: 'Incidents of environments: found, mitigated, resolved.',
    owner: 'operations',
    since: '0.10.0',
    lifecycle: 'preview',
    visibility: 'public',
    default: 'disabled',
  },
] as const satisfies readonly FeatureDefinition[];

/** A gate on any other key does not compile. */
export type FeatureKey = (typeof MANIFEST)[number]['key'];
