#!/bin/sh
# Makes kernels.spv from kernels.cl: clang and llvm-spirv of the same version (Debian's clang-14, llvm-spirv-14).
set -eu
cd "$(dirname "$0")"
version=${1:-14}
bitcode=$(mktemp)
trap 'rm -f "$bitcode"' EXIT
"clang-$version" -c -emit-llvm -target spir64 -cl-std=CL2.0 -Xclang -finclude-default-header -O2 -x cl \
    -o "$bitcode" kernels.cl
"llvm-spirv-$version" --spirv-max-version=1.2 -o kernels.spv "$bitcode"
