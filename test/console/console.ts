/** The console as its users meet it: the built pages, the real server, a real browser. */
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page, Request } from 'playwright-core';
import { buildConsole } from '../../server/console/build.mjs';
import type { Clock } from '../../server/base/clock.ts';
import { chromiumPath } from '../setup/needs.ts';
import { join, signIn } from '../setup/people.ts';
import type { Person } from '../setup/people.ts';
import { request, startTestServer } from '../setup/server.ts';
import type { TestServer } from '../setup/server.ts';

export interface Console {
  readonly server: TestServer;
  readonly browser: Browser;
  /** The server's time runs ahead by so much more from now on. */
  passTime(ms: number): void;
  /** A tab of its own browser profile; every complaint of the browser about it is collected. */
  open(path: string, options?: BrowserContextOptions): Promise<Tab>;
  /**
   * The same, signed in: by the form the first time, and then by the cookie of that session as long as it
   * holds.
   */
  openAs(
    path: string,
    who: Pick<Person, 'email' | 'password'>,
    options?: BrowserContextOptions,
  ): Promise<Tab>;
  /** Does so as the first staff account. */
  openAsStaff(path: string, options?: BrowserContextOptions): Promise<Tab>;
  /** Moves a switch as Ada, another member of the staff, at her own console. */
  move(key: string, state: 'enabled' | 'disabled', reason: string): Promise<void>;
  readonly ada: Person;
  stop(): Promise<void>;
}

export interface Tab {
  readonly page: Page;
  /** Uncaught errors and refusals of the content security policy. */
  readonly complaints: readonly string[];
  /** Another tab of the same profile. */
  another(path: string): Promise<Page>;
  close(): Promise<void>;
}

/** What a test waits for is there within milliseconds; a machine that is busy gets some seconds. */
const WITHIN_MS = 20_000;
const OPENINGS_MAX = 5;

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };
/** Views, which are each width in both colour schemes. */
export const VIEWS = (
  [
    ['1280', DESKTOP],
    ['390', PHONE],
  ] as const
).flatMap(([size, viewport]) =>
  (['light', 'dark'] as const).map(
    (colorScheme) => [`${size} px, ${colorScheme}`, { viewport, colorScheme }] as const,
  ),
);

const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function startConsole(
  env: Readonly<Record<string, string>> = {},
  startedAgoMs = 0,
): Promise<Console> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) throw new Error('no Chromium here: ask has("chromium") first');
  // The server serves what lies in this folder, so that a test sees the sources as they are.
  await buildConsole({ outDir: new URL('../../server/dist/console', import.meta.url).pathname });
  let aheadMs = -startedAgoMs;
  const clock: Clock = {
    now: () => new Date(Date.now() + aheadMs),
    monotonicMs: () => performance.now() + aheadMs + startedAgoMs,
  };
  // A fresh profile in a folder of its own, which the browser removes at its end.
  const launching = chromium.launch({ executablePath, args: CHROMIUM_ARGS });
  const server = await startTestServer({
    env: { LIMIT_ANONYMOUS_PER_MINUTE: '1000000', ...env },
    clock,
  }).catch(async (error: unknown) => {
    await (await launching).close();
    throw error;
  });
  const browser = await launching;
  const ada = await addStaff(server);

  const open = async (path: string, options: BrowserContextOptions = {}): Promise<Tab> => {
    const context = await browser.newContext({
      viewport: DESKTOP,
      baseURL: server.baseUrl,
      locale: 'en-GB',
      reducedMotion: 'reduce',
      ...options,
    });
    context.setDefaultTimeout(WITHIN_MS);
    // screenshots.ts has no test runner around it.
    if (process.env['VITEST'] !== undefined) (await import('./last-seen.ts')).tellWhenFailed(context);
    const complaints: string[] = [];
    context.on('page', (page) => {
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('console', (message) => {
        if (/content security policy/i.test(message.text())) complaints.push(message.text());
      });
    });
    const another = async (at: string): Promise<Page> => {
      const page = await context.newPage();
      await openWhole(page, at);
      return page;
    };
    return { page: await another(path), complaints, another, close: async () => await context.close() };
  };

  const sessions = new Map<string, Awaited<ReturnType<BrowserContext['storageState']>>>();
  const openAs: Console['openAs'] = async (path, { email, password }, options) => {
    const storageState = sessions.get(email);
    const tab = await open(path, { ...options, ...(storageState === undefined ? {} : { storageState }) });
    const { page } = tab;
    const form = page.getByLabel('E-mail address');
    await page.locator('.whoami').or(form).first().waitFor();
    if (await form.isVisible()) {
      await signInAs(page, email, password);
      await page.locator('.whoami').waitFor();
      sessions.set(email, await page.context().storageState());
    }
    return tab;
  };

  return {
    server,
    browser,
    ada,
    passTime: (ms) => {
      aheadMs += ms;
    },
    open,
    openAs,
    openAsStaff: async (path, options) =>
      await openAs(path, { email: server.first.staffEmail, password: server.first.staffPassword }, options),
    move: async (key, state, reason) => {
      const answer = await request(server.baseUrl, `PATCH /admin/platform-features/${key}`, {
        as: (await signIn(server, ada.email)).token,
        body: { state, reason },
        headers: { 'x-svc-client': 'console' },
      });
      if (answer.status !== 200) throw new Error(`moving ${key} answered ${answer.status}: ${answer.text}`);
    },
    stop: async () => {
      await browser.close();
      await server.stop();
    },
  };
}

export async function signInAs(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Nobody becomes staff through the API. */
async function addStaff(server: TestServer): Promise<Person> {
  const person = await join(server, server.first.apiKey, { teamId: server.first.teamId, role: 'viewer' });
  await server.db.sql`update users set email = 'ada@svc.local', staff = true where id = ${person.userId}`;
  return { ...person, email: 'ada@svc.local' };
}

const NETWORK_CHANGED = 'net::ERR_NETWORK_CHANGED';

/**
 * Opens a page with all that it fetches first. Containers of other stories bring interfaces of this machine
 * up and down, upon which Chromium breaks off what it is fetching: that is fetched again.
 */
async function openWhole(page: Page, at: string): Promise<void> {
  let isBroken = false;
  const noted = (request: Request): void => {
    isBroken ||= request.failure()?.errorText === NETWORK_CHANGED;
  };
  page.on('requestfailed', noted);
  for (let left = OPENINGS_MAX; left > 0; left -= 1) {
    isBroken = false;
    await page.goto(at).catch((error: unknown) => {
      if (!String(error).includes(NETWORK_CHANGED)) throw error;
      isBroken = true;
    });
    if (!isBroken) break;
  }
  page.off('requestfailed', noted);
}
