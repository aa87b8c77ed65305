/** Names the resources of the SDK that the pages use. */
import { Environments, Policies, Projects } from '@svc/sdk';
import { client } from '../../api.ts';

export const environments = new Environments(client);
export const policies = new Policies(client);
export const projects = new Projects(client);

/** Time between two readings of what no stream tells. */
export const POLL_MS = 20_000;
