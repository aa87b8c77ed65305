/** The tools that builds need besides the engine, at the versions that they were written for. */

/** The buildpacks CLI: another version may have other flags, so it is refused. */
export const PACK_VERSION = '0.40.8';
/** Used when the offer names none; the control plane's own choice, with its digest, comes first. */
export const BUILDER_IMAGE = 'docker.io/paketobuildpacks/builder-jammy-base:0.4.635';
