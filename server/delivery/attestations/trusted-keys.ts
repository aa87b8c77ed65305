/** Keys of others whose statements a team believes. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { wrongField } from '../../kit/wrong-field.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import { TrustedKeySchema, TrustedKeysService } from '@svc/proto/gen/svc/trustedkeys/v1/trustedkeys_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { change, rowsOf, shown, unlessTaken, type RowOf } from '../../kit/resource/index.ts';
import { hintOf, publicKeyOf } from '../signingkeys/index.ts';
import { recountDue, recountNewest } from './recount.ts';
import { trustedKeys } from './schema.ts';
import type { TrustRoot } from './trust-root.ts';

const KEYS_MAX = 20;
const RSA_BITS_MIN = 2_048;
const CURVES: ReadonlySet<string | undefined> = new Set(['prime256v1', 'secp384r1']);

type Row = RowOf<typeof trustedKeys>;
const rows = rowsOf(trustedKeys);
const byName = { by: trustedKeys.name };

const show = (row: Row) =>
  shown(TrustedKeySchema, {
    ...row,
    publicKey: String(publicKeyOf(row.spki).export({ format: 'pem', type: 'spki' })),
  });

const details = ({ name, hint }: Row) => ({ name, hint });

export function createTrustedKeys(root: TrustRoot | undefined): Handlers<Ctx> {
  return implement(TrustedKeysService, {
    list: async (_request, ctx: Ctx) => ({ keys: (await rows.list(ctx, byName)).map(show) }),
    add: async ({ teamId, name, publicKey, predicateTypes }, ctx: Ctx) => {
      const spki = readKey(publicKey);
      const hint = hintOf(spki);
      const added = change(ctx, { action: 'trusted_key.added', details }, async (tx) => {
        await rows.atMost(tx, { teamId, max: KEYS_MAX });
        await recountDue(tx.db, teamId);
        return await rows.insert(tx, { teamId, name, spki, hint, predicateTypes });
      });
      const resource = rows.kind;
      const named = unlessTaken(added, { index: 'trusted_keys_name', resource, field: 'name', value: name });
      const key = await unlessTaken(named, {
        index: 'trusted_keys_hint',
        resource,
        field: 'hint',
        value: hint,
      });
      await recountNewest(ctx, teamId, root);
      return show(key);
    },
    remove: async ({ keyId }, ctx: Ctx) => {
      await rows.find(ctx, keyId);
      await change(ctx, { action: 'trusted_key.removed', details }, async (tx) => rows.remove(tx, keyId));
      return {};
    },
  });
}

/** It is returned as the SubjectPublicKeyInfo in DER. */
function readKey(pem: string): Buffer {
  let key: KeyObject;
  try {
    if (!pem.includes('-----BEGIN PUBLIC KEY-----')) throw new Error('it is no public key');
    key = createPublicKey(pem);
  } catch {
    throw refused('it is not a public key in PEM, which begins with -----BEGIN PUBLIC KEY-----');
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: { namedCurve, modulusLength = 0 } = {} } = key;
  const isTaken =
    type === 'ed25519' ||
    (type === 'ec' && CURVES.has(namedCurve)) ||
    (type === 'rsa' && modulusLength >= RSA_BITS_MIN);
  if (!isTaken)
    throw refused(
      `it is a key of the kind ${type} ${namedCurve ?? ''}${modulusLength === 0 ? '' : modulusLength}, expected ECDSA P-256 or P-384, RSA from ${RSA_BITS_MIN} bits, or Ed25519`,
    );
  return key.export({ format: 'der', type: 'spki' });
}

function refused(why: string): Error {
  const message = `publicKey cannot be taken: ${why}`;
  return wrongField(message, { field: 'publicKey', rule: 'public_key' });
}
