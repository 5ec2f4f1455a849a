"""The network IR: nodes, values, how one is built, sized and evaluated."""
