/** Moves the switches of platform features, as staff do it. */
import type { TestServer } from './server.ts';

export async function setFeature(
  server: TestServer,
  key: string,
  state: 'enabled' | 'disabled',
): Promise<void> {
  const { status, text } = await server.call(`PATCH /admin/platform-features/${key}`, {
    as: server.first.staffApiKey,
    body: { state, reason: 'this test needs it so' },
  });
  if (status !== 200) throw new Error(`moving ${key} to ${state} answered ${status}: ${text}`);
}
