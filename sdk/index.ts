/**
 * `@svc/sdk` is the typed client of the svc API. It has no run-time dependency, and runs in Node 20, Deno,
 * Bun and browsers.
 *
 *     const sdk = createSvcSDK({ baseUrl: 'https://svc.example.com', apiKey });
 *     for (const project of await sdk.projects.list()) console.log(project.name);
 */
import { Client, type ClientOptions } from './core/client.ts';
import { DeployingEnvironments } from './deploy-and-wait.ts';
import { DeployingProjects } from './deploy-template.ts';
import { createResources, type Resources } from './gen/index.ts';
import { ReportingCi } from './report-and-wait.ts';
import { createSpaceHandle, type SpaceHandle } from './space.ts';

export { Client } from './core/client.ts';
export type {
  ApiPromise,
  ByteStream,
  CallOptions,
  ClientOptions,
  EventStream,
  Page,
  PagePromise,
  WithResponse,
} from './core/client.ts';
export {
  SvcAbortError,
  SvcApiError,
  SvcConflictError,
  SvcConnectionError,
  SvcInvalidRequestError,
  SvcNotFoundError,
  SvcPermissionDeniedError,
  SvcRateLimitedError,
  SvcServerError,
  SvcTimeoutError,
  SvcUnauthenticatedError,
} from './core/errors.ts';
export type { Logger } from './core/log.ts';
export type { Operation } from './core/operation.ts';
export type { Fetch } from './core/send.ts';
export type { SseEvent } from './core/sse.ts';
export { nearest } from './core/suggest.ts';
export { SDK_VERSION } from './core/version.ts';
export { DeployingEnvironments } from './deploy-and-wait.ts';
export type { EnvironmentsDeployAndWaitParams } from './deploy-and-wait.ts';
export { DeployingProjects } from './deploy-template.ts';
export { ReportingCi } from './report-and-wait.ts';
export type { CiReportAndWaitParams } from './report-and-wait.ts';
export { majorText } from './amounts.ts';
export { isFeatureEnabled } from './features.ts';
export { nginxLineText } from './nginx-line.ts';
export { packBundle } from './pack-bundle.ts';
export * from './gen/index.ts';
export type { SpaceHandle } from './space.ts';
export { SvcWebhookError, verifyWebhook } from './verify-webhook.ts';
export type { WebhookErrorCode, WebhookHeaders } from './verify-webhook.ts';
export type { WebhookEvent, WebhookEventType } from './webhook-event.ts';

/** Options of `createSvcSDK`. */
export type SvcSDKOptions = ClientOptions;

/**
 * The object that `createSvcSDK` makes: one property per resource, and handles that are bound to one object.
 */
export interface SvcSDK extends Resources {
  /** Projects, and `deployTemplate`. */
  readonly projects: DeployingProjects;
  /** Environments of a project, and `deployAndWait`. */
  readonly environments: DeployingEnvironments;
  /** External CI, and `reportAndWait`. */
  readonly ci: ReportingCi;
  /** The space of this id. */
  space(spaceId: string): SpaceHandle;
}

/** Makes all resources over one client. It reads no environment variable: every option is explicit. */
export function createSvcSDK(options: SvcSDKOptions = {}): SvcSDK {
  const client = new Client(options);
  const resources = createResources(client);
  const environments = new DeployingEnvironments(client, resources.builds);
  const projects = new DeployingProjects(client, resources.templates);
  const ci = new ReportingCi(client);
  return {
    ...resources,
    projects,
    environments,
    ci,
    space: (spaceId) => createSpaceHandle(resources, spaceId),
  };
}
