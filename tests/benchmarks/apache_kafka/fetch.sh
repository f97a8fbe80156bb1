#!/usr/bin/env bash
# fetch.sh broker|tools ... — fetches those sets of jars (Maven), where they are not there yet.
set -euo pipefail
. "$(dirname "$0")/common.sh"
for set in "${@:?usage: fetch.sh broker|tools ...}"; do resolve "$set"; done
