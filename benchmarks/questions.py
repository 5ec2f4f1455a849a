"""What benchmarks ask, in the order of the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilewright.errors import UsageError


@dataclass(frozen=True)
class Question:
    """One thing that is measured.

    name        of it in the data
    title       of it in a table
    goal        of the speedup where there is a peer, else of our figure
    by_case     a table row for each case, else one that tells their spread
    mean_goal   of the geometric mean of the cases' speedups, beside the goal of each
    everywhere  shown of every machine, not of those alone where it was measured last
    """

    name: str
    title: str
    unit: str
    better: Literal["less", "more"]
    peer: str | None = None
    goal: float | None = None
    by_case: bool = False
    mean_goal: float | None = None
    everywhere: bool = False


@dataclass(frozen=True)
class Section:
    """A part of the page: a table, and charts, with titles, of some of its questions."""

    title: str
    text: str
    questions: tuple[Question, ...]
    charts: tuple[tuple[str, str], ...] = ()


SECTIONS = (
    Section(
        "Is a tuned ResNet-50 as fast as ONNX Runtime's?",
        "From the ONNX file, one image, a minute of tuning, both in turns in one process "
        "(`resnet50.py`). The prediction is the sum of the kernels' recorded times; goal: within "
        "10 % of the network's. Goal of trials: 20 a second, each compiled, checked and timed.",
        (
            Question("resnet50", "ResNet-50", "ms", "less", "ONNX Runtime", 1.0, by_case=True),
            Question("prediction", "its prediction is off by", "%", "less", None, 10.0),
            Question("trials", "trials over its tasks", "a second", "more", None, 20.0),
        ),
        (("resnet50", "ResNet-50"),),
    ),
    Section(
        "And other networks?",
        "Exported by PyTorch with random weights, two threads (`exported_networks.py`): 20 s of "
        "tuning each, and untuned. ResNet-18 is made in Python, one thread, a minute from nothing "
        "(`resnet18.py`); goal: 85 % of the FMA peak over the whole network. Nine networks of the "
        "ONNX zoo beside the faster of ONNX Runtime and OpenVINO (`precision.py`): goals are 1 "
        "each, and 1.4 in the geometric mean; the kernels' recorded times are to sum up to within "
        "10 % of the network's. ResNet-18 of two, four and eight images is "
        "`batches.py`'s: untuned and tuned are two runs, which do not compare.",
        (
            Question(
                "float32",
                "nine networks",
                "ms",
                "less",
                "the faster peer",
                1.0,
                mean_goal=1.4,
                everywhere=True,
            ),
            Question(
                "float32_prediction",
                "their predictions are off by",
                "%",
                "less",
                None,
                10.0,
                everywhere=True,
            ),
            Question("batches", "ResNet-18 in batches", "ms", "less", "the faster peer", 1.0),
            Question("batches_untuned", "untuned in batches", "ms", "less", "the faster peer", 1.0),
            Question("exported_networks", "exported, tuned", "ms", "less", "ONNX Runtime", 1.0),
            Question("exported_untuned", "exported, untuned", "ms", "less", "ONNX Runtime", 1.0),
            Question("exported_more", "further ones, tuned", "ms", "less", "ONNX Runtime", 1.0),
            Question(
                "exported_more_untuned", "further ones, untuned", "ms", "less", "ONNX Runtime", 1.0
            ),
            Question("resnet18", "ResNet-18, share of peak", "%", "more", None, 85.0),
        ),
        (("exported_networks", "Networks exported by PyTorch, tuned for 20 s"),),
    ),
    Section(
        "And in bfloat16, as OpenVINO comes?",
        "Nine networks of the ONNX zoo, `precision: bfloat16`, tuned for the time in the command, "
        "verified against ONNX Runtime in float32; OpenVINO takes bfloat16 by itself where the "
        "processor has it (`precision.py`). The encoder is as of BERT-base: 12 layers, 128 tokens "
        "(`encoder.py`).",
        (
            Question("precision", "in bfloat16", "ms", "less", "OpenVINO", 1.1, everywhere=True),
            Question("encoder", "encoder in bfloat16", "ms", "less", "OpenVINO", 1.0),
        ),
    ),
    Section(
        "How near the FMA peak are ten convolutions?",
        "One thread, warm, tuned for 10 to 20 s from nothing (`conv_layers.py`). Goals: 95 % of "
        "the peak on nine of ten (AVX2: 90 % on eight); schedules derived by rules reach 0.70 of "
        "the hand-written ones' speed on each. Padding counts as work, which kernels skip: small "
        "images pass 100 %. Transposed and 3-D ones (`further_layers.py`, 8 s): 80 %. 3x3 by "
        "Winograd's algorithm beside direct ones (`winograd.py`): goals are 80 % of prototypes' "
        "gains.",
        (
            Question("conv_layers", "AVX-512", "% of peak", "more", None, 95.0),
            Question(
                "conv_layers_bfloat16",
                "bfloat16, of vdpbf16ps' peak",
                "% of peak",
                "more",
                None,
                88.0,
            ),
            Question(
                "conv_layers_fastest",
                "AVX-512, fastest 5 % of samples",
                "% of peak",
                "more",
                None,
                95.0,
            ),
            Question("conv_layers_avx2", "AVX2", "% of peak", "more", None, 90.0),
            Question("derived_layers", "derived", "% of peak", "more", "hand-written", 0.7),
            Question("further_layers", "transposed and 3-D", "% of peak", "more", None, 80.0),
            Question("winograd", "Winograd", "ms", "less", "direct"),
        ),
        (("conv_layers", "Channels, size, filters, kernel and stride of convolutions, AVX-512"),),
    ),
    Section(
        "How fast are operators that nobody wrote a schedule for?",
        "Derived schedules, one thread, 20 s of tuning, beside PyTorch (`derived_operators.py`) "
        "and beside TVM's MetaSchedule, 64 trials (`metaschedule.py`): its best is to be passed "
        "within a twentieth of its time.",
        (
            Question("derived_operators", "six operators", "ms", "less", "PyTorch", 1.0),
            Question(
                "metaschedule", "passed after", "s", "less", "MetaSchedule", 20.0, by_case=True
            ),
        ),
        (("derived_operators", "Operators without a schedule of their own"),),
    ),
    Section(
        "How many trials does a search take?",
        "Until within 2 % of the optimum of recorded spaces, medians over seeds, beside random "
        "search (`search_trials.py`); goal: a quarter of its trials. `xgb` and `evolutionary` also "
        "beside the best of Optuna's TPE and CMA-ES and Kernel Tuner's genetic algorithm (GA); "
        "goal: no more trials. Peers' lines leave out spaces where they do not get there in the "
        "median. The rest on ResNet-50: the scheduler `gradient` beside `round-robin` in pairs of "
        "runs (`schedulers.py`; goal: no worse in four of five), and how far a chosen config is "
        "behind the best there is (`finalists.py`; goal: 3 %). Three networks tuned from nothing "
        "for a minute and for twenty, in turns (`short_search.py`; goal: 97 % of the speed). What "
        "the best config of one machine reaches on another is looked up in spaces that both "
        "recorded (`transfer.py`). Of all recorded spaces (`models_and_schedulers.py`): which "
        "share of the 16 fastest configs a cost model names after 256 random ones, means over "
        "spaces and seeds; and how far above the best there is a network is whose tasks they are, "
        "in percent.",
        (
            Question("search_trials", "our tuners", "trials", "less", "random", 4.0),
            Question(
                "search_peers", "beside the best peer", "trials", "less", "the best peer", 1.0
            ),
            Question("search_tpe", "Optuna's TPE", "trials", "less", "random"),
            Question("search_cmaes", "Optuna's CMA-ES", "trials", "less", "random"),
            Question("search_genetic", "Kernel Tuner's GA", "trials", "less", "random"),
            Question("schedulers", "`gradient`", "ms", "less", "round-robin", 1.0),
            Question(
                "recorded_schedulers",
                "recorded spaces",
                "% above the best",
                "less",
                "round-robin",
                by_case=True,
            ),
            Question("finalists", "the choice is behind by", "%", "less", None, 3.0),
            Question("cost_models", "recall@16 of cost models", "", "more"),
            Question("recorded_models", "recorded spaces, recall@16", "", "more", by_case=True),
            Question(
                "short_search",
                "a minute's network",
                "ms",
                "less",
                "twenty minutes'",
                0.97,
                by_case=True,
            ),
            Question("tuners_share", "tuners' share of a run", "%", "less", None, 25.0),
            Question("transfer", "best config of another machine", "% of the optimum", "more"),
        ),
        (("search_trials", "Trials until within 2 % of the optimum"),),
    ),
    Section(
        "How good are choices of layouts?",
        "Problems of 1000 kernels, 20 candidates each (`graph_tuners.py`); goals: `pbqp` at most "
        "0.1 % above the optimum in 2 s. Nine networks at one and two threads: chosen over the "
        "whole graph beside every kernel's own best (`networks.py`), and the five networks of the "
        "graph tuner's RFC (`graph_tuner_table.py`). Four networks before and after the last word "
        "inside them, ten runs each (`finals.py`).",
        (
            Question("graph_tuners", "`pbqp` above the optimum", "%", "less"),
            Question("graph_tuners_time", "`exact`, `pbqp`, `dp`", "s", "less"),
            Question("networks", "networks", "ms", "less", "history best", 1.0),
            Question("rfc_table", "the RFC's five networks", "ms", "less", "history best"),
            Question("finals", "after the last word", "ms", "less", "the network of before", 1.0),
        ),
        (("networks", "Layouts chosen over the whole graph, or for every kernel alone"),),
    ),
    Section(
        "What do the parts cost?",
        "Medians. One fork and join of the thread pool (`pool.py`); lowering and compiling a "
        "candidate (`tilewright bench trial`); the runner's times beside a plain loop of calls "
        "(`direct_run.py`); a million records (`tests/faults`, in full); trials a second of a "
        "fleet whose driver is on the same two cores (`fleet.py`). A saved network in a process of "
        "its own: loading, and most memory in MB, all of Python included (`service.py`). Sizes of "
        "a range that is compiled once, beside a network for that very size (`ranges.py`).",
        (
            Question("pool", "fork and join", "us", "less", None, 2.0),
            Question("compile", "lower and compile", "ms", "less", None, 25.0),
            Question("direct_run", "the runner's times", "us", "less", "a plain loop", None),
            Question("records", "load a million records", "s", "less"),
            Question("fleet_devices", "two devices", "trials/s", "more", "one device", 1.8),
            Question("fleet_worker", "one worker", "trials/s", "more", "the runner `local`", 0.95),
            Question("loading", "load a network", "ms", "less", "ONNX Runtime", 1.0),
            Question("memory", "memory of a network", "MB", "less", "ONNX Runtime", 0.83),
            Question("ranges", "sizes of a range", "of the very size's", "less", None, 1.1),
            Question("ranges_worst", "the worst of them", "of the very size's", "less", None, 1.25),
            Question("network_errors", "relative error, nine networks", "", "less"),
        ),
    ),
    Section(
        "And on a GPU?",
        "`cuda/run_all.sh` measures networks beside PyTorch and layers beside cuDNN and cuBLAS. "
        "Without a GPU: the share of random configs that NVRTC compiles (`cuda/compile_rate.py`), "
        "a candidate's lowering and text (goal: 10 ms), and twelve convolutions of ResNet-18 by "
        "three configs of each strategy, emulated, all of them right (goal: 90 s).",
        (
            Question("cuda_networks", "networks", "ms", "less", "PyTorch", 1.0, by_case=True),
            Question("cuda_layers", "layers", "us", "less", "cuDNN or cuBLAS", 1.0),
            Question("cuda_tensor_cores", "products by tensor cores", "us", "less", "cuBLAS", 1.0),
            Question("cuda_compile", "configs that compile", "%", "more"),
            Question("cuda_emission", "lowering and text", "ms", "less", None, 10.0),
            Question("cuda_emulated", "emulated convolutions", "s", "less", None, 90.0),
        ),
        (("cuda_layers", "Layers of ResNet-18, and a product"),),
    ),
)


def question_named(name: str) -> Question:
    """Raises UsageError for one that nobody asks."""
    known = {question.name: question for section in SECTIONS for question in section.questions}
    if name not in known:
        raise UsageError(f"no question {name!r}: expected one of {', '.join(sorted(known))}")
    return known[name]
