/** What a person who has nothing but the package reads and runs. */

export const README = `This package holds the evidence of one period of one team. MANIFEST.json says which, and names every
file with its SHA-256; manifest.sigstore.json is a signed statement about MANIFEST.json.

To check it, without the service that made it:   sh verify.sh
It needs sh, the usual small programs, sha256sum and openssl. It names each file that was changed, is
missing, or was added, and each deployment that the ledger was told of and the population lacks. The key is taken from signing-keys.json; to be sure that it is the service's own,
get the key at <address of the service>/signing-keys/<id>.pem yourself and run:   sh verify.sh key.pem
Somebody who changes a package can change verify.sh as well: take it from a package that you trust.

changes/exceptions.json   Read this first: deployments without an approval, past a policy, of which the
                          provenance is not verified or the packages are not known, approved by who asked
                          for them; deployments that the ledger was told of and the population lacks; numbers
                          of builds that no deployment has; policies that were disabled.
changes/population.json   Every deployment of the period. Decisions of gates are kept for 90 days; what
                          is older has its approvals and overrides in the ledger.
changes/expected.json     Every deployment of the period that the ledger was told of, with the place of its
                          entry: so many the population must have.
ledger/                   Entries of the ledger by their places: all from the first to the last with a
                          time in the period. Each has the hash of the one before it; the checkpoint is signed.
releases/ promotions/ artifacts/ attestations/ policies/
                          One file each. Attestations are Sigstore bundles as they were signed, by their
                          SHA-256; one of more than 2.25 MiB is gzipped (.gz), and gunzip gives it back.
sboms/                    Documents about packages as they came, by the SHA-256 that signed statements name:
                          24 MiB in all. Of a list without a file the artifact at the service has it.
access/ keys/             Members when the package was assembled; keys of the service and their rotations.
controls/                 For which controls which files are evidence. Whether a control is met is for an
                          assessor to say.
`;

/**
 * This script runs in every POSIX shell with coreutils and openssl: it takes no sed, grep, awk or find. What
 * it goes by is MANIFEST.json, in which a file has a line of its own, once the signature over the
 * pre-authentication encoding (PAE) of DSSE has been verified.
 */
export const VERIFY_SH = String.raw`#!/bin/sh
# Checks this package: sh verify.sh [key.pem]. Ends with 0 if all is as it was signed.
set -u
LC_ALL=C
export LC_ALL
here=$(dirname "$0")
key=
if [ $# -gt 0 ]; then key=$(cd "$(dirname "$1")" && pwd)/$(basename "$1"); fi
cd "$here" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
bad=0
say() { printf '%s\n' "$1"; bad=1; }
fail() { say "$1"; exit 1; }
# The text of a member of a JSON text that has no escapes: member TEXT NAME
member() {
  case $1 in *"\"$2\":\""*) ;; *) return 1 ;; esac
  rest=$1
  rest=${'$'}{rest#*"\"$2\":\""}
  rest=${'$'}{rest%%\"*}
  printf '%s' "$rest"
}

for file in MANIFEST.json manifest.sigstore.json signing-keys.json; do
  [ -f "$file" ] || fail "missing: $file"
done

bundle=$(cat manifest.sigstore.json)
type=$(member "$bundle" payloadType) || fail 'changed: manifest.sigstore.json'
payload=$(member "$bundle" payload) || fail 'changed: manifest.sigstore.json'
signature=$(member "$bundle" sig) || fail 'changed: manifest.sigstore.json'
hint=$(member "$bundle" hint) || fail 'changed: manifest.sigstore.json'
[ "$type" = application/vnd.in-toto+json ] || fail "changed: manifest.sigstore.json states $type"
printf '%s' "$payload" | openssl base64 -d -A > "$work/payload"
printf '%s' "$signature" | openssl base64 -d -A > "$work/signature"
size=$(wc -c < "$work/payload")
{ printf 'DSSEv1 %d %s %d ' "${'$'}{#type}" "$type" "$size"; cat "$work/payload"; } > "$work/pae"

if [ -n "$key" ]; then
  cat "$key" > "$work/key.pem" || exit 2
else
  while IFS= read -r line; do
    case $line in *"\"hint\":\"$hint\""*) printf '%b' "$(member "$line" publicKey)" > "$work/key.pem" ;; esac
  done < signing-keys.json
fi
[ -s "$work/key.pem" ] || fail 'changed: signing-keys.json does not have the key that signed'
openssl dgst -sha256 -verify "$work/key.pem" -signature "$work/signature" "$work/pae" > /dev/null 2>&1 ||
  fail 'changed: manifest.sigstore.json, its signature is not that of the key'
sum=$(sha256sum < MANIFEST.json)
# The end of the statement is its own type and subject, whatever its predicate holds.
about="\"subject\":[{\"digest\":{\"sha256\":\"${'$'}{sum%% *}\"},\"name\":\"MANIFEST.json\"}]}"
case $(cat "$work/payload") in
  *"/compliance-package/v1\",$about") ;;
  *"/compliance-package/v1\",\"subject\":"*) fail 'changed: MANIFEST.json' ;;
  *) fail 'changed: manifest.sigstore.json is a statement about something else' ;;
esac

: > "$work/sums"
printf '%s\n' MANIFEST.json manifest.sigstore.json > "$work/listed"
while IFS= read -r line; do
  case $line in '{"path":"'*) ;; *) continue ;; esac
  path=$(member "$line" path)
  printf '%s\n' "$path" >> "$work/listed"
  if [ -f "$path" ] && [ ! -h "$path" ]; then
    printf '%s  %s\n' "$(member "$line" sha256)" "$path" >> "$work/sums"
  else
    say "missing: $path"
  fi
done < MANIFEST.json
sha256sum -c "$work/sums" > "$work/checked" 2> /dev/null
while IFS= read -r line; do
  case $line in *': OK') ;; *) say "changed: ${'$'}{line%: *}" ;; esac
done < "$work/checked"

walk() {
  for entry in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    if [ -d "$entry" ] && [ ! -h "$entry" ]; then walk "$entry"
    elif [ -e "$entry" ] || [ -h "$entry" ]; then printf '%s\n' "${'$'}{entry#./}"
    fi
  done
}
walk . | sort > "$work/found"
sort "$work/listed" > "$work/expected"
comm -13 "$work/expected" "$work/found" > "$work/additional"
while IFS= read -r line; do say "additional: $line"; done < "$work/additional"

# A row can be taken out of a table, an entry not out of the ledger.
deployments() {
  while IFS= read -r line; do
    # One that no build deployed is known by its promotion.
    case $line in '{"'*) member "$line" buildId || member "$line" promotionId; printf '\n' ;; esac
  done < "$1"
}
if [ -f changes/expected.json ] && [ -f changes/population.json ]; then
  deployments changes/population.json | sort -u > "$work/told"
  deployments changes/expected.json | sort -u > "$work/must"
  comm -23 "$work/must" "$work/told" > "$work/untold"
  while IFS= read -r id; do
    while IFS= read -r line; do
      case $line in *"\"buildId\":\"$id\""*) by=build; break ;; *"\"promotionId\":\"$id\""*) by=promotion; break ;; esac
    done < changes/expected.json
    say "missing deployment: $by $id of environment $(member "$line" environmentId), which the ledger was told of: $line"
  done < "$work/untold"
fi

[ "$bad" -eq 0 ] || exit 1
printf 'all files are as they were signed\n'
`;
