#!/usr/bin/env bash
# Record the peers' values anew: --check compares with values/ (default), --write overwrites values/.
# Names after the option choose peers: regenerate.sh --check netcal calibre
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
envs=$root/.oracle

mode=--check
case "${1:-}" in
--check | --write)
    mode=$1
    shift
    ;;
-*)
    echo "usage: regenerate.sh [--check | --write] [peer ...]" >&2
    exit 2
    ;;
esac
if [ $# -gt 0 ]; then
    peers=("$@")
else
    peers=(scikit_learn torchmetrics netcal uncertainty_calibration relplot array_split calibre
        scikit_learn_isotonic netcal_mmce calibre_corp mapie mcgrad multicalibration calzone model_diagnostics
        statsmodels r rms scikit_learn_recalibrators betacal venn_abers netcal_recalibrators
        uncertainty_calibration_recalibrators abstention r_recalibrators lme4)
    if_there=yes # R comes with the operating system: without it the rest is still checked
fi

export TQDM_DISABLE=1 # no bars of progress

# has_r PEER: is R there, and for rms and lme4 that package too?
has_r() {
    command -v Rscript >/dev/null && { [[ ! "$1" =~ ^(rms|lme4)$ ]] || Rscript --vanilla -e "library($1)" >/dev/null 2>&1; }
}

# find_python 3.11: an interpreter of that version that runs (a shim may be on PATH and not run).
find_python() {
    local candidate
    for candidate in "python$1" "$(uv python find "$1" 2>/dev/null || true)" \
        "$(pyenv root 2>/dev/null || true)"/versions/"$1".*/bin/python; do
        if [ -n "$candidate" ] && "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "regenerate.sh needs Python $1: put python$1 on PATH or install it with 'uv python install $1'" >&2
    return 1
}

# make_environment NAME VERSION: a venv at .oracle/NAME; built again when a requirements file has changed.
make_environment() {
    local name=$1 version=$2 python stamp
    stamp=$(cat "$here"/requirements/*.txt | cksum)
    if [ "$(cat "$envs/$name/stamp" 2>/dev/null)" = "$stamp" ]; then
        return
    fi
    python=$(find_python "$version")
    rm -rf "${envs:?}/$name"
    "$python" -m venv "$envs/$name"
    local pip=("$envs/$name/bin/python" -m pip install --quiet)
    if [ "$name" = shared ]; then
        "${pip[@]}" -r "$here/requirements/torch.txt"
        "${pip[@]}" -r "$here/requirements/shared.txt"
        "${pip[@]}" --no-deps -r "$here/requirements/netcal.txt"
    elif [ "$name" = recalibrators ]; then
        "${pip[@]}" -r "$here/requirements/torch.txt"
        "${pip[@]}" -r "$here/requirements/recalibrators.txt"
        "${pip[@]}" --no-deps -r "$here/requirements/netcal.txt"
    else
        "${pip[@]}" -r "$here/requirements/$name.txt"
    fi
    if [ "$name" = beyond ]; then
        "${pip[@]}" --no-deps -r "$here/requirements/mcgrad.txt"
    fi
    echo "$stamp" >"$envs/$name/stamp"
}

mkdir -p "$envs/values"
failed=0 skipped=()
for peer in "${peers[@]}"; do
    case "$peer" in
    calibre | calibre_corp) name=calibre version=3.12 ;;
    mapie | mcgrad | multicalibration | calzone | model_diagnostics | statsmodels | r | rms | lme4) name=beyond version=3.11 ;;
    *_recalibrators | betacal | venn_abers | abstention) name=recalibrators version=3.11 ;;
    *) name=shared version=3.11 ;;
    esac
    if [[ "$peer" =~ ^(r|rms|lme4|r_recalibrators)$ ]] && ! has_r "$peer"; then
        if [ -z "${if_there:-}" ]; then
            echo "regenerate.sh: $peer needs Rscript on PATH, rms and lme4 their packages too (Debian: apt-get install r-base-core r-cran-rms r-cran-lme4)" >&2
            exit 1
        fi
        skipped+=("$peer")
        continue
    fi
    make_environment "$name" "$version"
    "$envs/$name/bin/python" "$here/record_$peer.py" "$envs/values/$peer.json"
    if [ "$mode" = --write ]; then
        cp "$envs/values/$peer.json" "$here/values/$peer.json"
        echo "$peer.json written"
    else
        "$envs/$name/bin/python" "$here/compare.py" "$here/values/$peer.json" "$envs/values/$peer.json" || failed=1
    fi
done

# The rules in README.md must still explain every recorded value.
"$envs/$name/bin/python" "$here/verify_rules.py" || failed=1
if [ ${#skipped[@]} -gt 0 ]; then
    echo "NOT CHECKED, R or its package is not installed: ${skipped[*]} (Debian: apt-get install r-base-core r-cran-rms r-cran-lme4)" >&2
fi
exit "$failed"
