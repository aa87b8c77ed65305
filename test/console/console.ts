/** The console as its users meet it: the built pages, the real server, a real browser. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
  type Request,
} from 'playwright-core';
import { buildConsole } from '../../server/console/build.mjs';
import type { Clock } from '../../server/base/clock.ts';
import { createMigratedDatabase } from '../setup/database.ts';
import { chromiumPath, has } from '../setup/needs.ts';
import { join, signIn, type Person } from '../setup/people.ts';
import { request, startTestServer, type TestServer, type TestServerOptions } from '../setup/server.ts';

export interface Console {
  readonly server: TestServer;
  /**
   * A tab of its own browser profile, which is closed with the test; every complaint of the browser about it
   * is collected.
   */
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
}

/** Console of a server of one's own. */
export interface OwnConsole extends Console {
  /** The server's time runs ahead by so much more from now on. */
  passTime(ms: number): void;
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
/** Windows as narrow as a phone's are pressed with a finger. */
const touchOf = ({ viewport }: BrowserContextOptions) =>
  (viewport?.width ?? DESKTOP.width) <= PHONE.width ? { hasTouch: true, isMobile: true } : {};
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

/** Both are kept on the process, whose files are run one after the other. */
const HELD = Symbol.for('svc.test.console');
interface Holder {
  [HELD]?: { browser?: Promise<Browser>; console?: Promise<Console> };
}
const held = ((process as Holder)[HELD] ??= {});

/** Returns whether this machine has what a story of the console needs. */
export const isConsoleHere = async (): Promise<boolean> => (await has('postgres')) && (await has('chromium'));

/**
 * Returns what names begin with that are removed after a run; screenshots.ts has no test runner around it.
 */
const prefixOfRun = async (): Promise<string> => (await import('vitest')).inject('worldPrefix');
const folderOfRun = async (): Promise<string> => mkdtempSync(joinPath(tmpdir(), `${await prefixOfRun()}_`));

async function launch(): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) throw new Error('no Chromium here: ask isConsoleHere() first');
  // A worker process ends without a word, and its browser with it: what that leaves goes with the run.
  const { TMPDIR } = process.env;
  if (process.env['VITEST'] !== undefined) process.env['TMPDIR'] = await folderOfRun();
  try {
    return await chromium.launch({ executablePath, args: CHROMIUM_ARGS });
  } finally {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  }
}
const sharedBrowser = async (): Promise<Browser> => await (held.browser ??= launch());

/** Ends the browser, for programs; that of a test ends with its process. */
export const closeBrowser = async (): Promise<void> => await (await sharedBrowser()).close();

export async function startServer({ env, ...options }: TestServerOptions = {}): Promise<TestServer> {
  // The server serves what lies in this folder, so that a test sees the sources as they are.
  await buildConsole({ outDir: new URL('../../server/dist/console', import.meta.url).pathname });
  return await startTestServer({ ...options, env: { LIMIT_ANONYMOUS_PER_MINUTE: '1000000', ...env } });
}

/**
 * Returns the console of the one server that the stories of a process share. Each has a team of its own
 * there, and moves neither switches nor the clock.
 */
export async function sharedConsole(): Promise<Console> {
  const start = async () => {
    const { url } = await createMigratedDatabase(await prefixOfRun());
    const dataDir = await folderOfRun();
    const env = { LEASE_MS: '60000', LIMIT_PAGES_PER_MINUTE: '1000000' };
    return await consoleOf(await startServer({ databaseUrl: url, dataDir, env }));
  };
  return await (held.console ??= start());
}

export async function startConsole(
  env: Readonly<Record<string, string>> = {},
  startedAgoMs = 0,
): Promise<OwnConsole> {
  let aheadMs = -startedAgoMs;
  const clock: Clock = {
    now: () => new Date(Date.now() + aheadMs),
    monotonicMs: () => performance.now() + aheadMs + startedAgoMs,
  };
  const server = await startServer({ env, clock });
  const console_ = await consoleOf(server);
  const ada = await addStaff(server);
  const staff = { email: server.first.staffEmail, password: server.first.staffPassword };
  return {
    ...console_,
    ada,
    passTime: (ms) => {
      aheadMs += ms;
    },
    openAsStaff: async (path, options) => await console_.openAs(path, staff, options),
    move: async (key, state, reason) => {
      const answer = await request(server.baseUrl, `PATCH /admin/platform-features/${key}`, {
        as: (await signIn(server, ada.email)).token,
        body: { state, reason },
        headers: { 'x-svc-client': 'console' },
      });
      if (answer.status !== 200) throw new Error(`moving ${key} answered ${answer.status}: ${answer.text}`);
    },
    stop: async () => await server.stop(),
  };
}

/** Opens pages of a server that `startServer` has started. */
export async function consoleOf(server: TestServer): Promise<Console> {
  const browser = await sharedBrowser();
  const open = async (path: string, options: BrowserContextOptions = {}): Promise<Tab> => {
    const context = await browser.newContext({
      viewport: DESKTOP,
      baseURL: server.baseUrl,
      locale: 'en-GB',
      reducedMotion: 'reduce',
      ...touchOf(options),
      ...options,
    });
    context.setDefaultTimeout(WITHIN_MS);
    if (process.env['VITEST'] !== undefined) (await import('./last-seen.ts')).closeWithTest(context);
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
    await page.locator('.crumbs').or(form).first().waitFor();
    if (await form.isVisible()) {
      await signInAs(page, email, password);
      await page.locator('.crumbs').waitFor();
      sessions.set(email, await page.context().storageState());
    }
    return tab;
  };
  return { server, open, openAs };
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
