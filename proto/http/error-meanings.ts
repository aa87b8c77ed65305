/**
 * Says in whole sentences when each error is answered, for the documents. The table that counts is in
 * errors.ts.
 */
import type { ErrorCode } from './errors.ts';

export const ERROR_MEANINGS: Readonly<Record<ErrorCode, string>> = {
  agent_disabled: 'The agent is switched off; an admin switches it on.',
  agent_forbidden: 'No agent may do this, whatever it holds; a person can.',
  agent_unknown: 'No agent of the team has this id, is switched on and holds what the work needs.',
  already_member: 'The person is a member of the team already.',
  approval_invalid: 'The token in `Svc-Approval` approves no such call, or not any more.',
  approval_required:
    'An agent does this with the approval of a person alone; `details.approvalId` names the request that the call has left.',
  attestation_invalid:
    'The upload is no Sigstore bundle or DSSE envelope with one signature and a statement of in-toto.',
  attestation_subject_mismatch:
    'The statement is about other digests than that of the artifact; `details.digest` is the one expected.',
  billing_not_started:
    'Nothing was bought with this account yet, so that the provider of payments has no portal for it.',
  billing_payer: 'The account pays for the team; another owner has to take that over first.',
  billing_unconfigured: 'This installation has no provider of payments.',
  body_too_large:
    'The body, or what it unpacks to, is larger than this request may have; `details.limitBytes` is the most.',
  boot_superseded: 'A newer process of the same runner has taken over; this one must stop.',
  build_not_deployable:
    'The build cannot be deployed again: it did not succeed, it published no image, or its environment has no deploy target.',
  build_not_waiting: 'The build does not wait for an approval of its deploy.',
  ci_connection_paused:
    'The CI connection is paused, so that nothing is reported to it or discovered through it.',
  ci_run_conflict:
    'The run is known with other facts that cannot change, such as another commit; another run or attempt has an id of its own.',
  claim_invalid: 'The claim of an address does not exist, was used or replaced, or is too old.',
  client_closed: 'The client left before the answer; it stands in logs and metrics alone.',
  clock_skew: 'The signature was made too long ago or lies in the future; set the clock of the machine.',
  credentials_invalid: 'The API key, the session or the password is not valid, was revoked, or has expired.',
  credentials_missing: 'The request carries no credential, and this one needs it.',
  credit_remaining: 'The team has credit that was bought; it must be used or refunded first.',
  csrf_refused: 'A request with a session cookie came from a page of another site.',
  currency_unsupported: 'The installation counts in another currency; `details.currency` names it.',
  database_exists:
    'The environment has another database, of another type or image, or one that is still being deleted.',
  deadline_exceeded: 'The call was not done within its time.',
  edge_unavailable:
    'The runner of the environment serves no names; the message says how its operator switches that on.',
  email_unverified: 'The account must have a verified e-mail address for this.',
  environment_incomplete:
    'The environment has no repository to build from, no deploy target, or its images have no registry to go to.',
  environment_locked: 'A build holds the environment; the details name it.',
  environment_protected:
    'The rules of the environment refuse it: it takes promotions alone, or no approval of who asked for a promotion.',
  feature_disabled: 'The platform feature that this belongs to is switched off.',
  feature_not_toggleable:
    'The feature cannot be switched here: a variable decides it, or it is not built yet.',
  feature_unknown: 'No platform feature has this key.',
  headers_too_large: 'The headers of the request are larger than the server reads.',
  host_path_refused: 'The path of the machine is not one that its operator lists for environments.',
  host_unavailable:
    'The machine that the environment is deployed to cannot do this, or none that may deploy it is there.',
  id_token_invalid: 'The id_token is malformed, expired, or not signed by an issuer that is taken.',
  id_token_refused: 'The id_token is genuine, and its repository or its job may not do this.',
  id_token_used: 'The id_token was used before; each is good for one call.',
  idempotency_in_progress: 'A call with the same Idempotency-Key is still running.',
  idempotency_key_invalid: 'The Idempotency-Key is empty, too long, or holds characters that it may not.',
  idempotency_key_reused: 'The Idempotency-Key was used for another request.',
  in_use:
    'Something that has not ended uses the resource; `details.resource` is its kind, `details.builds` names some builds.',
  internal: 'Something went wrong in the service; the request id names it in the log.',
  invite_invalid: 'The invitation does not exist, was revoked or used, or has expired.',
  invite_other_account: 'The invitation is for another address than the one of this account.',
  key_in_use: 'Another runner was enrolled with this key.',
  key_unknown: 'No runner of this id is enrolled with the key.',
  key_weak: 'The public key of the runner is not safe to use.',
  last_owner: 'The team would be left without an owner.',
  legal_review_required:
    'The compliance package was not marked as reviewed yet, `details.state` says where it stands; an owner of the team marks it.',
  limit_reached: 'There are as many as there may be; `details.limit` says how many.',
  log_digest_mismatch:
    'What was sent is not the output that its digest stands for; `details.nextOffset` says where to go on.',
  log_gap: 'Output is missing before what was sent; `details.nextOffset` says where to go on.',
  mail_unconfigured: 'This installation has no mail server, so that nothing is mailed.',
  method_not_allowed: 'The path is known, with other methods than this; `Allow` names them.',
  misdirected: 'The request came to an address for which it was not meant.',
  name_taken: 'Another one has this name already.',
  not_found: 'It does not exist, or the caller may not know that it does.',
  passport_not_ready:
    'The passport of the artifact is not made yet; it is two seconds after the last event about the artifact.',
  password_weak: 'The password is too easy to guess.',
  permission_beyond_kind: 'The kind of an agent does not allow these permissions.',
  plan_current: 'The account has this plan already.',
  plan_unknown: 'No plan has this id, or it cannot be bought.',
  policy_denied:
    'A policy of the team refuses this; `details.failed` has the rules that do not hold, each with its policy, its message and whether an owner may override it.',
  policy_document_invalid:
    'The document of the policy cannot be taken; `details.problems` has the place, the position, the message and a suggestion of each problem.',
  precondition_failed: 'It has changed since the revision that `If-Match` names.',
  promotion_not_pending:
    'The promotion does not wait for approvals any more; `details.state` says where it stands.',
  proof_required:
    'The session alone is not enough: the password or a one-time code must be sent as well, or both were used to sign in within the last ten minutes.',
  rate_limited: 'There were too many requests; `Retry-After` says when the next one is taken.',
  reason_required: 'The change needs a reason.',
  region_unknown: 'No region has this id.',
  replayed: 'A request with this nonce came before; every attempt is signed anew.',
  request_invalid: 'The request cannot be read.',
  request_timeout: 'The request did not come in whole within its time.',
  role_insufficient:
    'The role of the caller in the team is too weak for this; the details name the least one.',
  runner_revoked: 'The runner was revoked by its team.',
  scope_missing:
    'The credential, or the role in the team, does not have the scope that this needs; `details.scope` names it.',
  session_required: 'An API key cannot do this: it needs a session of the account.',
  signature_invalid: "The runner's signature does not fit the request.",
  signature_missing: 'The request of a runner is not signed.',
  spend_refused:
    'New work is refused because of what it costs: `details.cause` is `included_time`, `budget` or `payment`, with the figures, when it ends and who can change it.',
  sponsor_missing: 'The person who answers for the agent is no member of the team; name another sponsor.',
  stale_epoch: 'The work was given to another runner, or has ended, since this one held it.',
  state_conflict: 'It is in a state from which this is not possible; the message names the state.',
  team_protected: 'The team holds the runners of the service itself and cannot be deleted.',
  token_invalid: 'The enrollment token does not exist, was used, or is older than 15 minutes.',
  too_many_streams: 'As many streams are open as may be; close one, or wait.',
  totp_already_enrolled: 'One-time codes are switched on already.',
  totp_invalid: 'The one-time code is wrong, or was used before.',
  totp_not_pending: 'No enrollment of one-time codes has begun.',
  totp_required: 'The account signs in with a one-time code as well.',
  unavailable: 'A part of the service is not there for the moment.',
  unsupported_media_type: 'The body is of a content type, or an encoding, that is not taken.',
  username_taken: 'Another account has this user name.',
  validation_failed: 'A value of the request breaks a rule of the contract; `details.fields` names each.',
  variable_managed: 'Another resource of the environment sets the variable; `details.managedBy` names it.',
  version_taken: 'The project has a release of this version, in whatever case it is written.',
};
