/** Pushes an image without layers, a few hundred bytes in all, and reads it back. */
import { createHash } from 'node:crypto';
import { RegistryError, requireStatus, type RegistryClient } from './client.ts';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG = 'application/vnd.oci.image.config.v1+json';
export const TAG = 'svc-runner-doctor';

/** Returns the digest that the registry stored. */
export async function pushTinyImage(client: RegistryClient): Promise<string> {
  const config = bytesOf({
    architecture: 'amd64',
    os: 'linux',
    config: {},
    rootfs: { type: 'layers', diff_ids: [] },
  });
  await upload(client, config);
  const manifest = bytesOf({
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: { mediaType: CONFIG, digest: digestOf(config), size: config.length },
    layers: [],
  });
  const stored = await client.send('PUT', `manifests/${TAG}`, { body: manifest, contentType: MANIFEST });
  requireStatus(stored, 201, { what: 'the manifest', origin: client.origin });
  const digest = digestOf(manifest);
  const found = await client.send('GET', `manifests/${digest}`, { accept: MANIFEST });
  if (found.status !== 200)
    throw new RegistryError('odd', `${client.origin} took the image and does not have it: ${found.status}`);
  return digest;
}

async function upload(client: RegistryClient, blob: Buffer): Promise<void> {
  const begun = await client.send('POST', 'blobs/uploads/');
  requireStatus(begun, 202, { what: 'an upload', origin: client.origin });
  const place = new URL(begun.headers.location ?? '', `${client.origin}/`);
  place.searchParams.set('digest', digestOf(blob));
  const done = await client.send('PUT', place.href, { body: blob, contentType: 'application/octet-stream' });
  requireStatus(done, 201, { what: 'the upload', origin: client.origin });
}

function bytesOf(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
