/**
 * Passwords are hashed by scrypt, in the PHC string format. One hash takes about 0.4 s and 128 MiB on the
 * thread pool, so two run at a time and a bounded number waits: sign-in under attack gets slow or refused,
 * the process does not run out of memory. Strangers have few places for each network, and wait behind whoever
 * is no stranger, so that they keep neither those nor each other out.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { apiError } from '@svc/proto/http/errors.ts';

export interface PasswordCost {
  /** log2 of N. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/** OWASP's minimum for scrypt. */
export const DEFAULT_COST: PasswordCost = { ln: 17, r: 8, p: 1 };
export const PASSWORD_BYTES_MAX = 256;
const RUNNING_MAX = 2;
/** So many strangers wait at most, and as many others. */
const WAITING_MAX = 64;
/** Most strangers of one network that wait. */
const WAITING_OF_NETWORK_MAX = 4;
const HASH_BYTES = 32;

export interface Passwords {
  hash(password: string): Promise<string>;
  /**
   * False also for nobody (`stored` undefined), after the same work. `stale`: hash it again with the cost of
   * today. `stranger`: the network of a caller who has shown nothing yet.
   */
  verify(
    password: string,
    stored: string | undefined,
    stranger?: string,
  ): Promise<{ readonly ok: boolean; readonly stale: boolean }>;
}

interface Parsed {
  readonly cost: PasswordCost;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

export function createPasswords(cost: PasswordCost = DEFAULT_COST): Passwords {
  const turn = createTurnstile();
  const derive = async (
    password: string,
    { salt, cost: own, hash }: Parsed,
    stranger?: string,
  ): Promise<Buffer> =>
    await turn(
      stranger,
      async () =>
        await new Promise((resolve, reject) => {
          const N = 2 ** own.ln;
          const maxmem = 256 * N * own.r; // twice what it needs; the default refuses this cost
          scrypt(
            password.normalize('NFKC'),
            salt,
            hash.length,
            { N, r: own.r, p: own.p, maxmem },
            (error, key) => (error === null ? resolve(key) : reject(error)),
          );
        }),
    );
  // Nobody's password: unknown accounts take the time of known ones.
  const nobody: Parsed = { cost, salt: randomBytes(16), hash: randomBytes(HASH_BYTES) };

  return {
    hash: async (password) => {
      assertSize(password);
      const empty: Parsed = { cost, salt: randomBytes(16), hash: Buffer.alloc(HASH_BYTES) };
      return format({ ...empty, hash: await derive(password, empty) });
    },
    verify: async (password, stored, stranger) => {
      if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) return { ok: false, stale: false };
      const wanted = stored === undefined ? nobody : parse(stored);
      const got = await derive(password, wanted, stranger);
      const ok = timingSafeEqual(got, wanted.hash) && stored !== undefined;
      const { ln, r, p } = wanted.cost;
      return { ok, stale: ok && (ln !== cost.ln || r !== cost.r || p !== cost.p) };
    },
  };
}

function assertSize(password: string): void {
  const bytes = Buffer.byteLength(password);
  if (bytes > PASSWORD_BYTES_MAX)
    throw apiError(
      'password_weak',
      `password has ${bytes} bytes, at most ${PASSWORD_BYTES_MAX} are accepted`,
    );
}

function format({ cost, salt, hash }: Parsed): string {
  const text = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${text(salt)}$${text(hash)}`;
}

function parse(stored: string): Parsed {
  const match = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(
    stored,
  );
  if (match === null) throw new Error('stored password is not a scrypt string: the row is damaged');
  const [, ln, r, p, salt = '', hash = ''] = match;
  return {
    cost: { ln: Number(ln), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

interface Waiting {
  readonly stranger: string | undefined;
  begin(): void;
}

/**
 * Lets `RUNNING_MAX` through at a time: who is no stranger first, then first come, first served. Refuses when
 * too many wait.
 */
export function createTurnstile(): <T>(stranger: string | undefined, work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: Waiting[] = [];
  const assertRoom = (stranger: string | undefined): void => {
    const alike = waiting.filter((one) => (one.stranger === undefined) === (stranger === undefined));
    const near = alike.filter((one) => one.stranger === stranger);
    if (alike.length < WAITING_MAX && (stranger === undefined || near.length < WAITING_OF_NETWORK_MAX))
      return;
    throw apiError('unavailable', 'too many sign-ins at once; try again in a few seconds', {
      retryAfterMs: 5_000,
    });
  };
  const takeNext = (): Waiting | undefined => {
    const first = waiting.findIndex(({ stranger }) => stranger === undefined);
    return waiting.splice(Math.max(first, 0), 1)[0];
  };
  return async (stranger, work) => {
    if (running >= RUNNING_MAX) {
      assertRoom(stranger);
      // The one before hands its place over: `running` stays.
      await new Promise<void>((begin) => waiting.push({ stranger, begin }));
    } else {
      running += 1;
    }
    try {
      return await work();
    } finally {
      const next = takeNext();
      if (next === undefined) running -= 1;
      else next.begin();
    }
  };
}

/**
 * This throws `password_weak` with the reason. The length is checked by the contract already; this is for
 * internal callers too.
 */
export function checkPasswordStrength(
  password: string,
  own: { readonly email: string; readonly username: string },
): void {
  const refuse = (why: string): never => {
    throw apiError('password_weak', `password ${why}; choose a longer or less regular one`);
  };
  if ([...password].length < 12) refuse(`has ${[...password].length} characters, expected at least 12`);
  const plain = password.toLowerCase();
  if (plain === own.email.toLowerCase() || plain === own.username.toLowerCase())
    refuse('equals the e-mail address or the user name');
  if (new Set(plain).size < 5)
    refuse(`uses only ${new Set(plain).size} different characters, expected at least 5`);
}
