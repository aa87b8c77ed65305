export { ANONYMOUS, createAuthenticator } from './authenticate.ts';
export type { Authenticator } from './authenticate.ts';
export { SESSION_COOKIE } from './presented.ts';
