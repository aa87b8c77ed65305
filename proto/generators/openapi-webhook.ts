/** `POST /ci/webhooks/{hook}`, which is no RPC: what it takes is in the words of each provider. */
import type { JsonObject } from './openapi-schemas.ts';

export const WEBHOOK_PATH = '/ci/webhooks/{hook}';
/** Documents without this service have no webhooks. */
export const WEBHOOK_SERVICE = 'svc.ci.v1.CiService';

/**
 * Headers that a provider sends, and the way in which they prove where the body comes from. `hmac`:
 * HMAC-SHA256 with the webhook's secret.
 */
const PROVIDERS = [
  ['github', '`X-Hub-Signature-256: sha256=<hex>`, hmac of the body; `X-GitHub-Event`, `X-GitHub-Delivery`'],
  [
    'gitlab',
    'scheme signature: `webhook-id`, `webhook-timestamp` (±5 min), `webhook-signature: v1,<base64>`, hmac of `<id>.<timestamp>.<body>`; scheme token: `X-Gitlab-Token`, the secret; `X-Gitlab-Event`, `Idempotency-Key`',
  ],
  ['bitbucket', '`X-Hub-Signature: sha256=<hex>`, hmac of the body; `X-Event-Key`, `X-Request-UUID`'],
  ['circleci', '`circleci-signature: v1=<hex>`, hmac of the body; `circleci-event-type`'],
  [
    'buildkite',
    'scheme signature: `X-Buildkite-Signature: timestamp=<s>,signature=<hex>`, hmac of `<timestamp>.<body>`; scheme token: `X-Buildkite-Token`, the secret; `X-Buildkite-Event`',
  ],
  [
    'drone',
    '`Date`, `Digest: SHA-256=<base64>` of the body, `Signature` with `headers="date digest"`, hmac of both; `X-Drone-Event`',
  ],
  ['azure', '`Authorization: Basic …`, user `svc` and the secret, or `X-Svc-Webhook-Token`, the secret'],
  ['jenkins', 'the secret behind the id in the address (`<hook>.<secret>`), or `X-Svc-Webhook-Token`'],
  [
    'generic',
    '`webhook-id`, `webhook-timestamp` (±5 min), `webhook-signature: v1,<base64>`, as GitLab signs',
  ],
] as const;

const headersIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([A-Za-z]+(?:-[A-Za-z0-9]+)+|Date|Digest|Signature)[:`]/g)].map(
    (match) => match[1] ?? '',
  );

const HEADERS = [...new Set(PROVIDERS.flatMap(([, text]) => headersIn(text)))];

const sendersOf = (header: string): string =>
  PROVIDERS.filter(([, text]) => headersIn(text).includes(header))
    .map(([provider]) => provider)
    .join(', ');

const DESCRIPTION =
  `Where a CI connection's webhook is sent to by its provider; \`ci.getWebhook\` shows the address. JSON in the provider's own shape, at most 5 MiB; of GitHub
also a form with the field \`payload\`. No API key: each provider proves where the body comes from in its own way, by the connection's provider and
scheme and never by which header is there. A repeated delivery is known by the provider's id, else by its body.`.replaceAll(
    '\n',
    ' ',
  );

export const webhookOperation: JsonObject = {
  operationId: 'ci.receiveWebhook',
  tags: ['ci'],
  summary: 'Takes a webhook of a CI system.',
  description: `${DESCRIPTION}\n\n${PROVIDERS.map(([name, text]) => `- ${name}: ${text}.`).join('\n')}`,
  parameters: [
    {
      name: 'hook',
      in: 'path',
      required: true,
      description: 'Webhook id, `cih_…`; of Jenkins with a dot and the secret behind it.',
      example: 'cih_01kf3m9a7ve4tbq2h8n6wxy5zd',
      schema: { type: 'string', pattern: '^cih_[0-9a-z]{26}(\\.[\\w-]{1,200})?$' },
    },
    ...HEADERS.map((name) => ({
      name,
      in: 'header',
      description: `Sent by ${sendersOf(name)}.`,
      schema: { type: 'string' },
    })),
  ],
  requestBody: {
    required: true,
    content: {
      'application/json': { schema: {}, example: { action: 'completed', workflow_run: { id: 42 } } },
      'application/x-www-form-urlencoded': {
        schema: { type: 'object', properties: { payload: { type: 'string', description: 'The JSON.' } } },
        example: { payload: '{"action":"completed","workflow_run":{"id":42}}' },
      },
    },
  },
  responses: {
    200: answer(
      'Nothing new: it came before, or the connection takes direct reports alone; the list of deliveries has it.',
      {
        duplicate: { type: 'boolean', description: 'It came before.' },
        ignored: { type: 'string', description: 'Why it is not read, and the command that changes that.' },
      },
    ),
    202: answer('It is stored, and read behind that.', {
      held: { type: 'string', description: 'Why it is not read yet: the connection is paused.' },
    }),
    401: refusal('`signature_invalid`: the secret of the connection does not prove it.'),
    403: refusal('`feature_disabled`'),
    404: refusal('`not_found`: no such webhook, or one without a secret.'),
    413: refusal('`body_too_large`'),
    503: refusal('`unavailable`: too much waits to be stored; send it again later.'),
    default: refusal('Any other error.'),
  },
  security: [],
  'x-svc-feature': 'host.ci',
  'x-svc-stability': 'stable',
};

function answer(description: string, more: JsonObject): JsonObject {
  const id = { type: 'string', description: 'Delivery id, `ciw_…`.' };
  const schema = { type: 'object', required: ['id'], properties: { id, ...more } };
  const example = { id: 'ciw_01kf3m9a7ve4tbq2h8n6wxy5zd' };
  return { description, content: { 'application/json': { schema, example } } };
}

function refusal(description: string): JsonObject {
  return { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } };
}
