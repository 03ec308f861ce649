# Shared by .ci/run and .ci/nightly: what they install, and how they report.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CI=${CI:-true}
official=$(cd .. && pwd)/shared/schema
if [ -z "${MCPCHECK_SCHEMA_DIR:-}" ] && [ -d "$official" ]; then export MCPCHECK_SCHEMA_DIR=$official; fi
left_out=()
[ -n "${MCPCHECK_SCHEMA_DIR:-}" ] || left_out+=("the comparison with the official schemas: MCPCHECK_SCHEMA_DIR is not set")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# brief COMMAND: prints the lines that sum up what a command prints, and all if it fails.
brief() {
  if ! "$@" >"$work/log" 2>&1; then cat "$work/log"; return 1; fi
  grep -a 'plans,\|^ok\|^---' "$work/log"
}

# step NAME: names what runs next, with the seconds so far.
step() { printf '\n== %s (%ds)\n' "$*" "$SECONDS"; }

# install_readers: programs of other authors that read our reports.
install_readers() {
  step "readers of reports by other authors"
  python3 -m venv "$work/python"
  "$work/python/bin/pip" install --quiet --disable-pip-version-check junitparser==5.0.3
  export PATH="$work/python/bin:$PATH"
  if ! command -v chromium >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
  fi
}

# finish: says what was left out.
finish() {
  step "done"
  for what in "${left_out[@]:-}"; do [ -z "$what" ] || printf 'left out: %s\n' "$what"; done
}
