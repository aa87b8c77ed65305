/** Names the resources of the SDK that the page uses. */
import { Projects, Templates } from '@svc/sdk';
import { client } from '../../api.ts';

export const projects = new Projects(client);
export const templates = new Templates(client);

/** Time between two readings of what no stream tells. */
export const POLL_MS = 10_000;
