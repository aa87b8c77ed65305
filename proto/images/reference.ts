/**
 * References of images: names with a tag or a digest, and nothing that an engine could take for an id of one
 * that somebody else left on the machine. Engines look a word up as a name first, and then as the beginning
 * of an id: three or four digits suffice to name any image there is.
 */

const COMPONENT = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const HOST = '[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?';
const REFERENCE = new RegExp(
  `^(?:(?<host>${HOST})/)?(?<path>${COMPONENT}(?:/${COMPONENT})*)(?::(?<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$`,
);
const LENGTH_MAX = 512;
/** `oci-archive:x` and its like would make podman read a file of the host. */
const TRANSPORT =
  /^(?:dir|docker|docker-archive|docker-daemon|oci|oci-archive|containers-storage|ostree|sif|tarball):/;
/** Digits alone are no name: `cafe` might be one, and is written `cafe:latest` then. */
const ID = /^(?:sha256:)?[0-9a-f]+$/i;

export interface ImageReference {
  /** It has a port if the text names one, and is absent where it is left to the engine. */
  readonly host?: string;
  readonly path: string;
  /** `latest` where neither tag nor digest is given; absent beside a digest, which says it all. */
  readonly tag?: string;
  /** `sha256:` and 64 digits. */
  readonly digest?: string;
}

export function isPossibleId(text: string): boolean {
  return ID.test(text);
}

/** Why a text cannot be the name of an image; undefined: it is one. */
export function problemOfImage(text: string): string | undefined {
  if (isPossibleId(text))
    return 'it could be the id of any image of the machine; give the name with its tag or digest, such as name:latest or name@sha256:<64 digits>';
  if (text.length > LENGTH_MAX || TRANSPORT.test(text) || !REFERENCE.test(text))
    return 'expected a reference like host/name:tag or name@sha256:<64 hex digits>';
  return undefined;
}

/** Reads a text in which `problemOfImage` finds no problem. */
export function parseImage(text: string): ImageReference {
  const parts = problemOfImage(text) === undefined ? REFERENCE.exec(text)?.groups : undefined;
  if (parts === undefined) throw new Error(`${JSON.stringify(text)} is no reference of an image`);
  const { host, path = '', tag = 'latest', digest } = parts;
  // As engines tell them apart: a first part without a dot, a port or the name localhost belongs to the path.
  const isHost = host !== undefined && (/[.:]/.test(host) || host === 'localhost');
  return {
    ...(isHost ? { host } : {}),
    path: host === undefined || isHost ? path : `${host}/${path}`,
    ...(digest === undefined ? { tag } : { digest }),
  };
}

/** In full, as an engine writes it down: `host` where the reference names none. */
export function fullName({ host, path, tag, digest }: ImageReference, defaultHost: string): string {
  const at = host ?? defaultHost;
  const name = at === 'docker.io' && !path.includes('/') ? `library/${path}` : path;
  return digest === undefined ? `${at}/${name}:${tag}` : `${at}/${name}@${digest}`;
}
