"""Model files made by hand."""

from __future__ import annotations


def machine(model="toy processor", l1_bytes=0, l2_bytes=0, target="toy:threads=1"):
    return {"model": model, "l1_bytes": l1_bytes, "l2_bytes": l2_bytes, "target": target}


def stump(limit, less, else_):
    """A tree of the first column: `less` where it is below the limit."""
    return {
        "left_children": [1, -1, -1],
        "right_children": [2, -1, -1],
        "split_indices": [0, 0, 0],
        "split_conditions": [limit, less, else_],
    }


def member(*trees, base="[0E0]"):
    return {
        "learner": {
            "learner_model_param": {"base_score": base},
            "gradient_booster": {"model": {"trees": list(trees)}},
        }
    }
