/** Valid requests of each RPC, for the tests of the contract. */
import { nothing } from '../../../test/contract/requests.ts';
import type { Requests } from '../../../test/contract/requests.ts';

export const requests: Requests = {
  'svc.account.v1.AdminAccountsService/CreateClaim': {
    fields: () => ({ email: 'claimed@example.com' }),
    as: 'staff_session',
  },
  'svc.account.v1.AdminAccountsService/Find': { fields: () => ({ email: 'owner@example.com' }) },
  'svc.account.v1.AdminAccountsService/VerifyEmail': {
    fields: ({ memberId }) => ({ userId: memberId }),
    as: 'staff_session',
  },
  'svc.account.v1.AccountService/ClaimEmail': {
    guards: 'nothing',
    fields: () => ({ token: 'claim_unknown', username: 'claimant', password: 'a long pass phrase' }),
    status: 404,
    as: 'nobody',
  },
  'svc.account.v1.AccountService/ChangePassword': {
    guards: 'nothing',
    fields: () => ({ currentPassword: 'not the password', newPassword: 'a new long pass phrase' }),
    status: 401,
  },
  'svc.account.v1.AccountService/Plan': { fields: nothing },
  'svc.account.v1.AccountService/TotpConfirm': {
    guards: 'nothing',
    fields: () => ({ code: '000000' }),
    status: 409,
  },
  'svc.account.v1.AccountService/TotpDisable': {
    guards: 'nothing',
    fields: () => ({ currentPassword: 'a long pass phrase' }),
  },
  'svc.account.v1.AccountService/TotpEnroll': { guards: 'nothing', fields: nothing },
  'svc.account.v1.AccountService/TotpStatus': { fields: nothing },
  'svc.account.v1.AccountService/UpdateUsername': {
    guards: 'nothing',
    fields: () => ({ username: 'owner-renamed' }),
  },
  'svc.account.v1.AccountService/Whoami': { fields: nothing },
  'svc.auth.v1.AuthService/Login': {
    guards: 'nothing',
    fields: () => ({ email: 'owner@example.com', password: 'wrong' }),
    status: 401,
    as: 'nobody',
  },
  'svc.auth.v1.AuthService/Logout': { guards: 'nothing', fields: nothing },
};
