#!/usr/bin/env bash
# Measures the CUDA target on a machine with a driver and a toolkit but no network; asks nothing.
#
#     benchmarks/cuda/run_all.sh PART [--wheels dist/cuda-wheels] [--out runs/cuda] [--pycuda]
#                                [--device emulated] [--seconds N] [--save]
#
# PART, the most telling first, each in a process of its own that leaves OUT/PART.json, written after every
# step, and all of them in OUT/summary.md; the exit status is 0 where no step of any failed:
#
#   correctness  4 min   every strategy, both drivers, whole networks: answers against float64 and ONNX Runtime
#   resnet18     7 min   batch 1: tuned, then in turns with PyTorch eager, with CUDA graphs, compiled
#   layers       7 min   sgemm 4096 beside cuBLAS; 12 convolutions and 3 transposed ones beside cuDNN; shares of peak;
#                        trials a second
#   tensor_cores 4 min   products in tf32, bfloat16, float16 and of bytes: answers; sgemm's size beside cuBLAS
#   batches      8 min   ResNet-50 at batch 1, both networks at batch 64, beside PyTorch
#   all                  one after the other
#
# A part, the worker it measures with and PyTorch each have a context: the GPU's compute mode has to be Default.
# The Python is $PYTHON (default python3, 3.11 or newer). What it lacks is taken from the wheels that bundle.sh has
# collected and put into OUT/site, anew where these are others; a Python that has `tilewright` already needs no wheels.
# `--save` writes the figures into benchmarks/results/GPU.json; benchmarks/page.py makes the page of it.
# `--device emulated` rehearses a part without a GPU: small shapes, few trials, times that mean nothing.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/benchmarks/cuda python=${PYTHON:-python3} wheels=$root/dist/cuda-wheels out=$root/runs/cuda pycuda= options=() saving=()
limit=480
part=${1:?a part: correctness, resnet18, layers, tensor_cores, batches or all}
shift
while (($#)); do
  case $1 in
    --wheels) wheels=$(realpath "$2"); shift 2 ;;
    --out) out=$(realpath -m "$2"); shift 2 ;;
    --pycuda) pycuda=1; shift ;;
    --save) saving=(--save); shift ;;
    --device) options+=("$1" "$2"); shift 2 ;;
    --seconds) options+=("$1" "$2") limit=$((${2%.*} + 180)); shift 2 ;;
    *) echo "run_all.sh: unknown option $1" >&2; exit 2 ;;
  esac
done
parts=("$part")
[[ $part == all ]] && parts=(correctness resnet18 layers tensor_cores batches)
mkdir -p "$out"
install_wheels() {
  # Written last: an installation that was cut short has none.
  local stamp=$out/site/.wheels wanted
  wanted=$("$python" -VV && command -v "$python" && cd "$wheels" && sha256sum -- *.whl)
  if [[ $(cat "$stamp" 2> /dev/null) != "$wanted" ]]; then
    rm -rf "$out/site"
    "$python" "$here/install.py" "$wheels" "$out/site"
    mkdir -p "$out/site"
    echo "$wanted" > "$stamp"
  fi
}
if compgen -G "$wheels/*.whl" > /dev/null; then
  install_wheels
  export PYTHONPATH=$out/site${PYTHONPATH:+:$PYTHONPATH}
fi
if ! "$python" -c 'import tilewright_cuda'; then
  echo "run_all.sh: $python has no tilewright, and $wheels no wheel of it; bundle.sh makes them" >&2
  exit 1
fi
if [[ $pycuda ]] && ! compgen -G "$wheels/pycuda-*.whl" > /dev/null; then
  if "$python" -m tilewright_cuda.install_pycuda --wheels "$wheels" --into "$wheels"; then
    install_wheels
  else
    echo "run_all.sh: PyCUDA could not be built, ctypes takes its place" >&2
  fi
fi
# Times are the device's own: the processor is free to compute the expected answers with all it has.
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-$(nproc)}
code=0
for part in "${parts[@]}"; do
  # A part that hangs is ended: its report holds what it had found, and the next part begins.
  timeout --kill-after=10 "$limit" "$python" "$here/part.py" "$part" --out "$out" "${options[@]}" || {
    code=$?
    echo "run_all.sh: $part failed with $code" >&2
  }
done
"$python" "$here/summary.py" "$out" "${saving[@]}" > "$out/summary.md" || code=$?
exit $code
