#!/usr/bin/env bash
# Builds usmpy on a machine with an NVIDIA GPU, runs what needs one, and writes docs/gpu-report.md.
#
#     tests/gpu/run.sh                 everything: build, tests/gpu, the conformance suite, benchmarks, report
#     tests/gpu/run.sh --tests         the build and tests/gpu alone
#     tests/gpu/run.sh --cts           the build and the conformance suite on the GPU alone
#     tests/gpu/run.sh --bench         the release build and the benchmarks alone
#     tests/gpu/run.sh --opencl        the build and the conformance suite on NVIDIA's and PoCL's OpenCL alone
#     tests/gpu/run.sh --sanitizer     the build, and tests/gpu under compute-sanitizer
#     tests/gpu/run.sh -k EXPRESSION   the same, with only the tests (of all that run) whose names fit
#     tests/gpu/run.sh --quick         benchmarks with few rounds
#     tests/gpu/run.sh --only WORDS    benchmarks: only rows with these words
#
# Called from the repository's root. Needs python3 with a C compiler, ninja, cuda.h (CUDA_HOME), pytest, and the libraries
# that the tests exchange arrays with; packages that are missing may lie in .whl/ as wheels. No network. Logs go to
# build/gpu, and the larger ones to $OUT, too, where that is set.
set -uo pipefail
cd "$(dirname "$0")/../.."

parts="" select="" quick="" only=""
while [ $# -gt 0 ]; do
    case $1 in
        --tests | --cts | --bench | --opencl | --sanitizer) parts="$parts ${1#--}" ;;
        -k) select=$2; shift ;;
        --quick) quick=--quick ;;
        --only) only=$2; shift ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
    shift
done
[ -n "$parts" ] || parts="tests cts bench report"
wanted() { [[ " $parts " == *" $1 "* ]]; }

temporary=$(mktemp -d)
logs=$PWD/build/gpu
mkdir -p "$logs"
# A few files are all that comes back, also of a run that is cut short.
finish() {
    rm -rf "$temporary"
    if [ -n "${OUT:-}" ]; then
        tail -n 300 "$logs"/build-*.log "$logs"/pip.log "$logs"/compiler.log "$logs"/bench.log > "$OUT/other.log" 2> /dev/null
        for file in "$logs"/{gpu,cts,opencl-nvidia,opencl-pocl,sanitizer}.log "$logs"/bench.{json,md} docs/gpu-report.md; do
            [ -f "$file" ] && cp "$file" "$OUT/"
        done
    fi
}
trap finish EXIT
export CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUTF8=1
failed=0
many=$((($(nproc) * 2 + 2) / 3)) # files at once; each has a process of its own on the GPU
python=${PYTHON:-python3}

step() { printf '== %s (%d s)\n' "$1" "$SECONDS"; }

# Wheels that the machine lacks: headers of DLPack and ninja, say.
mapfile -t wheels < <(compgen -G '.whl/*.whl' | grep -v '/usmpy-')
if [ "${#wheels[@]}" -gt 0 ]; then
    "$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade \
        --target "$temporary/site" "${wheels[@]}" > "$logs/pip.log" 2>&1 || { tail -5 "$logs/pip.log"; exit 1; }
    export PYTHONPATH=$temporary/site${PYTHONPATH:+:$PYTHONPATH} PATH=$temporary/site/bin:$PATH
fi

step "machine"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
"$python" --version

# A compiler that links across files, for the release: without it every call costs more. Where none does, a
# wheel of usmpy in .whl/, made elsewhere, is measured.
links_across_files() {
    echo 'int main(void) { return 0; }' > "$temporary/probe.c"
    "$1" -O2 -flto "$temporary/probe.c" -o "$temporary/probe" >> "$logs/compiler.log" 2>&1
}
across=no
for candidate in "${CC:-gcc}" $(type -ap gcc cc) "${CUDAHOSTCXX:+${CUDAHOSTCXX%g++}gcc}"; do
    if [ -n "$candidate" ] && links_across_files "$candidate"; then
        export CC=$candidate
        across=yes
        break
    fi
done
if [ "$across" = no ]; then
    echo "no compiler here links across files: $(tail -n 2 "$logs/compiler.log" | tr '\n' ' ')"
    "${CC:-gcc}" -v >> "$logs/compiler.log" 2>&1
    ls -l "$("${CC:-gcc}" -print-prog-name=lto-wrapper)" 2>&1
fi

# $1: testing or release; $2: where the package goes.
build() {
    local testing=0
    [ "$1" = testing ] && testing=1
    mkdir -p "$2/usmpy"
    if [ "$1" = release ] && [ "$across" = no ] && compgen -G '.whl/usmpy-*.whl' > /dev/null; then
        "$python" -m zipfile -e .whl/usmpy-*.whl "$2" && echo "release: $(basename .whl/usmpy-*.whl)" && return
    fi
    USMPY_TESTING=$testing "$python" setup.py -q build_ext --build-lib "$2" --build-temp "build/gpu-$1" \
        > "$logs/build-$1.log" 2>&1 || { echo "the $1 build failed:"; tail -25 "$logs/build-$1.log"; return 1; }
    grep -E "error|warning|left out" "$logs/build-$1.log" | head -10
    cp -r usmpy/*.py usmpy/_[a-z]*/ "$2/usmpy/"
}

step "build"
builds=()
if wanted tests || wanted cts || wanted opencl || wanted sanitizer; then
    build testing "$temporary/testing" & builds+=($!)
fi
if wanted bench; then
    build release "$temporary/release" & builds+=($!)
fi
for job in "${builds[@]}"; do
    wait "$job" || exit 1
done
if [ -d "$temporary/testing" ]; then
    cp "$temporary"/testing/usmpy/_core*.so usmpy/  # in place: the tests name the tree's own package
fi

# One file of tests in a process of its own, so that a crash or a hang costs that file alone.
# $1: file; $2: name of the suite; $3: seconds at most; the rest: arguments of pytest.
one_file() {
    local file=$1 name=$2 limit=$3 base
    shift 3
    base=$logs/$name-$(basename "$file" .py)
    # shellcheck disable=SC2086
    timeout -k 10 "$limit" ${checker:-} "$python" -m pytest -q -p no:cacheprovider -p no:benchmark -p no:xdist --color=no \
        --tb=short -rfE --timeout=80 --junitxml="$base.xml" "$file" "$@" > "$base.log" 2>&1
    local code=$?
    [ "$code" -eq 5 ] && code=0 # the selection has none of this file
    echo "$code" > "$base.code"
}
export -f one_file
export logs python

# $1: name of the suite; $2: seconds at most; $3: processes; $4: folders and files; the rest: arguments of pytest.
run_suite() {
    local name=$1 limit=$2 n=$3 folder=$4 crashed="" base
    shift 4
    rm -f "$logs/$name"-*
    # shellcheck disable=SC2086
    find $folder -maxdepth 1 -name 'test_*.py' -printf '%s %p\n' | sort -rn | cut -d ' ' -f 2 \
        | xargs -P "$n" -I '{}' bash -c 'one_file "$@"' _ '{}' "$name" "$limit" "$@"
    grep -hE "^(FAILED|ERROR) " "$logs/$name"-*.log | cut -c1-200 | head -40
    for base in "$logs/$name"-*.code; do
        case $(cat "$base") in
            0 | 1) ;;
            *) crashed="$crashed ${base%.code}" ;;
        esac
    done
    for base in $crashed; do
        echo "-- $(basename "$base") ended with $(cat "$base.code"):"
        grep -vE "^SKIPPED" "$base.log" | tail -n 14 | cut -c1-150
    done
    # The first failures in full, as far as a few thousand characters go.
    for base in "$logs/$name"-*.log; do
        awk '/^=+ (FAILURES|ERRORS)/ { on = 1 } /^=+ (short test summary|warnings)/ { on = 0 } on' "$base"
    done | cut -c1-170 | head -n 90
    "$python" tests/gpu/report.py count "$logs" "$name"
    grep -qvx 0 "$logs/$name"-*.code && failed=1
    cat "$logs/$name"-*.log > "$logs/$name.log"
}

if wanted tests; then
    step "tests/gpu"
    # The driver itself, by name: no driver in software takes its place.
    USMPY_CUDA_LIBRARY=libcuda.so.1 run_suite gpu 200 5 tests/gpu --require-gpu ${select:+-k "$select"}
fi
if wanted cts; then
    step "tests/cts on the GPU"
    USMPY_CUDA_LIBRARY=libcuda.so.1 run_suite cts 300 "$many" tests/cts \
        -k "cuda${select:+ and ($select)}"
    step "programs on the GPU"
    USMPY_CUDA_LIBRARY=libcuda.so.1 run_suite programs 150 "$many" \
        "tests/drivers/test_cuda_programs.py tests/drivers/test_cuda_kernels.py tests/programs/test_programs.py tests/portable" \
        -k "cuda${select:+ and ($select)}"
fi
if wanted opencl; then
    step "tests/cts on NVIDIA's OpenCL"
    run_suite opencl-nvidia 200 8 tests/cts --opencl-vendor=NVIDIA ${select:+-k "$select"}
    step "tests/cts on PoCL"
    run_suite opencl-pocl 200 8 tests/cts -k "opencl-pocl${select:+ and ($select)}"
fi
# Tools of compute-sanitizer, all at once. Calls of the driver that fail are no findings: tests make them fail. Errors at
# the end of tests are no findings either (docs/reliability.md).
if wanted sanitizer; then
    step "compute-sanitizer"
    command -v compute-sanitizer > /dev/null || PATH=$PATH:$CUDA_HOME/bin
    export USMPY_CUDA_LIBRARY=libcuda.so.1
    tools="memcheck racecheck synccheck"
    for tool in $tools; do
        (
            export checker="compute-sanitizer --tool $tool --target-processes all --report-api-errors no --error-exitcode 86"
            run_suite "$tool" 250 $((many / 2)) tests/gpu --require-gpu --timeout=300 -k "not test_gpu_processes"
        ) > "$logs/$tool.txt" &
    done
    wait
    for tool in $tools; do
        printf -- '-- %s: ' "$tool"
        cat "$logs/$tool.txt"
        grep -hE "^=========" "$logs/$tool"-*.log | grep -vE "COMPUTE-SANITIZER|ERROR SUMMARY: 0|RACECHECK SUMMARY: 0|LEAK" \
            | head -n 60
        printf 'processes without a finding: '
        grep -hcE "SUMMARY: 0 (errors|hazards)" "$logs/$tool"-*.log | awk '{ n += $1 } END { print n + 0 }'
        grep -lE "SUMMARY: [1-9]" "$logs/$tool"-*.log | sed 's/^/findings: /' && failed=1
    done > "$logs/sanitizer.log"
    cat "$logs/sanitizer.log"
fi
if wanted bench; then
    step "benchmarks"
    PYTHONPATH=$temporary/release${PYTHONPATH:+:$PYTHONPATH} timeout -k 10 240 \
        "$python" benchmarks/cuda.py $quick ${only:+--only "$only"} --json "$logs/bench.json" --markdown \
        > "$logs/bench.md" 2> "$logs/bench.log" || { failed=1; tail -n 20 "$logs/bench.log"; }
    "$python" tests/gpu/report.py figures "$logs/bench.json"
    grep -vE "Warning|^ " "$logs/bench.log" | tail -n 12 | cut -c1-300
fi
if wanted report; then
    step "report"
    PYTHONPATH=$temporary/release${PYTHONPATH:+:$PYTHONPATH} \
        "$python" tests/gpu/report.py write "$logs" docs/gpu-report.md || failed=1
fi
step "done, status $failed"
exit "$failed"
