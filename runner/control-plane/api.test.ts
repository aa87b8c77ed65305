import { describe, expect, it } from 'vitest';
import { generateSigningKey } from '@svc/proto/signature/keys.ts';
import { createApi } from './api.ts';
import { createClockOffset } from '../platform/clock.ts';
import type { HttpRequest } from './http-client.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';

describe('call()', () => {
  it('sends no text that the control plane cannot store', async () => {
    const sent: HttpRequest[] = [];
    const api = createApi({
      baseUrl: 'https://cp.example',
      runnerId: 'rnr_1',
      key: generateSigningKey(),
      http: {
        async send(request) {
          sent.push(request);
          const times = { sentAtMs: 0, receivedAtMs: 0, sentMonotonicMs: 0 };
          return await Promise.resolve({ status: 200, headers: {}, body: Buffer.from('{}'), ...times });
        },
        close: () => undefined,
      },
      offset: createClockOffset(),
      log: collectedLog(),
    });
    const result = { id: 'bld_1', epoch: 1, reportId: 'report-0001', reason: 'exit' } as const;
    await api.call('build-report', { ...result, message: 'tail: \0\ud83d', build: { address: '\0' } });
    const [body] = sent.map((request) => JSON.parse(Buffer.from(request.body ?? []).toString()) as unknown);
    expect(body).toEqual({ ...result, message: 'tail: \ufffd\ufffd', build: { address: '\ufffd' } });
  });
});
