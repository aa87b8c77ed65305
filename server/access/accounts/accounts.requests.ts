/** The tests of the contract send these requests, one for each RPC. */
import { nothing, type Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.account.v1.AdminAccountsService/CreateClaim': {
    gives: {
      what: 'a claim of an address',
      bound: 'a session of staff alone, recorded; ends after 7 days and with the staff flag of who made it',
      story: 'server/access/teams/unverified.api.test.ts',
    },
    fields: () => ({ email: 'claimed@example.com' }),
    as: 'staff_session',
  },
  'svc.account.v1.AdminAccountsService/Find': {
    gives: 'nothing',
    fields: () => ({ email: 'owner@example.com' }),
  },
  'svc.account.v1.AdminAccountsService/VerifyEmail': {
    gives: {
      what: 'what verified accounts may do',
      bound: 'a session of staff alone, recorded',
      story: 'server/access/teams/unverified.api.test.ts',
    },
    fields: ({ memberId }) => ({ userId: memberId }),
    as: 'staff_session',
  },
  'svc.account.v1.AccountService/ClaimEmail': {
    gives: {
      what: 'a verified account',
      bound:
        'the token of a claim by staff, once, while who made it is staff; what held the address loses all it had',
      story: 'server/access/teams/unverified.api.test.ts',
    },
    guards: 'nothing',
    fields: () => ({ token: 'claim_unknown', username: 'claimant', password: 'a long pass phrase' }),
    status: 404,
    as: 'nobody',
  },
  'svc.account.v1.AccountService/ChangePassword': {
    gives: {
      what: 'a password',
      bound: 'a session alone, with the current password; every other session ends',
      story: 'server/access/accounts/accounts.api.test.ts',
    },
    guards: 'nothing',
    fields: () => ({ currentPassword: 'not the password', newPassword: 'a new long pass phrase' }),
    status: 401,
  },
  'svc.account.v1.AccountService/RequestEmailVerification': {
    gives: 'nothing',
    guards: 'nothing',
    fields: nothing,
    status: 503,
  },
  'svc.account.v1.AccountService/VerifyEmail': {
    gives: {
      what: 'what verified accounts may do',
      bound: 'a session alone, and a token that was mailed to the address, once and within a day',
      story: 'server/access/accounts/email-verification.api.test.ts',
    },
    guards: 'nothing',
    fields: () => ({ token: 'emt_unknown' }),
    status: 404,
  },
  'svc.account.v1.AccountService/ListSessions': { gives: 'nothing', fields: nothing },
  'svc.account.v1.AccountService/RevokeOtherSessions': {
    last: 11,
    gives: 'nothing',
    guards: 'nothing',
    fields: nothing,
  },
  'svc.account.v1.AccountService/RevokeSession': {
    gives: 'nothing',
    guards: 'nothing',
    fields: () => ({ sessionId: 'ses_unknown' }),
    status: 404,
  },
  'svc.account.v1.AccountService/Plan': { gives: 'nothing', fields: nothing },
  'svc.account.v1.AccountService/TotpConfirm': {
    gives: {
      what: 'a second factor of the own account',
      bound: 'a session alone, and a code of the secret',
      story: 'server/access/accounts/accounts.api.test.ts',
    },
    guards: 'nothing',
    fields: () => ({ code: '000000' }),
    status: 409,
  },
  'svc.account.v1.AccountService/TotpDisable': {
    gives: {
      what: 'sign-in to the own account with less proof',
      bound: 'a session alone, with the password or a code',
      story: 'server/access/accounts/accounts.api.test.ts',
    },
    guards: 'nothing',
    fields: () => ({ currentPassword: 'a long pass phrase' }),
  },
  'svc.account.v1.AccountService/TotpEnroll': {
    gives: {
      what: 'a secret that counts only once it is confirmed',
      bound: 'a session alone; never in place of a confirmed one',
      story: 'server/access/accounts/accounts.api.test.ts',
    },
    guards: 'nothing',
    fields: nothing,
  },
  'svc.account.v1.AccountService/TotpStatus': { gives: 'nothing', fields: nothing },
  'svc.account.v1.AccountService/UpdateUsername': {
    gives: 'nothing',
    guards: 'nothing',
    fields: () => ({ username: 'owner-renamed' }),
  },
  'svc.account.v1.AccountService/Whoami': { gives: 'nothing', fields: nothing },
  'svc.auth.v1.AuthService/Login': {
    gives: {
      what: 'a session',
      bound: 'the password, and the code where one is enrolled; ends by idling and by age',
      story: 'server/access/accounts/accounts.api.test.ts',
    },
    guards: 'nothing',
    fields: () => ({ email: 'owner@example.com', password: 'wrong' }),
    status: 401,
    as: 'nobody',
  },
  'svc.auth.v1.AuthService/Logout': { last: 11, gives: 'nothing', guards: 'nothing', fields: nothing },
};
