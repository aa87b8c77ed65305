/** Webhooks and deliveries as callers see them. A secret is never among it. */
import {
  CiDeliverySchema,
  CiWebhookSchema,
  type CiDelivery,
  type CiWebhook,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { shown } from '../../kit/resource/index.ts';
import { webhookUrl, type Connection, type Webhook } from '../connections/index.ts';
import type { Delivery } from './store.ts';
import type { CiProvider, Scheme } from '../providers/index.ts';

export interface WebhookView {
  readonly connection: Pick<Connection, 'provider'>;
  readonly webhook: Webhook;
  readonly lastDeliveryAt: Date | null;
}

export function shownWebhook(
  { connection: { provider }, webhook, lastDeliveryAt }: WebhookView,
  publicUrl: string,
  now: Date,
): CiWebhook {
  const { connectionId, previousUntil } = webhook;
  return shown(CiWebhookSchema, webhook, {
    ciConnectionId: connectionId,
    provider,
    url: provider === 'jenkins' ? null : webhookUrl(publicUrl, webhook),
    hasSecret: webhook.secret !== null,
    previousSecretUntil: previousUntil !== null && previousUntil > now ? previousUntil : null,
    instructions: `${instructionsFor(provider, webhook.scheme)} The secret is shown when it is made: svc ci webhook rotate-secret ${connectionId} makes a new one.`,
    lastDeliveryAt,
  });
}

export const shownDelivery = (delivery: Delivery): CiDelivery =>
  shown(CiDeliverySchema, delivery, { ciConnectionId: delivery.connectionId });

const TEXTS: Readonly<Record<CiProvider, string>> = {
  github:
    'In the repository: Settings, Webhooks, Add webhook. Payload URL: the address; content type: application/json; secret: the secret; events: Workflow runs, Workflow jobs and Statuses.',
  gitlab:
    'In the project: Settings, Webhooks, Add new webhook. URL: the address; signing token: the secret; trigger: Pipeline events and Job events. A GitLab without signing tokens: rotate the secret with the scheme token and enter it as the secret token.',
  bitbucket:
    'In the repository: Repository settings, Webhooks, Add webhook. URL: the address; secret: the secret; triggers: Build status created, Build status updated and, where it is offered, Pipeline span created.',
  jenkins:
    'Notification plugin, in the job: Job Notifications, Add endpoint. Format: JSON; protocol: HTTP; event: All events; URL: the address, which holds the secret. A pipeline that can set headers sends to the address without it and the secret in X-Svc-Webhook-Token. `svc ci report` in the pipeline tells more.',
  circleci:
    'In the project: Project Settings, Webhooks, Add Webhook. Receiver URL: the address; secret token: the secret; events: Workflow Completed and Job Completed. There are no events of beginnings: `svc ci report` in the job tells them.',
  buildkite:
    'In the organization: Settings, Notification Services, Webhook, Add. Webhook URL: the address; token: the secret, sent as an HMAC signature; events: build and job; pipelines: those of this repository.',
  drone:
    'On the Drone server: DRONE_WEBHOOK_ENDPOINT is the address, DRONE_WEBHOOK_SECRET the secret, DRONE_WEBHOOK_EVENTS build:*. The server sends builds of all repositories: those of others are ignored.',
  azure:
    'In the project: Project settings, Service hooks, Create subscription, Web Hooks. Triggers: Run state changed, Run job state changed and Build completed; URL: the address; basic authentication: user svc, password the secret. The HTTP header X-Svc-Webhook-Token with the secret does as well.',
  generic:
    'Send JSON in the shape of POST /ci/runs, with jobs in the field jobs, or set genericMapping; signed as in Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature) with the secret.',
};

const WITH_TOKEN: Readonly<Partial<Record<CiProvider, string>>> = {
  gitlab:
    'In the project: Settings, Webhooks, Add new webhook. URL: the address; secret token: the secret; trigger: Pipeline events and Job events.',
  buildkite:
    'In the organization: Settings, Notification Services, Webhook, Add. Webhook URL: the address; token: the secret, sent as a plain token; events: build and job; pipelines: those of this repository.',
};

export function instructionsFor(provider: CiProvider, scheme: Scheme): string {
  return (scheme === 'token' ? WITH_TOKEN[provider] : undefined) ?? TEXTS[provider];
}
