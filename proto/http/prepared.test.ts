import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { rpcs } from '../gen/rpcs.ts';
import { ListResponseSchema } from '../gen/svc/regions/v1/regions_pb.ts';
import { encoder } from './json-encode.ts';
import { preparedJson, prepareJson } from './prepared.ts';
import { compileRoute } from './transcode.ts';

const message = () => create(ListResponseSchema, { regions: [{ id: 'reg_1', name: 'here' }] });

const route = () => {
  const rpc = rpcs.find(({ id }) => id === 'svc.regions.v1.RegionsService/List');
  const [first] = rpc?.routes ?? [];
  if (rpc === undefined || first === undefined)
    throw new Error('the contract has no list of regions any more');
  return compileRoute(rpc, first);
};

it('a prepared message leaves the door as the text that was made of it, another one of the same content as ever', () => {
  const prepared = message();
  const text = prepareJson(ListResponseSchema, prepared);
  expect(text).toBe(encoder(ListResponseSchema)(message()));
  expect([preparedJson(prepared), preparedJson(message())]).toEqual([text, undefined]);
  // Changed behind the door's back, against the promise: it shows that the text is not made again.
  prepared.regions = [];
  const { encode } = route();
  expect(encode(prepared, 200).body).toBe(text);
  expect(encode(message(), 200).body).toBe(text);
});

it('a prepared message has no body where the status allows none', () => {
  const prepared = message();
  prepareJson(ListResponseSchema, prepared);
  expect(route().encode(prepared, 304)).toEqual({ contentType: undefined, body: undefined });
});
