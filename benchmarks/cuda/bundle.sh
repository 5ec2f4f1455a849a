#!/usr/bin/env bash
# Collects everything a machine without a network needs to run run_all.sh: wheels of this checkout and of what it
# depends on, for one version of Python.
#
#     benchmarks/cuda/bundle.sh [--python 3.12] [--folder dist/cuda-wheels] [--nvrtc] [--pycuda] [--skip NAME]...
#
# --nvrtc   the compiler too, of CUDA 13 and of CUDA 12 for a driver that knows no later one (150 MB); without it that
#           of the machine's toolkit or of its PyTorch is taken, else nvcc
# --pycuda  PyCUDA's source distribution and what its build needs: `run_all.sh PART --pycuda` builds it there
# --skip    leave a distribution out that the machine has already: numpy, scipy, onnx and onnxruntime are most of it
set -euo pipefail
cd "$(dirname "$0")/../.."
python=3.12 folder=dist/cuda-wheels nvrtc= pycuda= skipped=()
while (($#)); do
  case $1 in
    --python) python=$2; shift 2 ;;
    --folder) folder=$2; shift 2 ;;
    --skip) skipped+=("$2"); shift 2 ;;
    --nvrtc) nvrtc=1; shift ;;
    --pycuda) pycuda=1; shift ;;
    *) echo "bundle.sh: unknown option $1" >&2; exit 2 ;;
  esac
done

rm -rf "$folder"
mkdir -p "$folder"
# pip compares these names one by one; wheels for an older C library run on every newer one.
platforms=(--platform any)
for glibc in 2_28 2_27 2_24 2_17; do platforms+=(--platform "manylinux_${glibc}_x86_64"); done
platforms+=(--platform manylinux2014_x86_64 --platform manylinux1_x86_64)
download=(python3 -m pip --disable-pip-version-check download --quiet --dest "$folder")
binary=(--only-binary=:all: --python-version "$python" --implementation cp "${platforms[@]}")

ours=(core plugins/{cuda,graph,measure,onnx,pipeline,records,search,tensor})
python3 -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir "$folder" "${ours[@]/#/./}"
names=(tilewright tilewright-cuda 'tilewright-search[xgb]' tilewright-measure tilewright-onnx)
[[ $nvrtc ]] && names+=(nvidia-cuda-nvrtc nvidia-cuda-nvrtc-cu12)
"${download[@]}" "${binary[@]}" --find-links "$folder" "${names[@]}"
if [[ $pycuda ]]; then
  # its own list of needs leaves out numpy
  "${download[@]}" "${binary[@]}" setuptools wheel packaging mako pytools platformdirs siphash24
  "${download[@]}" --no-deps --no-binary=pycuda pycuda
fi
for name in "${skipped[@]}"; do rm -f "$folder/${name//-/_}"-[0-9]*; done
du -sh "$folder"
