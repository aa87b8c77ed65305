/**
 * Defines what a contract says of one RPC: the route table, the pipeline and the contract tests read this.
 * contract.ts reads it from the descriptors of the services that `proto/gen/rpcs.ts` names.
 */
import type { DescMethod } from '@bufbuild/protobuf';
import type { FeatureKey } from '../features/manifest.ts';

export const TIMEOUT_MS_DEFAULT = 30_000;

export type Verb = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Audience = 'public' | 'runner' | 'internal';
export type Auth =
  | 'none'
  | 'optional'
  | 'required'
  | 'session'
  | 'staff'
  | 'enrollment_token'
  | 'runner'
  | 'internal';
export type Role = 'viewer' | 'developer' | 'admin' | 'owner';
export type Idempotency = 'keyed' | 'statement' | 'natural' | 'none';
export type RateLimit = 'default' | 'login' | 'submit' | 'machine';

/** One piece of a path template: a literal, or a variable bound to a request field. */
export type PathSegment =
  | { readonly literal: string }
  /** `field` is the dotted path of local (lowerCamel) field names; `multi` is a `**` or several segments. */
  | { readonly field: string; readonly multi?: true };

export interface RestRoute {
  readonly verb: Verb;
  /** As written in the contract, without variable patterns: `/teams/{team_id}/runners`. */
  readonly template: string;
  readonly segments: readonly PathSegment[];
  /** The word after `:`, when the template ends in a custom verb. */
  readonly customVerb?: string;
  /**
   * `''`: no body is accepted; `'*'`: the body is the whole message less path fields, no query; else one
   * local field name.
   */
  readonly body: string;
  /** Local name of the one response field that is the body; absent: the whole response. */
  readonly responseBody?: string;
}

/** A person approves it before an agent does it. */
export interface Approval {
  /** `build.create` */
  readonly action: string;
  /** Local name of the request field with the id of what it is done to. */
  readonly resource: string;
}

export interface RpcInfo {
  /** `svc.runners.v1.RunnersService/List`, also the Connect and gRPC path without its leading slash. */
  readonly id: string;
  readonly desc: DescMethod;
  readonly audience: Audience;
  readonly auth: Auth;
  /** Also takes an id_token of a CI job, or what one was exchanged for. */
  readonly idTokens?: true;
  /** Takes the session of a person, and no API key. */
  readonly sessionOnly?: true;
  /** Fields of the request that only the session of a person may set; local names. */
  readonly sessionFields?: readonly string[];
  /** Scope in its JSON spelling, `runner:read`. */
  readonly scope?: string;
  readonly role?: Role;
  /** No agent may call it, whatever it holds. */
  readonly agents?: 'never';
  /** An agent calls it with the approval of a person alone. */
  readonly approval?: Approval;
  readonly feature?: FeatureKey;
  /** Answered while the feature is off: what it would do is not done then. */
  readonly inertWhenOff?: true;
  /** Text field of the response without which REST answers an empty object; local name. */
  readonly emptyWithout?: string;
  readonly idempotency?: Idempotency;
  readonly successStatus: number;
  readonly timeoutMs: number;
  readonly bodyBytesMax: number;
  readonly rateLimit: RateLimit;
  readonly page?: { readonly items: string; readonly defaultLimit: number; readonly maxLimit: number };
  /** Local names. */
  readonly stream?: { readonly idField?: string; readonly resumeField?: string };
  /** Primary binding first; empty for internal RPCs. */
  readonly routes: readonly RestRoute[];
  /**
   * The request has a path variable `team_id`: the pipeline authorises the team before the implementation
   * runs.
   */
  readonly teamInPath: boolean;
}
