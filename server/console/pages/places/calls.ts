/** Names the resources of the SDK that the pages use. */
import {
  Builds,
  BuildSteps,
  Ci,
  Database,
  Hosting,
  Projects,
  Promotions,
  TestDatabase,
  Timeline,
  Variables,
} from '@svc/sdk';
import { client } from '../../api.ts';

export const builds = new Builds(client);
export const buildSteps = new BuildSteps(client);
export const ci = new Ci(client);
export const database = new Database(client);
export const testDatabase = new TestDatabase(client);
export const hosting = new Hosting(client);
export const projects = new Projects(client);
export const promotions = new Promotions(client);
export const timeline = new Timeline(client);
export const variables = new Variables(client);

/** Time between two readings of what no stream tells. */
export const POLL_MS = 10_000;
