/** Builds: the pinned builder, and where traces are looked at. */
import { expected, isUrl, optional, text } from '@svc/proto/process/settings.ts';

export const settings = {
  traceViewerUrl: optional('TRACE_VIEWER_URL', {
    about: 'Where traces of builds are looked at, with `{traceId}` in it.',
    type: 'http(s) address',
    absent: "the build's page in the console",
    parse: (given) =>
      given.includes('{traceId}') && isUrl(given.replaceAll('{traceId}', '0'), ['http:', 'https:'])
        ? given
        : expected(given, 'an http:// or https:// address with {traceId} in it'),
  }),
  builderImage: text('BUILDER_IMAGE', {
    about: 'Builder image of buildpack builds, with its digest. Empty takes the one that the runner pins.',
    type: 'image with digest',
    fallback: '',
    parse: (given) =>
      given === '' || /^[a-z0-9][^\s@]*@sha256:[0-9a-f]{64}$/.test(given)
        ? given
        : expected(given, 'an image with its digest: <name>@sha256:<64 digits>'),
  }),
};
