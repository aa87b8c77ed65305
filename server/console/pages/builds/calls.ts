/** What the page asks of the server. */
import { Builds, Environments, Projects } from '@svc/sdk';
import { client } from '../../api.ts';

export const builds = new Builds(client);
export const environments = new Environments(client);
export const projects = new Projects(client);
