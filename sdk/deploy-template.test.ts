import { describe, expect, it } from 'vitest';
import { useFakeServer } from './core/testing/fake-server.ts';
import { createSvcSDK } from './index.ts';

const server = useFakeServer();
const sdk = () => createSvcSDK({ baseUrl: server.baseUrl, maxRetries: 0 });
const deployed = { environment: { id: 'env_1' }, missingVariables: ['A'] };

describe('deployTemplate', () => {
  it('sends project, template, name and values, and answers what was made', async () => {
    server.reply({ status: 201, body: deployed });
    const values = { variables: { A: 'b' }, idempotencyKey: 'once' };
    expect(await sdk().projects.deployTemplate('prj_1', 'tpl_1', 'shop', values)).toEqual(deployed);
    expect(server.seen[0]).toMatchObject({
      method: 'POST',
      target: '/projects/prj_1/deploy-template',
      body: JSON.stringify({ templateId: 'tpl_1', name: 'shop', variables: { A: 'b' } }),
      headers: { 'idempotency-key': 'once' },
    });
  });

  it('does without name and values', async () => {
    server.reply({ status: 201, body: deployed });
    await sdk().projects.deployTemplate('prj_1', 'tpl_1');
    expect(server.seen[0]?.body).toBe(JSON.stringify({ templateId: 'tpl_1' }));
  });
});
