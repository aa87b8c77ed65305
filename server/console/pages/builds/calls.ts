/** Names the resource of the SDK that the pages use, and how often they ask for what no stream tells. */
import { Builds } from '@svc/sdk';
import { client } from '../../api.ts';

export const builds = new Builds(client);

export const POLL_MS = 5_000;
