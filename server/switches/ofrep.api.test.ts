/** OFREP as its real clients use it: the published OpenFeature providers, against a real server. */
import { OFREPProvider } from '@openfeature/ofrep-provider';
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider';
import { ErrorCode, OpenFeature, ProviderStatus, type Client } from '@openfeature/server-sdk';
import {
  OpenFeature as WebOpenFeature,
  ProviderEvents,
  ProviderStatus as WebStatus,
  type Provider as WebProvider,
} from '@openfeature/web-sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { operationsOf } from '../../test/setup/platformfeatures/operations.ts';
import { useServer, withServer } from '../../test/setup/use-server.ts';

const postgresHere = await has('postgres');

describe.skipIf(!postgresHere)('platform features by OFREP', () => {
  const { server } = useServer();
  const { set } = operationsOf(() => server);

  beforeEach(async () => void (await set('host.ci', 'enabled')));
  afterEach(async () => {
    await OpenFeature.clearProviders();
    await WebOpenFeature.clearProviders();
  });

  const bearer = (credential: string | undefined): Array<[string, string]> =>
    credential === undefined ? [] : [['Authorization', `Bearer ${credential}`]];

  describe('with the server SDK, one flag at a time', () => {
    const clientOf = async (credential?: string): Promise<Client> => {
      const provider = new OFREPProvider({ baseUrl: server.baseUrl, headers: bearer(credential) });
      await OpenFeature.setProviderAndWait('one', provider);
      return OpenFeature.getClient('one');
    };

    it('answers what is enabled and public, and the default for everything else', async () => {
      for (const credential of [undefined, server.first.apiKey]) {
        const client = await clientOf(credential);
        expect(await client.getBooleanDetails('host.ci', false)).toMatchObject({
          value: true,
          reason: 'STATIC',
          variant: 'enabled',
          flagMetadata: {},
        });
        for (const key of ['host.incidents', 'host.runners', 'no.such.feature'])
          expect(await client.getBooleanDetails(key, true)).toMatchObject({
            value: true,
            reason: 'ERROR',
            errorCode: ErrorCode.FLAG_NOT_FOUND,
          });
      }
    });

    it('sees a change at its next question', async () => {
      const client = await clientOf();
      expect(await client.getBooleanValue('host.ci', false)).toBe(true);
      await set('host.ci', 'disabled');
      expect(await client.getBooleanValue('host.ci', false)).toBe(false);
      await set('host.ci', 'enabled');
      expect(await client.getBooleanValue('host.ci', false, { targetingKey: 'user_1', plan: 'pro' })).toBe(
        true,
      );
    });

    it('shows staff what is off, and why', async () => {
      const client = await clientOf(server.first.staffApiKey);
      await set('host.ci', 'disabled');
      expect(await client.getBooleanDetails('host.ci', true)).toMatchObject({
        value: false,
        reason: 'DISABLED',
        variant: 'disabled',
        flagMetadata: { featureReason: 'disabled', lifecycle: 'ga', visibility: 'public' },
      });
      expect(await client.getBooleanDetails('host.automation.maintenance', true)).toMatchObject({
        value: false,
        flagMetadata: { featureReason: 'disabled', lifecycle: 'experimental', visibility: 'internal' },
      });
      expect(await client.getBooleanValue('host.runners', false)).toBe(true);
      expect(await client.getBooleanDetails('no.such.feature', true)).toMatchObject({
        value: true,
        errorCode: ErrorCode.FLAG_NOT_FOUND,
      });
    });

    it('is of type boolean, and no other', async () => {
      const client = await clientOf();
      expect(await client.getStringDetails('host.ci', 'x')).toMatchObject({
        value: 'x',
        errorCode: ErrorCode.TYPE_MISMATCH,
      });
    });

    it('fails with bad credentials, and leaves the default', async () => {
      const client = await clientOf('svc_nonsense');
      expect(await client.getBooleanDetails('host.ci', false)).toMatchObject({
        value: false,
        reason: 'ERROR',
        errorCode: ErrorCode.GENERAL,
      });
    });
  });

  describe('with the web SDK, all flags at once', () => {
    /** This lists what the provider asked, by status. */
    let answers: number[] = [];
    // The provider's own types do not know exactOptionalPropertyTypes.
    const providerOf = (credential?: string, pollInterval = 0): WebProvider => {
      answers = [];
      return new OFREPWebProvider({
        baseUrl: server.baseUrl,
        headers: bearer(credential),
        cacheMode: 'disabled',
        pollInterval,
        fetchImplementation: async (input: string | URL | Request, init?: RequestInit) => {
          const response = await fetch(input, init);
          answers.push(response.status);
          return response;
        },
      }) as unknown as WebProvider;
    };

    it('reads what is enabled and public', async () => {
      await WebOpenFeature.setProviderAndWait('all', providerOf());
      const client = WebOpenFeature.getClient('all');
      expect(client.providerStatus).toBe(WebStatus.READY);
      expect(client.getBooleanDetails('host.ci', false)).toMatchObject({ value: true, reason: 'STATIC' });
      expect(client.getBooleanDetails('host.runners', false)).toMatchObject({
        value: false,
        errorCode: ErrorCode.FLAG_NOT_FOUND,
      });
    });

    it('is told 304 while nothing changed, and of a change when there was one', async () => {
      const provider = providerOf(undefined, 50);
      await WebOpenFeature.setProviderAndWait('all', provider);
      const client = WebOpenFeature.getClient('all');
      await expect.poll(() => answers.slice(0, 2)).toEqual([200, 304]);
      const changed = new Promise<readonly string[]>((resolve) => {
        client.addHandler(ProviderEvents.ConfigurationChanged, (details) =>
          resolve(details?.flagsChanged ?? []),
        );
      });
      await set('host.ci', 'disabled');
      expect(await changed).toEqual(['host.ci']);
      expect(client.getBooleanValue('host.ci', false)).toBe(false);
    });

    it('shows staff what is off, and why', async () => {
      await set('host.ci', 'disabled');
      await WebOpenFeature.setProviderAndWait('all', providerOf(server.first.staffApiKey));
      const client = WebOpenFeature.getClient('all');
      expect(client.getBooleanDetails('host.ci', true)).toMatchObject({
        value: false,
        reason: 'DISABLED',
        flagMetadata: { featureReason: 'disabled', visibility: 'public' },
      });
      expect(client.getBooleanValue('host.runners', false)).toBe(true);
    });

    it('is a fatal error with bad credentials', async () => {
      await expect(WebOpenFeature.setProviderAndWait('all', providerOf('svc_nonsense'))).rejects.toThrow();
      const client = WebOpenFeature.getClient('all');
      expect(client.providerStatus).toBe(WebStatus.FATAL);
      expect(client.getBooleanValue('host.ci', false)).toBe(false);
      expect(answers).toEqual([401]);
    });
  });

  it('waits as long as it is told when it asked too often', async () => {
    await withServer({ env: { LIMIT_ANONYMOUS_PER_MINUTE: '3' } }, async (strict) => {
      const provider = new OFREPProvider({ baseUrl: strict.baseUrl });
      await OpenFeature.setProviderAndWait('strict', provider);
      const client = OpenFeature.getClient('strict');
      expect(client.providerStatus).toBe(ProviderStatus.READY);
      for (let n = 0; n < 3; n += 1) expect(await client.getBooleanValue('host.ci', false)).toBe(true);
      // This is the same bucket as that of the resolver's own path.
      expect((await strict.call('GET /platform-features/resolved')).status).toBe(429);
      const limited = await client.getBooleanDetails('host.ci', false);
      expect(limited).toMatchObject({ value: false, errorCode: ErrorCode.GENERAL });
      expect(limited.errorMessage).toContain('rate limit exceeded, try again after');
      expect((await client.getBooleanDetails('host.ci', false)).errorMessage).toContain(
        'paused due to TooManyRequests',
      );
    });
  });
});
